"""Which algorithms there are, and programs made from them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from operator import index
from typing import Any

from refcoll.algorithms import (
    all_gather,
    all_pairs,
    barrier,
    chain,
    double_tree,
    hierarchical,
    parameter_server,
    recursive,
    reduce_scatter,
    ring,
    scattering,
    tree,
)
from refcoll.algorithms.declaration import Algorithm, Lengths, Nodes
from refcoll.collectives import COLLECTIVES, checked_root
from refcoll.collectives import collective as find_collective
from refcoll.errors import ArgumentError
from refcoll.programs import Claims, Program
from refcoll.schedule import Schedule, on_ranks

_FAMILIES = (
    ring,
    tree,
    chain,
    double_tree,
    recursive,
    hierarchical,
    reduce_scatter,
    all_gather,
    all_pairs,
    scattering,
    parameter_server,
    barrier,
)
ALGORITHMS: dict[tuple[str, str], Algorithm] = {
    (algorithm.collective, algorithm.name): algorithm
    for family in _FAMILIES
    for algorithm in family.ALGORITHMS
}
DEFAULT_SEGMENTS = 8
"""Pipeline depth where none is asked for."""


def algorithms(collective: str | None = None, name: str | None = None) -> list[Algorithm]:
    """All algorithms of that collective and that name; by default simply all."""
    return [
        each
        for each in ALGORITHMS.values()
        if collective in (None, each.collective) and name in (None, each.name)
    ]


def find(collective: str, name: str) -> Algorithm:
    """The algorithm of that name.  Raises ArgumentError, naming those that there are."""
    find_collective(collective)
    if not isinstance(name, str) or (collective, name) not in ALGORITHMS:
        names = (each.name for each in algorithms(collective))
        raise ArgumentError(
            f"algorithm={name!r} does not exist for {collective}; there are {_listed(names)}"
        )
    return ALGORITHMS[collective, name]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def program(
    collective: str,
    name: str,
    size: int,
    *,
    root: int = 0,
    nodes: Nodes | None = None,
    segments: int = DEFAULT_SEGMENTS,
) -> Program:
    """The algorithm on ``size`` ranks: what every interpreter reads.

    ``root`` is for broadcast and reduce; ``nodes`` (by default one node) for hierarchical
    algorithms; ``segments`` for pipelined ones.  Raises ArgumentError for a name or a value
    that does not exist.
    """
    algorithm = find(collective, name)
    if size < 1:
        raise ArgumentError(f"size={size} must be at least 1")
    checked_root(find_collective(collective), root, size)
    if segments < 1:
        raise ArgumentError(f"segments={segments} must be at least 1")
    shape = (tuple(range(size)),) if nodes is None else checked_nodes(nodes, size)
    return _bound(algorithm, size, root, shape, segments)


@lru_cache(maxsize=512)
def _bound(algorithm: Algorithm, size: int, root: int, nodes: Nodes, segments: int) -> Program:
    given: dict[str, Any] = {"nodes": nodes, "segments": segments}
    options = {name: given[name] for name in algorithm.options}
    order = [(root + place) % size for place in range(size)]
    schedule = partial(algorithm.schedule, **options)

    def steps_of(rank: int) -> Schedule:
        return schedule(rank, size) if root == 0 else on_ranks(order, schedule, rank)

    def place(rank: int) -> int:
        return rank if rank >= size else (rank - root) % size

    def steps(rank: int) -> int:
        return algorithm.steps(place(rank), size, **options)

    def sent(rank: int, lengths: Lengths) -> int:
        return algorithm.sent(place(rank), size, lengths, **options)

    def received(rank: int, lengths: Lengths) -> int:
        return algorithm.received(place(rank), size, lengths, **options)

    return Program(
        algorithm.name,
        COLLECTIVES[algorithm.collective],
        size,
        steps_of,
        algorithm.chunks(size, **options),
        root=root,
        helpers=algorithm.helpers,
        weights=algorithm.weights(size, **options) if algorithm.weights else None,
        idea=_idea(algorithm),
        nodes=nodes if "nodes" in options else (),
        claims=Claims(
            steps,
            algorithm.depth(size, **options),
            sent,
            received,
            algorithm.in_rank_order and root == 0,
        ),
    )


def _idea(algorithm: Algorithm) -> str:
    """The first lines of the file, and of the function, that describe the algorithm."""
    described = sys.modules[algorithm.schedule.__module__], algorithm.schedule
    lines = ((each.__doc__ or "").partition("\n")[0] for each in described)
    return "\n".join(line for line in lines if not line.startswith("Chunks:"))


def checked_nodes(nodes: Sequence[Sequence[int]], size: int) -> Nodes:
    """The nodes as tuples.  Raises ArgumentError unless they hold each rank once."""
    try:
        shape = tuple(tuple(index(rank) for rank in node) for node in nodes)
    except TypeError:
        raise ArgumentError(f"nodes={nodes!r} must be a list of lists of ranks") from None
    if sorted(rank for node in shape for rank in node) != list(range(size)) or () in shape:
        raise ArgumentError(
            f"nodes={shape} must hold each of the ranks 0 to {size - 1} once, and no empty node"
        )
    return shape


def node_shape(sizes: Sequence[int]) -> Nodes:
    """Nodes of the given sizes, filled in rank order.

    >>> node_shape((2, 3))
    ((0, 1), (2, 3, 4))
    """

    def filled() -> Iterator[tuple[int, ...]]:
        first = 0
        for ranks in sizes:
            yield tuple(range(first, first + ranks))
            first += ranks

    return tuple(filled())
