"""Which program a command line means."""

from __future__ import annotations

from refcoll.cli import units
from refcoll.errors import ArgumentError
from refcoll.program import Program
from refcoll.registry import DEFAULT_SEGMENTS, algorithms, program


def chosen(
    algorithm: str,
    collective: str | None,
    ranks: int,
    *,
    root: int = 0,
    nodes: str | None = None,
    segments: int = DEFAULT_SEGMENTS,
) -> Program:
    """The program; of a name that several collectives have, all_reduce unless told otherwise."""
    found = algorithms(None, algorithm)
    if not found:
        names = ", ".join(sorted({each.name for each in algorithms()}))
        raise ArgumentError(f"algorithm={algorithm!r} does not exist; there are {names}")
    wanted = collective or min(found, key=lambda each: each.collective != "all_reduce").collective
    shape = units.nodes(nodes, ranks)
    return program(wanted, algorithm, ranks, root=root, nodes=shape, segments=segments)
