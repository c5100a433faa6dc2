"""Orders of adding that have a name: as expressions, and what each gives to the bit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from refcoll.interpreters.check import check
from refcoll.interpreters.simulate import simulate
from refcoll.operators import Array
from refcoll.oracle.familiar import FAMILIAR
from refcoll.oracle.vectors.cases import Case
from refcoll.programs import Program
from refcoll.registry import program


@dataclass(frozen=True)
class Order:
    """How some ranks' results are added up."""

    name: str
    ranks: Sequence[int]
    by_chunk: Sequence[str]
    """Of a result that is cut into as many chunks, the first ones an element longer."""


@lru_cache(maxsize=32)
def orders(collective: str, size: int) -> tuple[Order, ...]:
    """Those of the collective on so many ranks, ranks that have the same together."""
    return tuple(
        Order(name, ranks, said)
        for name in FAMILIAR.get(collective, ())
        for said, ranks in _alike(program(collective, name, size)).items()
    )


def _alike(made: Program) -> Mapping[tuple[str, ...], list[int]]:
    memory, found = check(made).values, dict[tuple[str, ...], list[int]]()
    for rank in range(made.size):
        wanted = [c for c in range(made.chunks) if made.collective.after(rank, c, 0, made.size)]
        first = made.result_area * made.chunks
        said = tuple(str(memory[rank][first + chunk]) for chunk in wanted)
        if said:
            found.setdefault(said, []).append(rank)
    return found


@dataclass(frozen=True)
class InOrder:
    """What an order gives."""

    name: str
    ranks: Sequence[int]
    values: Array


def in_known_orders(case: Case) -> Iterator[InOrder]:
    """For a bounded sum; every hop rounds to the dtype."""
    call = case.call
    if case.compare != "interval" or call.op != "sum" or call.root:
        return
    for name in FAMILIAR[call.collective]:
        made = program(call.collective, name, case.size)
        results = simulate(made, [np.asarray(x) for x in case.inputs])
        for order in orders(call.collective, case.size):
            for ranks in _alike_in_values(case, order) if order.name == name else ():
                yield InOrder(name, ranks, _part(case, results, ranks[0]))


def _alike_in_values(case: Case, order: Order) -> Sequence[Sequence[int]]:
    """Ranks that get the same elements; of a reduce_scatter each has a block of its own, though
    it be added in the same order."""
    alone = case.call.collective == "reduce_scatter"
    return [[rank] for rank in order.ranks] if alone else [order.ranks]


def _part(case: Case, results: Sequence[Array], rank: int) -> Array:
    count = case.call.count
    first = rank * count if case.call.collective == "reduce_scatter" else 0
    return results[rank][first : first + count]
