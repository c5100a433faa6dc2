"""Which program a command line means."""

from __future__ import annotations

from collections.abc import Mapping

from refcoll.algorithms.declaration import Algorithm
from refcoll.cli import units
from refcoll.errors import ArgumentError
from refcoll.programs import Program
from refcoll.registry import algorithms, find, program


def chosen(
    algorithm: str,
    collective: str | None,
    ranks: int | None,
    *,
    default_ranks: int,
    root: int = 0,
    nodes: str | None = None,
    segments: int | None = None,
    radix: int | None = None,
    shards: int | None = None,
) -> Program:
    """The program; of a name that several collectives have, all_reduce unless told otherwise.

    What is None is the default of ``refcoll.program``; what has no meaning is refused.
    """
    found = algorithms(None, algorithm)
    if "+" in algorithm:
        found = [find("all_reduce", algorithm)]
    if not found:
        names = sorted({each.name for each in algorithms()})
        near = [name for name in names if algorithm in name]
        raise ArgumentError(
            f"algorithm={algorithm!r} does not exist; "
            + (f"do you mean {' or '.join(near)}?" if near else f"there are {', '.join(names)}")
        )
    wanted = collective or min(found, key=lambda each: each.collective != "all_reduce").collective
    given = {"segments": segments, "radix": radix, "shards": shards}
    options = {key: value for key, value in given.items() if value is not None}
    _require_meaning(find(wanted, algorithm), options)
    shape = units.nodes(nodes, ranks)
    named = ranks or (sum(map(len, shape.nodes)) if shape else default_ranks)
    units.require_few(named)
    return program(wanted, algorithm, named, root=root, nodes=shape, **options)


def _require_meaning(algorithm: Algorithm, given: Mapping[str, int]) -> None:
    """Refuse an option that the algorithm does not look at, rather than ignore it."""
    for name, value in given.items():
        if name not in algorithm.options:
            raise ArgumentError(
                f"{name}={value} has no meaning for {algorithm.name} {algorithm.collective}: "
                "leave it out"
            )
