"""refcoll show: an algorithm as a story, step by step."""

from __future__ import annotations

from refcoll.cli.chosen import chosen
from refcoll.cli.options import (
    AlgorithmName,
    Collective,
    Json,
    NodeShape,
    Radix,
    Ranks,
    Root,
    Segments,
    Shards,
)
from refcoll.cli.output import write_json
from refcoll.errors import ArgumentError
from refcoll.interpreters.draw import draw
from refcoll.programs import Program
from refcoll.schedule import Send, indices

_WIDEST = 16
"""Ranks that a drawing holds."""


def show(
    algorithm: AlgorithmName,
    ranks: Ranks = None,
    collective: Collective = None,
    root: Root = 0,
    nodes: NodeShape = None,
    segments: Segments = None,
    radix: Radix = None,
    shards: Shards = None,
    json: Json = None,
) -> None:
    """Draw an algorithm: which chunk goes where in each step, and what each rank then holds."""
    program = chosen(
        algorithm,
        collective,
        ranks,
        default_ranks=4,
        root=root,
        nodes=nodes,
        segments=segments,
        radix=radix,
        shards=shards,
    )
    if str(json) != "-":
        if program.ranks > _WIDEST:
            raise ArgumentError(
                f"ranks={program.ranks} are too many to draw: use {_WIDEST} or fewer, or --json -"
            )
        print(draw(program))
    write_json(json, _content(program))


def _content(program: Program) -> dict[str, object]:
    """Keys: algorithm, collective, root, nodes, ranks, chunks, steps (one row per action)."""
    return {
        "algorithm": program.name,
        "collective": program.collective.name,
        "root": program.root,
        "nodes": [list(node) for node in program.nodes],
        "switches": [list(each) for each in program.topology.switches] if program.topology else [],
        "ranks": program.ranks,
        "chunks": program.chunks,
        "steps": [
            {
                "rank": rank,
                "step": node.number + 1,
                "action": type(action).__name__.lower(),
                "chunks": list(indices(action.chunks)),
                "peer": action.to if isinstance(action, Send) else action.source,
            }
            for rank, graph in enumerate(program.graphs)
            for node in graph
            for action in node.actions
        ],
    }
