"""How far judging is, on standard error: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from itertools import accumulate

from rich.console import Console
from rich.progress import Progress, TaskID

_EVERY = 2.0
"""Seconds between two lines."""


class Bar:
    """Of things that take so long, in whatever unit, one after another."""

    def __init__(self, things: str, weights: Sequence[float]) -> None:
        self._things, self._ends = things, [0.0, *accumulate(weights)]
        self._begun = self._told = time.monotonic()
        self._bar: Progress | None = None
        if sys.stderr.isatty():
            self._bar = Progress(console=Console(stderr=True))
            self._bar.add_task("judging", total=self._ends[-1])
            self._bar.start()

    def show(self, done: int) -> None:
        """So many are done."""
        if self._bar is not None:
            self._bar.update(TaskID(0), completed=self._ends[done])
        elif time.monotonic() - self._told > _EVERY:
            self._told = time.monotonic()
            said = f"{done} of {len(self._ends) - 1} {self._things}"
            # In one piece: others write, too.
            sys.stderr.write(f"judging: {said}, about {self._left(done):.0f} s left\n")
            sys.stderr.flush()

    def _left(self, done: int) -> float:
        """Seconds, if it goes on as it went so far."""
        past, rest = self._ends[done], self._ends[-1] - self._ends[done]
        return (time.monotonic() - self._begun) * rest / past if past else 0.0

    def stop(self) -> None:
        """The line is free for others."""
        if self._bar is not None:
            self._bar.stop()
