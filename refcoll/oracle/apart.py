"""Work in a process of its own, whose crash is survived by the one that waits for it.

    parent   forks, hears what is said, and how it ended
    child    works, and says: this, that, ..., over

A library that crashes, or that ends its process, takes no more with it than the child.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, Pipe
from typing import Any, NoReturn

from refcoll.errors import RefcollError

Say = Callable[[Any], object]
_NAP = 0.2
"""Seconds after which it is looked whether a silent child is there still."""
_UNFINISHED = 130


@dataclass(frozen=True)
class _Over:
    """Said last, by a child that comes to its end."""

    error: Exception | None = None
    """What the work raised."""


def apart(work: Callable[[Say], object], hear: Say) -> str | None:
    """Have a child process do ``work(say)``, and ``hear`` each thing that it says.

    None where the work came to its end, else what became of the process, in words.  Raises what
    the work raises: errors of refcoll's as they are, others as RuntimeError.
    """
    ours, theirs = Pipe(duplex=False)
    child = Child(partial(_work, work, theirs))
    theirs.close()
    try:
        while (said := _said(ours, child)) is not None:
            if isinstance(said, _Over):
                if said.error is not None:
                    raise said.error
                return None
            hear(said)
        return child.ended()
    finally:
        ours.close()
        child.end()


class Child:
    """A process that does ``work()``, and ends without a word; forked from this one."""

    def __init__(self, work: Callable[[], object]) -> None:
        sys.stdout.flush()  # else the child would write it, too
        sys.stderr.flush()
        self._status: int | None = None
        self._number = os.fork()
        if self._number == 0:
            _leaving(work)

    def gone(self) -> bool:
        """Whether it has ended."""
        if self._status is None:
            found, status = os.waitpid(self._number, os.WNOHANG)
            self._status = status if found else None
        return self._status is not None

    def ended(self) -> str:
        """Wait for its end; how that was, in words."""
        if self._status is None:
            self._status = os.waitpid(self._number, 0)[1]
        code = os.waitstatus_to_exitcode(self._status)
        if code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return f"ended with status {code}"

    def end(self) -> None:
        """It has nothing more to do."""
        if not self.gone():
            os.kill(self._number, signal.SIGKILL)
            self.ended()


def _leaving(work: Callable[[], object]) -> NoReturn:
    """Whatever happens, this does not return: what is above it is the parent's."""
    status = _UNFINISHED
    try:
        work()
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # nobody may listen any more
                stream.flush()
        os._exit(status)


def _work(work: Callable[[Say], object], pipe: Connection) -> None:
    try:
        work(pipe.send)
        over = _Over()
    except RefcollError as error:
        over = _Over(error)
    except Exception:
        over = _Over(RuntimeError(traceback.format_exc()))
    pipe.send(over)


def _said(pipe: Connection, child: Child) -> Any:
    """The next thing; None where nothing comes any more.

    Processes that the child has started may keep the pipe open.
    """
    while not pipe.poll(_NAP):
        if child.gone() and not pipe.poll(0):
            return None
    try:
        return pipe.recv()
    except EOFError:
        return None
