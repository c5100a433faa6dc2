"""What both ways of carrying messages have in common.

The messages of an exchange to one rank are a *lane*: their bytes in order, cut into parts.
Both ends cut alike, and MPI keeps the order of what goes from one rank to another, so the
k-th part that is sent meets the k-th that is awaited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from refcoll_cupy.runtime import Device


@dataclass(frozen=True, eq=False)
class Part:
    """Some bytes of a message, at most as many as go at once."""

    message: int
    """The number of the message in its exchange."""
    view: Device


def parts(message: int, view: Device, most: int) -> Iterator[Part]:
    """A message in parts, at least one."""
    for start in range(0, max(1, view.nbytes), most):
        yield Part(message, view[start : start + most])


class Lane(Protocol):
    """The parts to one rank, or from one."""

    def start(self) -> None:
        """Put in flight as many as go at once."""

    def progress(self) -> None:
        """See what has ended, and put the next in flight.  Waits for no other rank."""

    def done(self, message: int | None = None) -> bool:
        """Whether a message, or everything, has been sent or received."""

    def abandon(self) -> None:
        """Let nothing more land."""


class Inlet(Lane, Protocol):
    """One of parts that are received."""

    def follow(self, message: int) -> None:
        """What is queued from now on follows the arrival of a message that is done."""

    def received(self, message: int) -> int:
        """Bytes that a message brought, as MPI counts them."""


class Way(Protocol):
    """How messages go: direct or staged."""

    name: str

    def outlet(self, to: int, messages: Sequence[Part], tag: int) -> Lane:
        """A lane to a rank, of whole messages."""

    def inlet(self, source: int, messages: Sequence[Part], tag: int) -> Inlet:
        """A lane from a rank, of whole messages."""

    def order(self) -> None:
        """What must be, between what is queued so far and what an exchange that starts does."""
