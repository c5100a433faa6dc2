"""What a mutant is: a faulty implementation, and where it must be found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from refcoll.communicator import Communicator
from refcoll.oracle.calls import Call, calls
from refcoll.oracle.implementation import Factory, Implementation
from refcoll.oracle.mutants.sound import Sound
from refcoll.testing.values import dtype_named

USUAL = ("float32", "int32")


@dataclass(frozen=True)
class ShowsAt:
    """Where the fault can be seen: outside of that the mutant is right."""

    collective: str
    size: int = 4
    """How many ranks are needed; the fault need not show with more."""
    counts: str = "any"
    """Which lengths, in words."""
    dtypes: Sequence[str] = USUAL
    operators: Sequence[str] | None = None
    hangs: bool = False
    beyond: int = 0
    """Bytes, of elements that are counted, up to which it is right: such calls are left out."""
    layout: str | None = None
    """The only one in which it shows; None for any."""

    @property
    def timeout(self) -> float:
        """Seconds: short where a rank waits for ever, since that must be waited for."""
        return 0.3 if self.hangs else 30.0

    def calls(self) -> Iterator[Call]:
        """The calls of the usual list that it is worth being judged by."""
        for call in calls(self.size, [self.collective], self.dtypes, self.operators):
            nbytes = call.count * dtype_named(call.dtype).itemsize
            if nbytes >= self.beyond and self.layout in (None, call.layout):
                yield call


class Faulty(Sound):
    """Right but for what a subclass replaces.  Its docstring is what the fault models."""

    shows_at: ClassVar[ShowsAt]
    says: ClassVar[str]
    """What the diagnosis must contain: a regular expression."""


@dataclass(frozen=True)
class Mutant:
    """A faulty implementation."""

    name: str
    fault: str
    """Its class: partition, aliasing, ..."""
    models: str
    """What goes wrong, with the bug report that it is modelled on, if there is one."""
    make: Factory
    shows_at: ShowsAt
    says: str
    """What its diagnosis must contain: a regular expression."""

    def explained(self, diagnosis: str) -> bool:
        """Whether the diagnosis says what is wrong."""
        return re.search(self.says, diagnosis) is not None


def mutants(fault: str, *kinds: type[Faulty]) -> tuple[Mutant, ...]:
    """One of each kind."""
    return tuple(
        Mutant(
            each.__name__, fault, " ".join(str(each.__doc__).split()),
            _only(each, each.shows_at.collective), each.shows_at, each.says,
        )
        for each in kinds
    )  # fmt: skip


def _only(kind: type[Faulty], collective: str) -> Factory:
    """Has no other collective than the one which shows the fault."""

    def make(comm: Communicator) -> Implementation:
        return _Only(kind(comm), collective)

    return make


class _Only:
    """One method of an object; what it calls itself may be any of the others."""

    def __init__(self, made: Implementation, collective: str) -> None:
        self.name, self.layouts = made.name, made.layouts
        setattr(self, collective, getattr(made, collective))


__all__ = ["Faulty", "Mutant", "ShowsAt", "mutants"]
