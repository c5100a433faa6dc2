"""What can go wrong, as exceptions."""

from __future__ import annotations

from numbers import Real
from operator import index
from typing import Any


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
    """A message was lost, late, changed, of the wrong size, or its sender is gone.

    ``message`` says what; ``way``, at the end, how that came about and what to do.
    """

    def __init__(self, message: str, way: str = "", culprit: int | None = None) -> None:
        super().__init__(f"{message}; {way}" if way else message)
        self.message, self.way = message, way
        self.culprit = culprit
        """The rank of the communicator at which it went wrong, where that is known."""

    def told(self, message: str, remedy: str = "") -> TransportError:
        """The same kind of error in more words (of ours: a plug-in's may be made otherwise)."""
        way = "; ".join(each for each in (self.way, remedy) if each)
        kind = next(each for each in type(self).__mro__ if each.__module__ == __name__)
        made = kind(message, way, self.culprit)
        assert isinstance(made, TransportError)
        return made

    def remedy(self) -> str:
        """What to do, where that can be said."""
        return ""


class DeadlineError(TransportError, TimeoutError):
    """A wait ended without what it waited for."""

    def remedy(self) -> str:
        """See to the culprit, or wait longer."""
        see = "" if self.culprit is None else f"see the output of rank {self.culprit}, or "
        return f"{see}allow more time by timeout="


class CorruptionError(TransportError):
    """A message with a checksum is not the one that is due, or not as it was sent."""


class PeerFailedError(TransportError):
    """Another rank failed, so this one cannot go on."""


class PoisonedError(RefcollError):
    """The communicator has failed before, or was closed; make a new one."""


def ours(error: Exception, what: str) -> RefcollError:
    """The error, or, of an argument's own making (its ``__iter__``, its ``__repr__``), an
    ArgumentError that ``what`` cannot be used."""
    if isinstance(error, RefcollError):
        return error
    made = ArgumentError(f"{what} cannot be used: {error!r}")
    made.__cause__ = error
    return made


def integer(value: object, name: str) -> int:
    """``value`` as an int.  Raises ArgumentError, naming the argument, where it is none.

    True and False are none: who passes them has most likely taken one argument for another.
    """
    try:
        if not isinstance(value, bool):
            return index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise ArgumentError(f"{name}={value!r:.80} is not an integer; use an int")


def flag(value: object, name: str) -> bool:
    """``value`` as a bool.  Raises ArgumentError for what is neither True nor False."""
    if isinstance(value, bool) or type(value).__name__ == "bool":  # numpy's own, unimported
        return bool(value)
    raise ArgumentError(f"{name}={value!r:.80} must be True or False")


_MOST = 1 << 20
"""Ranks, chunks and the like: more would fill the memory before they are of use."""


def within(value: object, name: str, least: int) -> int:
    """``value`` as an int.  Raises ArgumentError unless it is from ``least`` to ``_MOST``."""
    number = integer(value, name)
    if number < least:
        raise ArgumentError(f"{name}={number} must be at least {least}")
    if number > _MOST:
        raise ArgumentError(f"{name}={number} must be at most {_MOST}")
    return number


_LONGEST = 1e9
"""Seconds: 31 years.  What waits for messages takes neither infinity nor much more than this."""


def seconds(value: Any) -> float:
    """A time limit.  Raises ArgumentError unless it is a number above 0, and not too large."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 < value <= _LONGEST:
        raise ArgumentError(
            f"timeout={value!r:.80} must be a number of seconds above 0, and at most {_LONGEST:g}"
        )
    return float(value)
