"""Where ranks stand when one of them has waited too long, and which one they wait for.

A rank that is stuck is seldom stuck because of the rank that it waits for: that one may
wait for another, and so on.  Ranks that wait tell where they stand when they are asked; one
that does not answer, or of which something worse is known, is where the chain ends.

    rank 0 waits for 3        rank 3 waits for 2        rank 2 gives no answer
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

SILENT = "gives no answer: it is busy elsewhere, stopped or gone"
_CIRCLE = "a message between them was lost, or they are in different calls"
ABOVE = "in the communicator that this one was split from, "
"""How to begin, in a part, what a rank of the whole has said."""
_SHOWN = 4
"""So many ranks of a chain are told of at each of its ends."""


@dataclass(frozen=True)
class Standing:
    """Where a rank stands while it waits."""

    doing: str
    """The call and the step, in words."""
    awaits: tuple[int, ...]
    """The ranks for which it waits."""
    awaited: str
    """What it waits for, in words."""

    def elsewhere(self) -> str:
        """What to say of it to those who wait for it in another communicator."""
        return f"is in {self.doing} of another communicator, where it waits for {self.awaited}"


Known: TypeAlias = Mapping[int, Standing | str]
"""What is known of other ranks: where they wait, or what else is the matter, in words that go
on from "rank 2".  A rank that is not there has given no answer."""


def culprit(rank: int, awaits: Sequence[int], known: Known) -> tuple[int | None, str]:
    """The rank for which ``rank``, in the end, waits, and the way there in words.

    None where ranks wait for one another in a circle.
    """
    told: list[str] = []
    seen = [rank]
    while awaits:
        peer = _most_telling(awaits, known)
        if peer in seen:
            circle = ", ".join(map(str, seen[seen.index(peer) :]))
            said = f"so ranks {circle} wait for one another: {_CIRCLE}"
            return None, "; ".join([*_ends(told), said])
        found = known.get(peer, SILENT)
        if isinstance(found, str):
            return peer, "; ".join([*_ends(told), f"rank {peer} {found}"])
        told.append(f"rank {peer} itself waits for {found.awaited}, in {found.doing}")
        seen.append(peer)
        awaits = found.awaits
    return None, "; ".join(_ends(told))  # the last of them has just got what it waited for


def _most_telling(awaits: Sequence[int], known: Known) -> int:
    """Of the ranks that are waited for, one that is not merely waiting too, if there is one."""
    return next((each for each in awaits if not isinstance(known.get(each), Standing)), awaits[0])


def _ends(told: Sequence[str]) -> list[str]:
    if len(told) <= 2 * _SHOWN:
        return list(told)
    left_out = len(told) - 2 * _SHOWN
    return [*told[:_SHOWN], f"... and so on through {left_out} more ranks ...", *told[-_SHOWN:]]
