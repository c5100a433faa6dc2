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

from refcoll.transport import PeerFailedError, RefcollError, described
from refcoll.transport import __file__ as contract
from refcoll_mpi.control import controls, finished
from refcoll_mpi.telling import Failure

_OURS = tuple(f"{os.path.dirname(os.path.abspath(file))}{os.sep}" for file in (contract, __file__))
"""Where refcoll's own files are."""
_NAP = 0.001
GRACE = 1.0
"""Seconds in which the other ranks, which mostly fail too, may print what they have to say."""


_kept: list[object] = []
"""To the end of the process."""


class _State:
    watching = False
    process = 0
    """Which: a forked child is none of the job's."""
    failed = False
    told = False
    reason = ""
    """The first that was given; told at the end if nothing else has been."""


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
        _State.told = True
        _tell(error)
        _end()  # now: what else runs at exit may wait for other ranks

    sys.excepthook = hook


def _tell(error: BaseException) -> None:
    """Let those who wait for this process know at once."""
    said = f"was ended by {described(error)}"
    for each in controls():
        each.fail(None, Failure(said, each.comm.rank), range(each.comm.size))


def _print(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """The traceback in one piece, so that those of several ranks do not mix.

    Of an error that refcoll raises on purpose, only the caller's lines; and of one that only
    says that another rank has failed, only the last.
    """
    prefix = f"[rank {MPI.COMM_WORLD.rank}] "
    if isinstance(error, PeerFailedError):
        text = "".join(traceback.format_exception_only(error))
    elif isinstance(error, RefcollError):
        calls = [each for each in traceback.extract_tb(trace) if not _is_ours(each.filename)]
        lines = ["Traceback (most recent call last):\n", *traceback.format_list(calls)]
        text = "".join([*lines, *traceback.format_exception_only(error)])
    else:
        text = "".join(traceback.format_exception(kind, error, trace))
    sys.stderr.flush()
    os.write(2, "".join(f"{prefix}{line}\n" for line in text.splitlines()).encode())


def _is_ours(filename: str) -> bool:
    return any(filename.startswith(folder) for folder in _OURS)


def fail(reason: str = "") -> None:
    """From now on the end of this process ends the job."""
    _State.failed = True
    _State.reason = _State.reason or reason


def keep(exchange: object) -> None:
    """The same, because of an exchange that has failed: what of it is still under way, and what
    others still read, must not lie in memory that is freed or used again."""
    fail()
    _kept.append(exchange)


def forgive() -> None:
    """What failed was meant to: the end of this process is as good as any."""
    _State.failed, _State.reason = False, ""


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
    if not _State.told:
        why = _State.reason or "a message is still under way"
        said = f"refcoll: the job ends with status 1, because earlier {why}"
        os.write(2, f"[rank {MPI.COMM_WORLD.rank}] {said}\n".encode())
    end = time.monotonic() + GRACE
    while time.monotonic() < end:  # what was told may need this process's help on its way
        for each in controls():
            each.poll()
        time.sleep(_NAP)
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
        left = [request for request in left if not finished(request)]
        time.sleep(_NAP if left else 0)
