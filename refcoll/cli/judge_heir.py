"""A process beside rank 0's: it tells what was found where the job ends without a word.

When one process of a job crashes, launchers end the others, and rank 0 is told nothing.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, Pipe
from typing import Any

from refcoll.cli.judge_report import Telling
from refcoll.oracle.apart import Child

_SAID = "the job ended in this call: a process crashed, or was ended (standard error may say more)"


class Heir:
    """Hears all that a ``Telling`` is told."""

    def __init__(self, telling: Telling) -> None:
        """To be made before MPI is loaded, which forks of its processes disturb."""
        theirs, self._pipe = Pipe(duplex=False)
        Child(partial(_wait, theirs, self._pipe, telling))
        theirs.close()

    def say(self, what: str, *values: Any) -> None:
        """The method of that name was called with these values."""
        with suppress(OSError):  # whatever has become of it
            self._pipe.send((what, values))


def _wait(pipe: Connection, others: Connection, telling: Telling) -> None:
    """Tell at last, unless that was done."""
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # those are meant for the job
    others.close()
    telling.bars = False
    with suppress(EOFError):
        while True:
            what, values = pipe.recv()
            if what == "end":
                return
            getattr(telling, what)(*values)
    if telling.report is not None:
        telling.crashed(_SAID)
        with suppress(BrokenPipeError):
            telling.end()
