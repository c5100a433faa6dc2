"""Is another process of this node still alive?  Linux tells; elsewhere nothing is known."""

from __future__ import annotations

import os
from dataclasses import dataclass

_ENDED = ("Z", "X", "x")
_STOPPED = ("T", "t")


@dataclass(frozen=True)
class Process:
    """A process, told from a later one of the same number by when it started."""

    number: int
    started: int
    space: str
    """Of process numbers: in another one they mean other processes."""

    def __str__(self) -> str:
        return f"process {self.number}"

    def trouble(self) -> str | None:
        """What is the matter with it, in words that go on from "rank 2", if anything is."""
        found = _status(self.number)
        if found is None or found[1] != self.started or found[0] in _ENDED:
            return f"has ended ({self})"
        return f"is stopped ({self})" if found[0] in _STOPPED else None

    def ended(self) -> bool:
        """Whether it is no more."""
        found = _status(self.number)
        return found is None or found[1] != self.started or found[0] in _ENDED


def own() -> Process | None:
    """This process; None where the system does not tell."""
    found = _status(os.getpid())
    return found and Process(os.getpid(), found[1], os.readlink("/proc/self/ns/pid"))


def _status(number: int) -> tuple[str, int] | None:
    """State and time of start, from /proc/PID/stat (proc(5)): the 3rd and the 22nd field."""
    try:
        with open(f"/proc/{number}/stat") as file:
            # The 2nd field, the name, may hold spaces and brackets.
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[19])
