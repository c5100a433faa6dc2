"""Count, and tell the time of, an aligned program on arrays: a round of all ranks at once.

The same as ``count`` and ``clock`` do action by action; the model is described in ``clock``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from refcoll.chunks import Layout
from refcoll.errors import ArgumentError
from refcoll.interpreters.links import Links, Times
from refcoll.interpreters.table import Bools, Ints, Round, waves
from refcoll.interpreters.uniform import Move
from refcoll.rates import Number


def require_countable(rounds: Sequence[Round], layout: Layout) -> None:
    """Raise ArgumentError where sums of lengths might not fit in 63 bits."""
    moves = sum(each.row.size for each in rounds)
    if moves * max(layout.lengths, default=0) >= 1 << 62:
        raise ArgumentError(
            f"{layout.count} elements, or bytes, in {moves} chunk moves are too many to add up"
        )


def message_sizes(each: Round, lengths: Ints) -> Ints:
    """Elements of every message of the round, where chunks are so long."""
    return _summed(each.row, lengths[each.written % lengths.size], each.source.size)


def staged(each: Round) -> Bools:
    """Which messages must be sent from a copy, since the sender reduces into a chunk of it."""
    base = 1 + max(each.sent.max(initial=0), each.written.max(initial=0))
    reduced = each.reduces[each.row]
    into = (each.to[each.row] * base + each.written)[reduced]
    lent = np.isin(each.source[each.row] * base + each.sent, into)
    return _summed(each.row, lent, each.source.size) > 0


def scattered(each: Round, chunks: Ints) -> Bools:
    """Which messages name chunks that are not neighbours in memory."""
    jumps = (np.diff(chunks) != 1) & (np.diff(each.row) == 0)
    return _summed(each.row[1:], jumps, each.source.size) > 0


def _summed(rows: Ints, values: Any, count: int) -> Ints:
    """The sum of the values of each row, exactly."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, rows, values)
    return sums


@dataclass(frozen=True, eq=False)
class Messages:
    """A round: what all ranks have in flight together, local moves among it."""

    source: Ints
    to: Ints
    place: Ints
    """The send's position among the sends of its step."""
    sizes: Ints
    """Elements."""
    reduces: Bools


def of_table(rounds: Sequence[Round], layout: Layout) -> Iterator[Messages]:
    """The rounds of an aligned program, on a vector so cut."""
    require_countable(rounds, layout)
    lengths = np.asarray(layout.lengths, np.int64)
    for each in rounds:
        sizes = message_sizes(each, lengths)
        yield Messages(each.source, each.to, each.place, sizes, each.reduces)


def of_moves(steps: Sequence[Sequence[Move]], layout: Layout) -> Iterator[Messages]:
    """The rounds of a uniform program: of each move one message a rank."""
    lengths = np.asarray(layout.lengths, np.int64)
    ranks = np.arange(lengths.size)
    for moves in steps:
        to = [(ranks + move.distance) % ranks.size for move in moves]
        sizes = [
            sum(lengths[(at + row) % ranks.size] for row in move.rows)
            for at, move in zip(to, moves, strict=True)
        ]
        yield Messages(
            np.tile(ranks, len(moves)),
            np.concatenate(to),
            np.repeat([move.place for move in moves], ranks.size),
            np.concatenate(sizes),
            np.repeat([move.merges for move in moves], ranks.size),
        )


def finish_times(
    rounds: Iterable[Messages],
    links: Links,
    gamma: Number,
    one_port: bool,
    entered: Sequence[Number],
) -> list[Number]:
    """When each rank ends its last step."""
    ends = np.array(entered, links.kind)
    for each in rounds:
        _play(each, ends, links, gamma, one_port)
    return list(ends.tolist())


def _play(each: Messages, ends: Times, links: Links, gamma: Any, one_port: bool) -> None:
    """One round: ``ends`` of the round before become those of this one."""
    far = each.source != each.to
    source, to, sizes = each.source[far], each.to[far], each.sizes[far]
    kind = links.classes(source, to)
    alpha, wire = links.latency(source, to, kind), links.beta[kind] * sizes
    ready = np.maximum(ends[source], ends[to])
    out, into = links.of(source, kind), links.of(to, kind)
    if one_port:
        arrival = ready + _running_totals(source, each.place[far], alpha + wire)
        landed = _one_by_one(ends, to, ready, arrival, alpha + wire, (kind, sizes))
    else:
        arrival = ready + alpha + _totals(out, wire)[out]
        landed = _side_by_side(ends, to, into, ready + alpha, arrival, wire, sizes)
    np.maximum.at(landed, source, arrival)
    if gamma:
        np.add.at(landed, each.to, gamma * (each.sizes * each.reduces).astype(links.kind))
    ends[:] = landed


def _one_by_one(
    ends: Times, to: Ints, ready: Times, arrival: Times, takes: Times, ties: tuple[Ints, Ints]
) -> Times:
    """When the last message has come in through each rank's one port."""
    landed = ends.copy()
    order = np.lexsort((*ties, ready, arrival, to))
    for wave in waves(to[order]):
        now = order[wave]
        at = to[now]
        landed[at] = np.maximum(landed[at] + takes[now], arrival[now])
    return landed


def _side_by_side(
    ends: Times, to: Ints, into: Ints, begins: Times, arrival: Times, wire: Times, sizes: Ints
) -> Times:
    """When the last message has come through each link in, one after another on each."""
    landed, drained = ends.copy(), np.zeros(into.max(initial=-1) + 1, ends.dtype)
    order = np.lexsort((sizes, begins, arrival, into))
    for wave in waves(into[order]):
        now = order[wave]
        link = into[now]
        drained[link] = np.maximum(drained[link], begins[now]) + wire[now]
        np.maximum.at(landed, to[now], np.maximum(drained[link], arrival[now]))
    return landed


def _totals(keys: Ints, values: Times) -> Times:
    """The sum of the values of each key."""
    if values.dtype != object:
        return np.bincount(keys, values)
    sums = np.zeros(keys.max(initial=-1) + 1, object)
    np.add.at(sums, keys, values)
    return sums


def _running_totals(source: Ints, place: Ints, cost: Times) -> Times:
    """Per message, the cost of its sender's messages up to it, in the order of its step."""
    order = np.lexsort((place, source))
    totals = np.empty_like(cost)
    so_far = np.zeros(source.max(initial=0) + 1, cost.dtype)
    for wave in waves(source[order]):
        now = order[wave]
        so_far[source[now]] += cost[now]
        totals[now] = so_far[source[now]]
    return totals
