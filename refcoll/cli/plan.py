"""refcoll plan: what a collective will cost on a machine, by every algorithm."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from refcoll.cli.machine_options import (
    AllRanks,
    MachineName,
    Nodes,
    Rails,
    RanksPerNode,
    machine,
)
from refcoll.cli.options import Json
from refcoll.cli.output import require_writable, write_json
from refcoll.cli.plan_report import content, report
from refcoll.cli.units import nbytes
from refcoll.errors import ArgumentError
from refcoll.planning.breakeven import spans
from refcoll.planning.files import write_machine
from refcoll.planning.playing import played
from refcoll.planning.predicting import Prediction, planner, predictions


def plan(
    collective: Annotated[
        str, typer.Argument(help="all_reduce, reduce_scatter, all_gather, ...")
    ] = "all_reduce",
    size: Annotated[str, typer.Option("--size", "-s", help="vector size S, such as 14GB")] = "1GB",
    machine_name: MachineName = "h100-node",
    ranks: AllRanks = None,
    nodes: Nodes = None,
    ranks_per_node: RanksPerNode = None,
    rails: Rails = None,
    algorithm: Annotated[
        list[str] | None,
        typer.Option("--algorithm", "-a", help="only this one, or pair A+B; several times"),
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="play the schedules too, up to 256 ranks")
    ] = False,
    save: Annotated[
        Path | None, typer.Option("--save-machine", help="write the machine to a TOML file")
    ] = None,
    json: Json = None,
) -> None:
    """Predict each algorithm's time on a machine, best first, and the break-even sizes.

    Machines: p3.16xlarge, a100-node, h100-node, h200-node, b200-node, each also as a cluster of
    four nodes (h100-cluster), or a TOML file (docs/planning.md), then changed by the options.
    """
    if save is not None:
        require_writable(save, "save-machine")
    found = machine(machine_name, nodes, ranks_per_node, rails, ranks)
    total = nbytes(size)
    shown: list[Prediction]
    if algorithm:
        shown = sorted(
            (planner(found, collective).of(name, total) for name in algorithm),
            key=lambda each: each.seconds,
        )
    else:
        shown = predictions(found, collective, total)
    if not shown:
        raise ArgumentError(f"collective={collective!r}: nothing is known of it on {found.title}")
    ranges = [] if algorithm else spans(planner(found, collective).fastest)
    times = played(found, shown) if simulate else {}
    if save is not None:
        write_machine(found, save)
    if str(json) != "-":
        report(found, collective, total, shown, ranges, times)
    write_json(json, content(found, collective, total, shown, ranges, times))
