"""How a process of an MPI job ends when something went wrong.

MPI's finalisation waits for all processes and for messages under way, so a process that
failed in the middle of a collective would hang there, and those that wait for it with it.
Once an exception is about to end the process, or a transport has failed and the process
comes to its end, the whole job is ended with a non-zero status instead, a moment after the
process has printed what it has to say.  A process that ends in peace first waits for the
others, and goes on answering them meanwhile (``control``).
"""

from __future__ import annotations

import atexit
import os
import sys
import time
import traceback
from types import TracebackType

from mpi4py import MPI

from refcoll_mpi.control import Failure, controls

_NAP = 0.001
GRACE = 1.0
"""Seconds in which the other ranks, which mostly fail too, may print what they have to say."""


class _State:
    watching = False
    process = 0
    """Which: a forked child is none of the job's."""
    failed = False


def watch() -> None:
    """See to it that a failure ends the job.  May be called again."""
    if _State.watching:
        return
    _State.watching, _State.process = True, os.getpid()
    atexit.register(_end)
    previous = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if previous is sys.__excepthook__:
            _print(kind, error, trace)
        else:
            previous(kind, error, trace)
        fail()
        _tell(error)
        _end()  # now: what else runs at exit may wait for other ranks

    sys.excepthook = hook


def _tell(error: BaseException) -> None:
    """Let those who wait for this process know at once."""
    rank = MPI.COMM_WORLD.rank
    for each in controls():
        said = f"process {rank} of the job was ended by {type(error).__name__}: {error}"
        each.fail(None, Failure(said, each.comm.rank), range(each.comm.size))


def _print(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """The traceback in one piece, so that those of several ranks do not mix."""
    prefix = f"[rank {MPI.COMM_WORLD.rank}] "
    lines = "".join(traceback.format_exception(kind, error, trace)).splitlines()
    sys.stderr.flush()
    os.write(2, "".join(f"{prefix}{line}\n" for line in lines).encode())


def fail() -> None:
    """From now on the end of this process ends the job."""
    _State.failed = True


def forgive() -> None:
    """What failed was meant to: the end of this process is as good as any."""
    _State.failed = False


def failed() -> bool:
    """Whether it will."""
    return _State.failed


def _end() -> None:
    if os.getpid() != _State.process or MPI.Is_finalized() or MPI.COMM_WORLD.size == 1:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    if not _State.failed:
        _part()
        return
    for each in controls():
        each.flush(GRACE / len(controls()))
    MPI.COMM_WORLD.Abort(1)


def _part() -> None:
    """Wait for all, as MPI's finalisation does, but answer those that wait for this process:
    it may have ended before its time."""
    for each in controls():
        each.leaving = True
    left = [each.comm.Ibarrier() for each in controls()]
    while left:
        for each in controls():
            each.poll()
        left = [request for request in left if not request.Test()]
        time.sleep(_NAP if left else 0)
