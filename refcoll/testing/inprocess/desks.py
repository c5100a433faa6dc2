"""Where a rank's letters lie, and what it waits for."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from refcoll.transport import Bytes, Standing, filled


@dataclass(eq=False)
class Letter:
    """A message: the sender's own bytes, lent until they are taken."""

    view: Bytes
    sender: Desk
    sent: Any
    """The moment (``Arrays.mark``) from which its bytes are there."""
    taken: bool = False
    done: Any = None
    """The moment from which its bytes are no longer needed, once it is taken."""


@dataclass(frozen=True, eq=False)
class Wait:
    """What a rank waits for."""

    desks: Sequence[Desk]
    """Those of the world in which it waits; ``peers`` are numbers of them."""
    doing: Callable[[], str]
    """During which call."""
    peers: Callable[[], list[int]]
    awaited: Callable[[], str]

    def standing(self) -> Standing:
        """What others are told of it."""
        return Standing(self.doing(), tuple(self.peers()), self.awaited())

    def said(self) -> str:
        """What is awaited, in words."""
        return filled(self.awaited(), self.peers())


@dataclass(eq=False)
class Waits:
    """What one rank waits for, in every world that it is in."""

    now: list[Wait] = field(default_factory=list)
    in_vain: Wait | None = None
    """The last of them, if the rank gave it up and has waited for nothing since."""

    def begin(self, wait: Wait) -> None:
        """The rank waits for this as well."""
        self.now.append(wait)
        self.in_vain = None


@dataclass(eq=False)
class Desk:
    """Where one rank gets its letters; ``bell`` rings for new ones and for taken ones."""

    waits: Waits
    """What the rank waits for, in this world and in others; one for all its desks."""

    bell: threading.Condition = field(default_factory=threading.Condition)
    letters: dict[tuple[int, int], deque[Letter]] = field(default_factory=dict)
    """By (source, channel); no empty ones."""
    gave_up: Wait | None = None
    """For what the rank waited in vain, in this world."""
    gone: bool = False
    """Whether the rank has left: it will neither send nor take anything more."""

    def put(self, letter: Letter, key: tuple[int, int]) -> None:
        """Leave a letter here, behind those that lie under ``key``."""
        with self.bell:
            self.letters.setdefault(key, deque()).append(letter)
            self.bell.notify_all()

    def take(self, key: tuple[int, int]) -> Letter:
        """The first of the letters under ``key``."""
        with self.bell:
            letter = self.letters[key].popleft()
            if not self.letters[key]:
                del self.letters[key]
        return letter
