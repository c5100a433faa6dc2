"""Which program a command line means."""

from __future__ import annotations

from refcoll.algorithms.declaration import Algorithm
from refcoll.cli import units
from refcoll.errors import ArgumentError
from refcoll.programs import Program
from refcoll.registry import DEFAULT_SEGMENTS, algorithms, find, program


def chosen(
    algorithm: str,
    collective: str | None,
    ranks: int | None,
    *,
    default_ranks: int,
    root: int = 0,
    nodes: str | None = None,
    segments: int | None = None,
    default_segments: int = DEFAULT_SEGMENTS,
) -> Program:
    """The program; of a name that several collectives have, all_reduce unless told otherwise."""
    found = algorithms(None, algorithm)
    if not found:
        names = sorted({each.name for each in algorithms()})
        near = [name for name in names if algorithm in name]
        raise ArgumentError(
            f"algorithm={algorithm!r} does not exist; "
            + (f"do you mean {' or '.join(near)}?" if near else f"there are {', '.join(names)}")
        )
    wanted = collective or min(found, key=lambda each: each.collective != "all_reduce").collective
    _require_meaning(find(wanted, algorithm), nodes=nodes, segments=segments)
    shape = units.nodes(nodes, ranks)
    named = ranks or (sum(len(node) for node in shape) if shape else default_ranks)
    return program(
        wanted,
        algorithm,
        named,
        root=root,
        nodes=shape,
        segments=default_segments if segments is None else segments,
    )


def _require_meaning(algorithm: Algorithm, **given: object) -> None:
    """Refuse an option that the algorithm does not look at, rather than ignore it."""
    for name, value in given.items():
        if value is not None and name not in algorithm.options:
            raise ArgumentError(
                f"{name}={value} has no meaning for {algorithm.name} {algorithm.collective}: "
                "leave it out"
            )
