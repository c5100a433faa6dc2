"""Where ranks stand when one of them has waited too long, and which one they wait for.

A rank that is stuck is seldom stuck because of the rank that it waits for: that one may
wait for another, and so on.  Ranks that wait tell where they stand when they are asked; one
that does not answer, or of which something worse is known, is where the chain ends.

    rank 0 waits for 3        rank 3 waits for 2        rank 2 gives no answer
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

_CIRCLE = "a message between them was lost or is slow, or they are in different calls"
_ORDER = "; make the calls of several communicators in the same order on all ranks"
ABOVE = "in the communicator that this one was split from, "
"""How to begin, in a part, what a rank of the whole has said."""
_SHOWN = 4
"""So many ranks of a chain are told of at each of its ends."""


@dataclass(frozen=True)
class Standing:
    """Where a rank stands while it waits."""

    doing: str
    """The call and the step, in words; a comma comes between them."""
    awaits: tuple[int, ...]
    """The ranks for which it waits, numbered as where they are told of."""
    awaited: str
    """What it waits for, in words; {} stands for these ranks."""
    elsewhere: bool = False
    """Whether that is in another communicator."""


Known: TypeAlias = Mapping[int, Standing | str]
"""What is known of other ranks: where they wait, or what else is the matter, in words that go
on from "rank 2".  A rank that is not there has given no answer."""
Name: TypeAlias = Callable[[int], str]
"""What a rank is called; negative ones are not of this communicator."""


def named(rank: int) -> str:
    """What a rank is called where there is but one numbering."""
    return f"rank {rank}"


def filled(awaited: str, ranks: Sequence[int], name: Name = named) -> str:
    """What is waited for, with the ranks in their place."""
    return awaited.replace("{}", " and ".join(map(name, ranks)) or "nobody any more")


def silent(why: str = "") -> str:
    """What to say of a rank that has given no answer."""
    return f"gives no answer: it is {why or 'busy elsewhere, stopped, gone, or too slow to reach'}"


def culprit(rank: int, mine: Standing, known: Known, name: Name = named) -> tuple[int | None, str]:
    """The rank for which ``rank``, in the end, waits, and the way there in words.

    None where ranks wait for one another in a circle, or for one that is not of them.
    """
    path = _way_out(rank, mine.awaits, known) or _circle(rank, mine.awaits, known)
    told = [
        f"{name(peer)} itself {_where(found, mine, name)}"
        for peer in dict.fromkeys(path)
        if peer != rank and isinstance(found := known.get(peer), Standing)
    ]
    if not path:
        return None, ""  # it has just got what it waited for
    last = path[-1]
    if last == rank or last in path[:-1]:
        around = [rank, *path] if last == rank else path
        circle = ", ".join(map(name, dict.fromkeys(around[around.index(last) :])))
        why = _CIRCLE + (_ORDER if _elsewhere(path, known) else "")
        return None, "; ".join([*_ends(told), f"so {circle} wait for one another: {why}"])
    found = known.get(last, silent())
    if isinstance(found, Standing):
        return None, "; ".join(_ends(told))
    return (last if last >= 0 else None), "; ".join([*_ends(told), f"{name(last)} {found}"])


def _way_out(rank: int, awaits: Sequence[int], known: Known) -> list[int]:
    """The shortest way to a rank that is not merely waiting too; empty if there is none."""
    ways = [[each] for each in awaits]
    seen = {rank, *awaits}
    for way in ways:
        found = known.get(way[-1])
        if not isinstance(found, Standing):
            return way
        ways += [[*way, each] for each in found.awaits if each not in seen]
        seen.update(found.awaits)
    return []


def _circle(rank: int, awaits: Sequence[int], known: Known) -> list[int]:
    """A way that comes back to where it was, or ends at a rank that is about to go on."""
    way: list[int] = []
    while awaits:
        way.append(awaits[0])
        found = known.get(awaits[0])
        if awaits[0] == rank or awaits[0] in way[:-1] or not isinstance(found, Standing):
            break
        awaits = found.awaits
    return way


def _elsewhere(path: Sequence[int], known: Known) -> bool:
    """Whether a rank on the way waits in another communicator."""
    found = [known.get(rank) for rank in path]
    return any(isinstance(each, Standing) and each.elsewhere for each in found)


def _where(found: Standing, mine: Standing, name: Name) -> str:
    waits = f"waits for {filled(found.awaited, found.awaits, name)}"
    if found.elsewhere:
        return f"{waits}, in {found.doing} of another communicator"
    call, _, step = found.doing.rpartition(", ")
    same = call and call == mine.doing.rpartition(", ")[0]
    return f"{waits}, in {step if same else found.doing}"


def _ends(told: Sequence[str]) -> list[str]:
    if len(told) <= 2 * _SHOWN:
        return list(told)
    left_out = len(told) - 2 * _SHOWN
    return [*told[:_SHOWN], f"... and so on through {left_out} more ranks ...", *told[-_SHOWN:]]
