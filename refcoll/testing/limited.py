"""Run a program that may crash or hang, where how it ends is an answer."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from json import JSONDecoder
from tempfile import TemporaryFile
from typing import IO, Any

_GRACE = 3.0
"""Seconds in which a launcher that was asked to end may end its ranks."""
_LONGEST = 300
"""Characters of what a program said that are told."""


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it said."""

    status: int | None
    """As subprocess gives it; None where it did not end within its time, and was ended."""
    out: str
    err: str
    seconds: float

    def words(self) -> str:
        """How it ended.  A launcher gives the signal of a rank as 128 and its number."""
        if self.status is None:
            return f"did not end within {self.seconds:g} s"
        number = -self.status if self.status < 0 else self.status - 128
        if number in set(signal.Signals):
            return f"ended by {signal.Signals(number).name}"
        return f"ended with status {self.status}: {self._why()}"

    def _why(self) -> str:
        """The error that it ended with, which launchers and warnings may have followed."""
        lines = (self.err.strip() or self.out.strip() or "nothing was said").splitlines()
        errors = (line for line in reversed(lines) if "Error: " in line)
        return next(errors, lines[-1]).strip()[:_LONGEST]


def run(
    command: Sequence[str], limit: float, environment: Mapping[str, str] | None = None
) -> Ended:
    """Run ``command`` for at most ``limit`` seconds, then end it and all that it has started.

    ``environment`` is added to this process's.  Output goes to files: whoever keeps a pipe
    open cannot hold us up.
    """
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        begin = time.monotonic()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, text=True,
            env={**os.environ, **(environment or {})}, start_new_session=True,
        )  # fmt: skip
        status: int | None = None
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            _end(process)
        except BaseException:
            _end(process)
            raise
        seconds = limit if status is None else time.monotonic() - begin
        return Ended(status, _read(out), _read(err), seconds)


def marked(said: str, mark: str) -> list[Any]:
    """The JSON values behind each ``mark``: launchers put lines of several ranks into one."""
    decode = JSONDecoder().raw_decode
    return [decode(each)[0] for each in said.split(mark)[1:]]


def _end(process: subprocess.Popen[str]) -> None:
    """Ask it to end, as a launcher then asks its ranks; then end its whole group."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _read(file: IO[str]) -> str:
    file.seek(0)
    return file.read()
