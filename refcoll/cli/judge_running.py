"""Judge on threads, or as one process of a job."""

from __future__ import annotations

import faulthandler
import sys
from functools import partial

from refcoll.cli.judge_job import in_a_job
from refcoll.cli.judge_report import Telling
from refcoll.cli.judge_threads import on_threads
from refcoll.cli.judge_trial import Prepare, Trial
from refcoll.launching import launched_size


def tried(trial: Trial, prepare: Prepare, telling: Telling) -> bool:
    """Whether it holds; ``telling`` has told all of it."""
    if not faulthandler.is_enabled() and sys.__stderr__ is not None:
        faulthandler.enable(sys.__stderr__)  # a library that crashes takes this process with it
    size = launched_size()
    if size is None:
        return on_threads(trial, prepare, telling)
    return in_a_job(trial, partial(prepare, size), telling)
