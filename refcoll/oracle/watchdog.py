"""What the implementation does on a rank, since when, and where in it that is.

Nothing can interrupt a call that does not return.  It can only be told of, by another thread:
with Python's stack, from the method that was called inwards.  Where native code keeps Python's
lock no other thread runs either; what is left then is the stacks of all threads, written by a
timer that needs no Python, and the end of the process.
"""

from __future__ import annotations

import faulthandler
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from traceback import FrameSummary, StackSummary
from types import FrameType, FunctionType
from typing import TypeVar

from refcoll.oracle.endings import HANGS, failed
from refcoll.oracle.verdicts import Standing

T = TypeVar("T")
MOST = 8
"""Frames of a stack that are told."""


class Watch:
    """Over one rank's implementation; other threads may look at it."""

    def __init__(self) -> None:
        self._since, self._status, self._thread, self._tries = math.inf, "", 0, 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """The implementation is at work, on this thread."""
        self._thread, self._tries = threading.get_ident(), self._tries + 1
        self._since, ended = time.monotonic(), "done"
        try:
            yield
        except BaseException as error:
            refused = isinstance(error, NotImplementedError)
            ended = f"refused: {error}" if refused else failed(error)
            raise
        finally:
            self._since = math.inf
            self._status = ended if self._status in ("", "done") else self._status

    def met(self) -> None:
        """All ranks have told each other how it went so far."""
        self._status, self._tries = "", 0

    def hangs(self, limit: float) -> bool:
        """Whether it has been at work for longer than ``limit`` seconds."""
        return time.monotonic() - self._since > limit

    def standing(self) -> Standing:
        """Where it is; or how it ended since all ranks met, the first time that it went wrong."""
        if self._since == math.inf:
            return Standing(self._status or "not called yet", tries=self._tries)
        return Standing(HANGS, _stack(self._thread), self._tries)


def _stack(thread: int) -> tuple[str, ...]:
    """What runs below the oracle on that thread, innermost last; of many frames some."""
    frame, frames = sys._current_frames().get(thread), list[tuple[FrameType, int]]()
    while frame is not None and not _is_ours(frame):
        frames.append((frame, frame.f_lineno))
        frame = frame.f_back
    found = [_said(each) for each in StackSummary.extract(iter(reversed(frames)))]
    half = MOST // 2
    return tuple(found if len(found) <= MOST else [*found[:half], "...", *found[-half:]])


def _said(frame: FrameSummary) -> str:
    return f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"


def _is_ours(frame: FrameType) -> bool:
    """Of the oracle itself; adapters and mutants are packages of their own."""
    name: str = frame.f_globals.get("__name__", "")
    return name.rpartition(".")[0] == __package__


class LastResort:
    """Ends the process with status 1 and all threads' stacks once nobody beats any more."""

    def __init__(self, after: float) -> None:
        self._after = after

    def beat(self) -> None:
        """Python runs."""
        if sys.__stderr__ is not None:
            faulthandler.dump_traceback_later(self._after, exit=True, file=sys.__stderr__)

    def stop(self) -> None:
        """There is nothing more to wait for."""
        faulthandler.cancel_dump_traceback_later()


def under(name: str, function: Callable[[], T]) -> T:
    """``function()``, called by a frame of that name.

    A crash of native code leaves no more than the names of frames; so one of them says what was
    being done.
    """
    code = _frame.__code__.replace(co_name=name)
    found: T = FunctionType(code, globals())(function)
    return found


def _frame(function: Callable[[], T]) -> T:
    return function()
