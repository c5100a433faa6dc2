"""Which order of summation, and which precision, an implementation really uses.

Each size is asked four times over all pairs of ranks: twice alike (does the order depend on
the run?), once off an aligned address, once with the large values exchanged (does it depend on
the values?).  Then the precision of partial sums is measured, and random vectors predicted.
Where the order changes from one size to a larger one, halving finds at which count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from refcoll.errors import ArgumentError
from refcoll.oracle.calls import Call
from refcoll.oracle.revealing.arithmetic import arithmetics
from refcoll.oracle.revealing.asking import Ask
from refcoll.oracle.revealing.masks import DTYPES, MASKS
from refcoll.oracle.revealing.naming import Name, names
from refcoll.oracle.revealing.orders import (
    Counts,
    Orders,
    differing,
    orders,
    same_order,
    sequence,
    tables,
    trees,
)
from refcoll.oracle.revealing.precision import widths
from refcoll.oracle.revealing.prediction import Prediction, best, tried
from refcoll.words import counted

COLLECTIVES = ("all_reduce", "reduce", "reduce_scatter", "scan", "exscan")
SIZES = (1, 7, 1024, 65_536)


@dataclass(frozen=True)
class AtSize:
    """What was revealed of one count."""

    call: Call
    orders: Orders
    unstable: tuple[str, ...]
    """On what else the order depends, in words: the run, the address, the values."""
    names: tuple[Name, ...]
    arithmetic: str
    prediction: Prediction
    calls: int
    """How many were made."""

    @property
    def by_element(self) -> bool:
        """Whether elements of a result differ in their order."""
        return any(len(sequence(each)) > 1 for each in self.orders.values())

    @property
    def by_rank(self) -> bool:
        """Whether ranks that get the same elements sum them in different orders."""
        alike = [[(e.start, e.stop, e.tree) for e in each] for each in self.orders.values()]
        return self.call.collective == "all_reduce" and any(each != alike[0] for each in alike)

    @property
    def holds(self) -> bool:
        """Whether the order is stable and predicts the results."""
        return not self.unstable and self.prediction.holds


@dataclass(frozen=True)
class Change:
    """The order is one up to ``last`` elements, and another from ``last + 1`` on."""

    last: int


@dataclass(frozen=True)
class Revelation:
    """What was revealed of one collective and dtype."""

    implementation: str
    size: int
    """How many ranks."""
    at: tuple[AtSize, ...]
    changes: tuple[Change, ...]

    @property
    def holds(self) -> bool:
        """For every count."""
        return all(each.holds for each in self.at)


@dataclass
class _Counting:
    """Passes questions on, and counts them."""

    ask: Ask
    calls: int = field(default=0)

    def __call__(self, *question: object) -> list[object]:
        self.calls += 1
        return self.ask(*question)  # type: ignore[arg-type,return-value]


def reveal(
    ask: Ask,
    implementation: str,
    size: int,
    call: Call,
    counts: Sequence[int] = SIZES,
    *,
    seed: int = 0,
    progress: Callable[[str], None] = lambda said: None,
) -> Revelation:
    """Of ``call`` with each of ``counts`` in place of its own.

    Raises ArgumentError where there is nothing to reveal: one rank, another operator than sum,
    no float, no elements; and what ``ask`` raises.
    """
    require(size, call, counts)
    at = []
    for count in sorted(set(counts)):
        progress(counted(count, "element"))
        at.append(_at_size(ask, size, replace(call, count=count), seed))
    changes = []
    for one, other in pairwise(at):
        if not same_order(one.orders, other.orders):
            progress(f"where the order changes from {one.call.count} to {other.call.count}")
            changes.append(_change(ask, size, one, other))
    return Revelation(implementation, size, tuple(at), tuple(changes))


def require(size: int, call: Call, counts: Sequence[int]) -> None:
    """Raise ArgumentError where there is nothing to reveal."""
    if size < 2:
        raise ArgumentError("ranks=1: there is no order of summation to reveal; use 2 or more")
    if call.collective not in COLLECTIVES:
        raise ArgumentError(
            f"collective={call.collective!r} merges nothing; use one of {', '.join(COLLECTIVES)}"
        )
    if call.dtype not in DTYPES or call.op != "sum":
        raise ArgumentError(
            f"dtype={call.dtype!r}: only sums of {', '.join(DTYPES)} show their order"
        )
    if size > 2 ** MASKS[call.dtype][2]:
        raise ArgumentError(f"ranks={size} are too many to be counted in {call.dtype}")
    if not counts or min(counts) < 1:
        raise ArgumentError(f"sizes={list(counts)} must be numbers of elements from 1 on")


def _at_size(ask: Ask, size: int, call: Call, seed: int) -> AtSize:
    counting = _Counting(ask)
    asking: Ask = counting  # type: ignore[assignment]
    first = tables(asking, call, size)
    found = orders(call, size, first)
    unstable = _unstable(asking, call, size, first)
    measured = widths(asking, call, size, found)
    seen = tried(asking, call, size, seed, _vectors(call.count))
    arithmetic, held = best(arithmetics(call.dtype, measured), call, found, seen)
    named = names(call.collective, size, call.root, call.count, found) if trees(found) else []
    said = arithmetic.said if measured else "nothing can be said of precision without a tree"
    return AtSize(call, found, unstable, tuple(named), said, held, counting.calls)


def _vectors(count: int) -> int:
    """Calls with random vectors: at least 4, and some thousand elements where there is time."""
    return min(64, max(4, 4096 // count))


def _unstable(ask: Ask, call: Call, size: int, first: dict[int, Counts]) -> tuple[str, ...]:
    """What changes the order, with how many elements it changes it in."""
    again = differing(first, tables(ask, call, size))
    moved = differing(first, tables(ask, call, size, shift=1))
    swapped = differing(first, tables(ask, call, size, swapped=True))
    if again:
        return (f"the run (in {counted(again, 'element')})",)  # then nothing else can be told
    said = {"the address of the buffers": moved, "the values": swapped}
    return tuple(f"{what} (in {counted(many, 'element')})" for what, many in said.items() if many)


def _change(ask: Ask, size: int, one: AtSize, other: AtSize) -> Change:
    """By halving, where the order becomes the larger one's, if it changes once in between."""
    low, high = one.call.count, other.call.count
    while high - low > 1:
        middle = replace(one.call, count=(low + high) // 2)
        found = orders(middle, size, tables(ask, middle, size))
        if same_order(found, one.orders) and not same_order(found, other.orders):
            low = middle.count
        else:
            high = middle.count
    return Change(low)
