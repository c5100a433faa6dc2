"""What processes tell each other: what they wait for, that one has failed, as words to be sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

from refcoll.transport import Standing

_LONGEST = 1000
"""Characters."""
ENDED = "has come to the end of its program"
Word = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Wait:
    """What this process waits for in one communicator; ``peer`` is a rank of that one, and
    ``root`` the same as a rank of the Control."""

    doing: Callable[[], str]
    peer: int
    awaited: Callable[[], str]
    root: int

    def standing(self) -> Standing:
        """It as others of that communicator are told."""
        return Standing(self.doing(), (self.peer,), self.awaited())

    def elsewhere(self) -> Standing:
        """It as those of another one are told."""
        return Standing(self.doing(), (self.root,), self.awaited(), elsewhere=True)


def coming(nbytes: int) -> str:
    """What one waits for who receives, in words, with {} for the rank."""
    return f"{nbytes} bytes from {{}}"


def going(nbytes: int) -> str:
    """The same of one who sends."""
    return f"{{}} to receive {nbytes} bytes"


@dataclass(frozen=True)
class Failure:
    """Why a communicator has failed, and at which rank of the Control's, if that is known."""

    reason: str
    culprit: int | None


def told(standing: Standing) -> list[Any]:
    """It, as it is told to another process."""
    short = replace(standing, doing=cut(standing.doing), awaited=cut(standing.awaited))
    return list(astuple(short))


def cut(text: str) -> str:
    """So short that MPI sends it without the receiver's help, even if it is escaped."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


def heard(words: Sequence[Any]) -> Standing:
    """What another process has told."""
    doing, awaits, awaited, elsewhere = words
    return Standing(doing, tuple(awaits), awaited, elsewhere)
