"""What can go wrong, as exceptions."""

from __future__ import annotations

from operator import index
from typing import Self


class RefcollError(Exception):
    """Any error that refcoll raises on purpose."""

    poisons = True
    """Whether the ranks may be out of step after it, so that their communicator is of no
    further use.  Not so where all ranks refuse the same call before anything has moved."""


class ArgumentError(RefcollError, ValueError):
    """An argument that is wrong by itself: its name, its value and the remedy are said."""


class DisagreementError(RefcollError):
    """The ranks did not make the same call; the message says who said what."""


class TransportError(RefcollError):
    """A message was lost, late, changed, of the wrong size, or its sender is gone."""

    culprit: int | None = None
    """The rank at which it went wrong, where that is known."""

    def blaming(self, culprit: int | None) -> Self:
        """This error, with its culprit."""
        self.culprit = culprit
        return self

    def told(self, message: str) -> Self:
        """The same in more words."""
        return type(self)(message).blaming(self.culprit)


class DeadlineError(TransportError, TimeoutError):
    """A wait ended without what it waited for."""


class CorruptionError(TransportError):
    """A message with a checksum is not the one that is due, or not as it was sent."""


class PeerFailedError(TransportError):
    """Another rank failed, so this one cannot go on."""


class PoisonedError(RefcollError):
    """The communicator has failed before, or was closed; make a new one."""


def integer(value: object, name: str) -> int:
    """``value`` as an int.  Raises ArgumentError, naming the argument, where it is none."""
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(f"{name}={value!r} is not an integer") from None
