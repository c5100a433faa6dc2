"""Which algorithms there are, and programs made from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refcoll.algorithms import (
    all_gather,
    all_pairs,
    all_to_all,
    barrier,
    bcube,
    binary_tree,
    bine,
    butterfly,
    chain,
    circulant,
    double_tree,
    doubling_gather,
    half_folding,
    in_network,
    knomial,
    leaders,
    linear,
    multiplying,
    neighbor,
    parallel_trees,
    parameter_server,
    rails,
    recursive,
    recursive_halving,
    reduce_scatter,
    ring,
    scan,
    scattering,
    segmented_ring,
    split_binary_tree,
    swing,
    three_level_rails,
    tree,
)
from refcoll.algorithms.composition import composed
from refcoll.algorithms.declaration import Algorithm
from refcoll.collectives import checked_root
from refcoll.collectives import collective as find_collective
from refcoll.errors import ArgumentError, integer, within
from refcoll.making import made
from refcoll.programs import Program
from refcoll.topology import Topology, topology

_FAMILIES = (
    ring,
    segmented_ring,
    tree,
    knomial,
    linear,
    chain,
    binary_tree,
    split_binary_tree,
    double_tree,
    recursive,
    half_folding,
    multiplying,
    bcube,
    recursive_halving,
    doubling_gather,
    butterfly,
    swing,
    bine,
    rails,
    leaders,
    three_level_rails,
    reduce_scatter,
    all_gather,
    neighbor,
    parallel_trees,
    all_pairs,
    scattering,
    circulant,
    parameter_server,
    in_network,
    all_to_all,
    scan,
    barrier,
)
ALGORITHMS: dict[tuple[str, str], Algorithm] = {
    (algorithm.collective, algorithm.name): algorithm
    for family in _FAMILIES
    for algorithm in family.ALGORITHMS
}
DEFAULT_SEGMENTS = 8
"""Pipeline depth where none is asked for."""
DEFAULT_RADIX = 4
DEFAULT_SHARDS = 1
_LEAST = {"segments": 1, "radix": 2, "shards": 1}
CHECKED = 64
"""Every algorithm is checked for every number of ranks up to this one, in the tests."""


def algorithms(collective: str | None = None, name: str | None = None) -> list[Algorithm]:
    """All algorithms of that collective and that name; by default simply all.

    None have a name that does not exist; a collective that does not exist is an ArgumentError.
    """
    if collective is not None:
        find_collective(collective)
    if name is not None and not isinstance(name, str):
        raise ArgumentError(f"name={name!r:.80} must be a string, or None for all")
    return [
        each
        for each in ALGORITHMS.values()
        if collective in (None, each.collective) and name in (None, each.name)
    ]


def find(collective: str, name: str) -> Algorithm:
    """The algorithm of that name.  Raises ArgumentError, naming those that there are.

    An all-reduce may also be named "A+B": reduce-scatter A, then all-gather B.
    """
    find_collective(collective)
    if isinstance(name, str) and "+" in name and collective == "all_reduce":
        first, _, second = name.partition("+")
        return composed(find("reduce_scatter", first), find("all_gather", second))
    if not isinstance(name, str) or (collective, name) not in ALGORITHMS:
        names = ", ".join(sorted(each.name for each in algorithms(collective)))
        raise ArgumentError(
            f"algorithm={name!r:.80} does not exist for {collective}; there are {names}"
        )
    return ALGORITHMS[collective, name]


def program(
    collective: str,
    name: str,
    size: int,
    *,
    root: int = 0,
    nodes: Sequence[Any] | Topology | None = None,
    segments: int = DEFAULT_SEGMENTS,
    radix: int = DEFAULT_RADIX,
    shards: int = DEFAULT_SHARDS,
) -> Program:
    """The algorithm on ``size`` ranks: what every interpreter reads.

    ``root`` is for the collectives that have one; ``nodes``, lists of ranks, or of such
    lists for nodes that share a switch, by default one node, for hierarchical algorithms
    and for counting by link; ``segments`` for pipelined ones, ``radix`` for wide ones,
    ``shards`` for parameter servers; an option that the algorithm does not take is ignored,
    so that one loop can try them all.  Raises ArgumentError for a name or a value that does
    not exist, and for a size that the algorithm is not defined for.
    """
    algorithm = find(collective, name)
    size, root = within(size, "size", 1), integer(root, "root")
    if not algorithm.sizes.holds(size):
        raise ArgumentError(
            f"size={size}: {name} {collective} is defined for {algorithm.sizes.said} only"
        )
    checked_root(find_collective(collective), root, size)
    asked = {"segments": segments, "radix": radix, "shards": shards}
    given = {option: within(value, option, _LEAST[option]) for option, value in asked.items()}
    where = topology(nodes, size)
    options = tuple((key, given[key]) for key in algorithm.options if key in given)
    return made(algorithm, size, root, where, options)
