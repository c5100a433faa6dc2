"""All ranks make their implementation, or all of them learn which could not, and why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from traceback import extract_tb

from refcoll.communicator import Communicator
from refcoll.errors import ArgumentError, RefcollError
from refcoll.oracle.endings import ended, failed
from refcoll.oracle.implementation import Implementation
from refcoll.oracle.watchdog import Watch

_DONE = "done"


class NotMadeError(RefcollError):
    """Some ranks have no implementation."""


def made(comm: Communicator, make: Callable[[], Implementation], watch: Watch) -> Implementation:
    """``make()`` of this rank.  Collective over ``comm``.

    Where it fails on some ranks NotMadeError is raised on all, naming them; an ArgumentError
    that all ranks raise is raised as it is.
    """
    found, error, status = None, None, _DONE
    try:
        with watch.watching():
            found = make()
        if found is None:
            status = "returned None: make() must return an object with the collectives"
    except (Exception, SystemExit) as caught:
        error, status = caught, f"{failed(caught)}{_place(caught)}"
    record = {"collective": "make", "status": status}
    statuses = [each["status"] for each in comm.agreement.collect(record, (), comm.timeout)]
    if isinstance(error, ArgumentError) and len(set(statuses)) == 1:
        raise error
    if any(each != _DONE for each in statuses):
        raise NotMadeError(ended(statuses))
    return found


def _place(error: BaseException) -> str:
    """Where it was raised."""
    frames = extract_tb(error.__traceback__)
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
