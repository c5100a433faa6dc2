"""Count, and tell the time of, an aligned program on arrays: a round of all ranks at once.

The same as ``count`` and ``clock`` do action by action; the model is described in ``clock``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from refcoll.chunks import Layout
from refcoll.errors import ArgumentError
from refcoll.interpreters.table import Bools, Ints, Round, waves
from refcoll.rates import Number
from refcoll.topology import Topology

Times: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""Floats; or, to reckon exactly, Python's integers."""


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


class Links:
    """Which class of links every message takes, and what that costs."""

    def __init__(
        self,
        where: Topology | None,
        ranks: int,
        rates: Sequence[tuple[Number, Number]],
        exact: bool = False,
    ) -> None:
        self.ranks = ranks
        self.kind = object if exact else np.float64
        self.alpha, self.beta = np.array(rates, self.kind).T
        homes = [where.home(rank) if where else (0, 0) for rank in range(ranks)]
        self._nodes, self._switches = np.array(homes, np.int64).T

    def classes(self, source: Ints, to: Ints) -> Ints:
        """The number, in ``topology.LINKS``, of each message's link."""
        other_node = self._nodes[source] != self._nodes[to]
        other_switch = self._switches[source] != self._switches[to]
        outside = (self._nodes[source] < 0) | (self._nodes[to] < 0)
        return np.where(outside, 3, other_node * (1 + other_switch)).astype(np.int64)


def finish_times(
    rounds: Sequence[Round],
    links: Links,
    layout: Layout,
    gamma: Number,
    one_port: bool,
    entered: Sequence[Number],
) -> list[Number]:
    """When each rank ends its last step."""
    require_countable(rounds, layout)
    ends, lengths = np.array(entered, links.kind), np.asarray(layout.lengths, np.int64)
    for each in rounds:
        _play(each, ends, message_sizes(each, lengths), links, gamma, one_port)
    return list(ends.tolist())


def _play(each: Round, ends: Times, sizes: Ints, links: Links, gamma: Any, one_port: bool) -> None:
    """One round: ``ends`` of the round before become those of this one."""
    far = each.remote
    source, to = each.source[far], each.to[far]
    kind = links.classes(source, to)
    alpha, wire = links.alpha[kind], links.beta[kind] * sizes[far]
    ready = np.maximum(ends[source], ends[to])
    if one_port:
        takes = _running_totals(source, each.place[far], alpha + wire)
    else:
        out = source * len(links.alpha) + kind
        takes = alpha + _totals(out, wire)[out]
    arrival = ready + takes
    landed = ends.copy()
    drained = np.zeros(links.ranks * len(links.alpha), links.kind)
    order = np.lexsort((kind, sizes[far], ready, arrival, to))
    for wave in waves(to[order]):
        now = order[wave]
        at, into = to[now], to[now] * len(links.alpha) + kind[now]
        if one_port:
            landed[at] = np.maximum(landed[at] + (alpha + wire)[now], arrival[now])
        else:
            drained[into] = np.maximum(drained[into], (ready + alpha)[now]) + wire[now]
            landed[at] = np.maximum(landed[at], np.maximum(drained[into], arrival[now]))
    np.maximum.at(landed, source, arrival)
    if gamma:
        np.add.at(landed, each.to, gamma * (sizes * each.reduces).astype(links.kind))
    ends[:] = landed


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
