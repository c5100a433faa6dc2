"""What a calibration has found, as it grows, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from refcoll.benchmarking import Timing
from refcoll.choosing import choose
from refcoll.planning.calibration import Calibration
from refcoll.planning.calibration_errors import Compared, summary
from refcoll.planning.fitting import Errors
from refcoll.planning.machine import Link, Machine
from refcoll.topology import Nodes, topology
from refcoll.tuning import Best, Placement


@dataclass
class Found:
    """A calibration as it grows."""

    nodes: Nodes
    begun: float
    calibration: Calibration | None = None
    machine: Machine | None = None
    refused: str = ""
    """Why there is no machine."""
    rows: dict[str, list[Timing]] = field(default_factory=dict)
    compared: list[Compared] = field(default_factory=list)
    choices: dict[Placement, Sequence[Best]] = field(default_factory=dict)
    untimed: list[tuple[str, int]] = field(default_factory=list)
    """(Collective, size) for which there was no time."""

    @property
    def ranks(self) -> int:
        """All of them."""
        return sum(len(node) for node in self.nodes)


def content(found: Found, save: Path, out: Path) -> dict[str, Any]:
    """All of it, as JSON."""
    errors = summary(found.compared) if found.compared else (None, None)
    return {
        "ranks_on_nodes": [len(node) for node in found.nodes], "file": str(out),
        "machine_file": str(save) if found.machine else None, "refused": found.refused or None,
        "machine": _machine_content(found),
        "choices": list(choices(found)),
        "predictions": [
            {**asdict(each), "error": each.error, "planner_error": each.planner_error}
            for each in found.compared
        ],
        "formula_error": errors_content(errors[0]), "planner_error": errors_content(errors[1]),
        "untimed": [{"collective": name, "size": size} for name, size in found.untimed],
    }  # fmt: skip


def _machine_content(found: Found) -> dict[str, Any] | None:
    made, machine = found.calibration, found.machine
    if made is None or machine is None:
        return None
    return {
        "links": {link: _link_content(made, link, each) for link, each in machine.links.items()},
        "overhead": machine.overhead, "one_off": made.one_off,
        "reduce_bandwidth": machine.reduce_bandwidth,
        "merging": [asdict(each) for each in made.merging],
        "fit": {
            "errors": errors_content(made.fit.errors),
            "held_out": errors_content(made.fit.held_out), "untold": list(made.fit.untold),
            "rows": [
                {
                    "pattern": row.pattern.title, "rounds": row.rounds, "nbytes": row.nbytes,
                    "seconds": row.seconds, "error": error,
                }
                for row, error in zip(made.rows, made.fit.errors.each[1:], strict=True)
            ],
        },
    }  # fmt: skip


def _link_content(made: Calibration, name: str, link: Link) -> dict[str, float]:
    seconds, rate = made.alone(name)
    return {**asdict(link), "alone_latency": seconds, "alone_bandwidth": rate}


def errors_content(errors: Errors | None) -> dict[str, float] | None:
    """Median and worst."""
    return None if errors is None else {"median": errors.median, "worst": errors.worst}


def choices(found: Found) -> Iterator[dict[str, Any]]:
    """The best algorithm at each size, beside the model's choice."""
    where = topology(found.nodes, found.ranks)
    for placement, measured in found.choices.items():
        rows = found.rows[placement.collective]
        for each in measured:
            model = choose(placement.collective, found.ranks, each.nbytes, 0, where, False)
            taken = {row.contender: row.time_us for row in rows if row.size == each.nbytes}
            yield {
                "collective": placement.collective, "size": each.nbytes, "best": each.algorithm,
                "best_us": each.seconds * 1e6, "model": model, "model_us": taken[model],
            }  # fmt: skip
