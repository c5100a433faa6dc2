"""Algorithms that an order may be that of, and in which order they add each element.

An all-reduce is compared with every all-reduce, with every reduce-scatter (that some
all-gather follows) and with every reduce (that some broadcast follows); reduce, reduce-scatter
and scan with their own kind.  Options are tried: radix, segments, shards, ranks on nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

from refcoll.algorithms.declaration import Algorithm
from refcoll.interpreters.expression import Expression
from refcoll.interpreters.replay import Symbols, replay
from refcoll.oracle.familiar import FAMILIAR
from refcoll.oracle.revealing.elsewhere import ADDS_ALIKE
from refcoll.oracle.revealing.trees import Tree, of_expression
from refcoll.programs import Program
from refcoll.registry import algorithms, program
from refcoll.topology import node_shape


@dataclass(frozen=True, eq=False)
class Candidate:
    """An algorithm with options, and what it does to whom."""

    base: str
    options: str
    made: Program
    spread: bool
    """Whether its chunks, or its root's, end up on all ranks."""
    familiarity: int
    """The less, the better known."""
    adds_alike: Mapping[str, str]
    """By library, its names for what adds so."""


_FOLLOWED = {"reduce_scatter": "then any all-gather", "reduce": "then a broadcast"}


@lru_cache(maxsize=32)
def candidates(collective: str, size: int, root: int) -> tuple[Candidate, ...]:
    """All algorithms, with all options worth trying, on so many ranks."""
    found = list(_of(collective, size, root, None))
    if collective == "all_reduce":
        for first, then in _FOLLOWED.items():
            found += _of(first, size, 0, then)
    return tuple(found)


def _of(collective: str, size: int, root: int, then: str | None) -> Iterator[Candidate]:
    for each in algorithms(collective):
        if each.sizes.holds(size):
            base = each.name if then is None else f"{collective} {each.name}, {then}"
            for options, said in _options(each, size):
                made = program(collective, each.name, size, root=root, **options)
                known = {} if then else ADDS_ALIKE.get((collective, each.name), {})
                yield Candidate(
                    base, said, made, bool(then), _familiarity(collective, each.name, then), known
                )


def _familiarity(collective: str, name: str, then: str | None) -> int:
    """Everybody's algorithms, others, everybody's put together, others put together."""
    known = FAMILIAR[collective]
    place = known.index(name) if name in known else len(known)
    return place + (100 if then else 0)


def _options(algorithm: Algorithm, size: int) -> Iterator[tuple[dict[str, Any], str]]:
    """Keywords of ``program``, and the same in words."""
    taken = algorithm.options
    if "nodes" in taken:
        yield from _nodes("switches" in taken, size)
    elif "radix" in taken:
        yield from (({"radix": k}, f"radix={k}") for k in range(2, max(3, size + 1)))
    elif "shards" in taken:
        yield from (({"shards": k}, f"shards={k}") for k in range(1, size + 1))
    elif "segments" in taken:
        yield from (({"segments": k}, f"segments={k}") for k in (1, 2, 3, 4, 8))
    else:
        yield {}, ""


def _nodes(on_switches: bool, size: int) -> Iterator[tuple[dict[str, Any], str]]:
    """K nodes, filled in rank order or in turn; on two switches, if there are such."""
    for many in range(2, max(3, size)):
        share, extra = divmod(size, many)
        sizes = [share + (k < extra) for k in range(many)]
        in_turn = tuple(tuple(range(k, size, many)) for k in range(many))
        for nodes, said in ((node_shape(sizes), "in rank order"), (in_turn, "in turn")):
            how = f"{'+'.join(map(str, sizes))} ranks on nodes {said}"
            if on_switches:
                half = (many + 1) // 2
                yield {"nodes": [nodes[:half], nodes[half:]]}, f"{how}, on 2 switches"
            else:
                yield {"nodes": nodes}, how


# ---- their orders ------------------------------------------------------------------------


def laid(candidate: Candidate, rank: int, count: int) -> list[tuple[int, int, Tree]]:
    """The candidate's trees in ``rank``'s result of ``count`` elements: start, stop, tree;
    neighbours that are alike as one."""
    made, parts = candidate.made, []
    own = made.collective.scattered and not candidate.spread
    layout = made.layout(count * made.size if own else count)
    first = layout.offsets[rank] if own else 0
    for chunk in [rank] if own else range(made.chunks):
        start, stop = layout.offsets[chunk] - first, layout.offsets[chunk + 1] - first
        if stop > start:
            parts.append((start, stop, _tree(made, _holder(candidate, rank, chunk), chunk)))
    return [
        (group[0][0], group[-1][1], tree)
        for tree, each in groupby(parts, key=lambda part: part[2])
        for group in [list(each)]
    ]


def _holder(candidate: Candidate, rank: int, chunk: int) -> int:
    """The rank that has finished the chunk which ``rank`` ends with."""
    made = candidate.made
    if made.collective.rooted:
        return made.root
    return chunk if made.collective.scattered else rank


@lru_cache(maxsize=100_000)
def _tree(made: Program, rank: int, chunk: int) -> Tree:
    value = _memory(made)[rank][made.result_area * made.chunks + chunk]
    return _of_expression(value)


_of_expression = lru_cache(maxsize=100_000)(of_expression)


@lru_cache(maxsize=1024)
def _memory(made: Program) -> list[dict[int, Expression]]:
    """By rank, what every chunk holds in the end."""
    symbols = Symbols(made)
    for _ in replay(made, symbols):
        pass
    return symbols.memory
