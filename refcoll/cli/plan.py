"""refcoll plan: what a collective will cost on a machine, by every algorithm."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, TypeAlias

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
from refcoll.cli.plan_verdict import Planned
from refcoll.cli.units import nbytes
from refcoll.errors import ArgumentError
from refcoll.planning.breakeven import spans
from refcoll.planning.files import write_machine
from refcoll.planning.machine import Machine
from refcoll.planning.playing import played
from refcoll.planning.predicting import planner, predictions

Collective: TypeAlias = Annotated[
    str, typer.Argument(help="all_reduce, reduce_scatter, all_gather, ...")
]
Size: TypeAlias = Annotated[str, typer.Option("--size", "-s", help="vector size S, such as 14GB")]
Named: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--algorithm", "-a", help="only this one, or pair A+B; several times"),
]
Formulas: TypeAlias = Annotated[
    bool, typer.Option("--formulas", help="print each algorithm's time for any N and S")
]
Simulate: TypeAlias = Annotated[
    bool, typer.Option("--simulate", help="play the schedules too, up to 256 ranks")
]
Save: TypeAlias = Annotated[
    Path | None, typer.Option("--save-machine", help="write the machine to a TOML file")
]


def plan(
    collective: Collective = "all_reduce", size: Size = "1GB",
    machine_name: MachineName = "h100-node", ranks: AllRanks = None, nodes: Nodes = None,
    ranks_per_node: RanksPerNode = None, rails: Rails = None, algorithm: Named = None,
    formulas: Formulas = False, simulate: Simulate = False, save: Save = None, json: Json = None,
) -> None:  # fmt: skip
    """Predict each algorithm's time on a machine, best first, and the break-even sizes.

    Machines: p3.16xlarge, a100-node, h100-node, h200-node, b200-node, each also as a cluster of
    four nodes (h100-cluster), or a TOML file (docs/planning.md), then changed by the options.
    """
    if save is not None:
        require_writable(save, "save-machine")
    found = machine(machine_name, nodes, ranks_per_node, rails, ranks)
    made = planned(found, collective, nbytes(size), algorithm or [], simulate)
    if save is not None:
        write_machine(found, save)
    if str(json) != "-":
        report(made, formulas)
    write_json(json, content(made))


def planned(
    machine: Machine, collective: str, nbytes: int, named: list[str], simulate: bool
) -> Planned:
    """What is asked of the planner.  Raises ArgumentError where it knows nothing."""
    plans = planner(machine, collective)
    if named:
        shown = sorted((plans.of(name, nbytes) for name in named), key=lambda each: each.seconds)
        fastest, alone = [], []
    else:
        shown = predictions(machine, collective, nbytes)
        if not any(not each.measured for each in shown):
            said = f"collective={collective!r}: nothing is known of it on {machine.title}"
            raise ArgumentError(f"{said}; use fewer ranks")
        fastest = spans(plans.fastest)
        alone = spans(partial(plans.fastest, by_ranks_alone=True))
    times = played(machine, shown) if simulate else {}
    return Planned(machine, collective, nbytes, shown, fastest, alone, times)
