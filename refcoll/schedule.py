"""The schedule language: what one rank does, step by step.

A *schedule* is an iterator of steps; a *step* is a tuple of actions that are in flight
together on one rank.  Three actions suffice:

    Send(chunks, to)          my chunks as they stood before the step
    Copy(chunks, source)      mine = incoming
    Reduce(chunks, source)    mine = op(incoming, mine) or op(mine, incoming)

Memory.     A rank owns one vector, cut into C chunks (``refcoll.chunks``), numbered from 0.
            Lengths may be zero, so fewer elements than chunks is nothing special.  Index
            C + c is chunk c of the first scratch *area*, 2C + c of the second, and so on.
            ``chunks`` is one index, a ``range`` or a tuple of indices, possibly empty;
            one action is one message.
Meaning.    A step reads before it writes: sends carry the values from its start; receives
            apply at its end, several into one chunk in the order written.  A Copy into a
            chunk that the step also sends, or over another receive of the step, is illegal;
            a Reduce into a sent chunk is legal.  A message to oneself is a local move or
            merge: no bytes, no latency.  ``()`` is an idle step, and is not counted.
            Meaning never depends on timing.
Matching.   The k-th send a -> b meets the k-th receive at b from a, which must name as many
            chunks of the same lengths.  Empty messages are sent and counted like any other.
            A schedule is *aligned* when both ends of every message have the same step
            number: then it cannot deadlock, even where a send waits for its receive.
            ``padded`` adds the idle steps that align what trees would leave ragged.
Operands.   The lower rank's operand goes left, so an algorithm that merges neighbouring
            groups of ranks keeps rank order for free.  ``incoming`` overrides it.

A schedule does no I/O, holds no array and knows no bytes.  Running, counting, checking,
costing and drawing are interpreters of it (``refcoll.interpreters``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Literal, TypeAlias

Chunks: TypeAlias = int | range | tuple[int, ...]
Side: TypeAlias = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Send:
    """Send my ``chunks``, as they stood before the step, to rank ``to``."""

    chunks: Chunks
    to: int


@dataclass(frozen=True, slots=True)
class Copy:
    """Receive from rank ``source`` and replace my ``chunks`` by it."""

    chunks: Chunks
    source: int


@dataclass(frozen=True, slots=True)
class Reduce:
    """Receive from rank ``source`` and merge it into my ``chunks`` with the operator.

    ``incoming`` says on which side the incoming operand stands; by default the lower
    rank's operand stands on the left.
    """

    chunks: Chunks
    source: int
    incoming: Side | None = None

    def __repr__(self) -> str:
        side = "" if self.incoming is None else f", incoming={self.incoming!r}"
        return f"Reduce(chunks={self.chunks!r}, source={self.source!r}{side})"


Action: TypeAlias = Send | Copy | Reduce
Step: TypeAlias = tuple[Action, ...]
Schedule: TypeAlias = Iterator[Step]
IDLE: Step = ()


class ScheduleError(ValueError):
    """A schedule, or what was asked of one, breaks the rules of the language."""


def indices(chunks: Chunks) -> range | tuple[int, ...]:
    """The chunk indices that an action names, in order."""
    return (chunks,) if isinstance(chunks, int) else chunks


def peer(action: Action) -> int:
    """The rank at the other end of ``action``."""
    return action.to if isinstance(action, Send) else action.source


def remote(action: Action, rank: int) -> bool:
    """Whether it is a message to or from another rank, not a move within ``rank``."""
    return peer(action) != rank


def reduced_chunks(step: Step) -> set[int]:
    """The chunks that a step reduces into: what it also sends must be sent from a copy."""
    return {i for action in step if isinstance(action, Reduce) for i in indices(action.chunks)}


def incoming_goes_left(action: Reduce, rank: int) -> bool:
    """Whether ``rank`` must put what this Reduce brings on the operator's left."""
    return action.source < rank if action.incoming is None else action.incoming == "left"


# ---- combinators: schedules from schedules --------------------------------------------


def on_ranks(group: Sequence[int], schedule: Callable[[int, int], Schedule], rank: int) -> Schedule:
    """``schedule`` among the ranks of ``group`` only; nothing for a rank outside it.

    The schedule sees ``group.index(rank)`` and ``len(group)``; its peers are mapped back.
    """
    if rank not in group:
        return
    for step in schedule(group.index(rank), len(group)):
        yield tuple(_with_peer(action, group[peer(action)]) for action in step)


def on_chunks(cuts: Sequence[int], steps: Iterable[Step]) -> Schedule:
    """``steps`` on wider chunks: their chunk i becomes our cuts[i], ..., cuts[i+1] - 1."""
    for step in steps:
        yield tuple(replace(action, chunks=_widened(action.chunks, cuts)) for action in step)


def renumbered(steps: Iterable[Step], chunks: Sequence[int]) -> Schedule:
    """``steps`` on other chunks: their chunk i, in any area, becomes our chunks[i]."""
    c = len(chunks)

    def moved(named: Chunks) -> Chunks:
        there = tuple(i // c * c + chunks[i % c] for i in indices(named))
        return there[0] if isinstance(named, int) else there

    for step in steps:
        yield tuple(replace(action, chunks=moved(action.chunks)) for action in step)


def then(*parts: Iterable[Step]) -> Schedule:
    """The parts one after another."""
    return chain.from_iterable(parts)


def together(*parts: Iterable[Step]) -> Schedule:
    """The parts side by side: step t of the whole holds step t of every part.

    The parts must be aligned, or they can wait for one another for ever.
    """
    for steps in zip_longest(*parts, fillvalue=IDLE):
        yield tuple(chain.from_iterable(steps))


def padded(steps: Iterable[Step], length: int) -> Schedule:
    """``steps``, followed by idle steps up to ``length``, where other ranks take longer."""
    done = 0
    for done, step in enumerate(steps, 1):  # noqa: B007 (read after the loop)
        yield step
    if done > length:
        raise ScheduleError(f"{done} steps do not fit in {length}")
    yield from [IDLE] * (length - done)


def reverse(steps: Iterable[Step], into: type[Copy] | type[Reduce]) -> Schedule:
    """``steps`` backwards in time, sends and receives exchanged.

    An all-gather becomes a reduce-scatter and a broadcast a reduce (``into=Reduce``), and
    the other way round (``into=Copy``).  That is right only where every chunk reaches a
    rank once in the gathering direction; a second arrival raises ScheduleError.
    """
    arrived: set[int] = set()
    for step in reversed(list(steps)):
        yield tuple(_turned(action, into, arrived) for action in reversed(step))


def _turned(action: Action, into: type[Copy] | type[Reduce], arrived: set[int]) -> Action:
    turned = (
        into(action.chunks, action.to)
        if isinstance(action, Send)
        else Send(action.chunks, action.source)
    )
    if isinstance(turned, Copy) or (into is Reduce and isinstance(turned, Send)):
        for chunk in indices(turned.chunks):
            if chunk in arrived:
                raise ScheduleError(f"cannot be reversed: chunk {chunk} reaches a rank twice")
            arrived.add(chunk)
    return turned


def _with_peer(action: Action, other: int) -> Action:
    if isinstance(action, Send):
        return Send(action.chunks, other)
    return replace(action, source=other)


def _widened(chunks: Chunks, cuts: Sequence[int]) -> Chunks:
    if isinstance(chunks, range) and chunks.step == 1 and chunks:
        return range(cuts[chunks.start], cuts[chunks.stop])
    wide = [range(cuts[i], cuts[i + 1]) for i in indices(chunks)]
    return wide[0] if len(wide) == 1 else tuple(chain.from_iterable(wide))
