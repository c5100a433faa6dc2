"""What a calibration has found, for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from refcoll.benchmarking import Timing
from refcoll.choosing import choose
from refcoll.cli.output import console, table
from refcoll.cli.units import said_bytes
from refcoll.planning.calibration import Calibration
from refcoll.planning.calibration_errors import Compared, summary, worst
from refcoll.planning.fitting import Errors
from refcoll.planning.machine import Machine
from refcoll.topology import Nodes, topology
from refcoll.tuning import VARIABLE, Best, Placement


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


def report(found: Found, save: Path, out: Path) -> None:
    """The machine, the errors, the best algorithms."""
    if found.machine is None or found.calibration is None:
        print(f"no machine is written: {found.refused}")
    else:
        _report_machine(found.machine, found.calibration, save)
    if found.compared:
        _report_errors(found.compared)
    if found.choices:
        _report_choices(found, out)
    if found.untimed:
        last = ", ".join(f"{name} of {said_bytes(size)}" for name, size in found.untimed)
        print(f"\nno time was left for {last}: allow more by --time")


def _report_machine(machine: Machine, calibration: Calibration, save: Path) -> None:
    print(f"{machine.title}, written to {save}: plan by `refcoll plan --machine {save}`\n")
    rows = []
    for link, figures in machine.links.items():
        seconds, rate = calibration.alone(link)
        both = [_us(seconds), _rate(rate), _us(figures.latency), _rate(figures.rate)]
        rows.append([link, *both, _us(figures.gap)])
    header = ("link", "alone: us", "GB/s", "all together: us", "GB/s", "gap us")
    console().print(table("Links", header, rows))
    merge = machine.reduce_bandwidth
    hides = f"takes 1 s per {said_bytes(merge)} more" if merge else "hides behind receiving"
    print(
        f"\ncall {_us(machine.overhead)} us, without a plan {_us(calibration.one_off)} us more; "
        f"merging {hides}\nfit of {len(calibration.rows)} times: {calibration.fit.errors}; sizes "
        f"held out: {calibration.fit.held_out or 'too few'}\n"
    )
    cells: dict[str, dict[str, str]] = {}
    for each in calibration.merging:
        cells.setdefault(each.op, {})[each.dtype] = _rate(each.bandwidth)
    dtypes = list(dict.fromkeys(each.dtype for each in calibration.merging))
    lines = [[op, *(by.get(dtype, "-") for dtype in dtypes)] for op, by in cells.items()]
    console().print(table("Merging by numpy, one rank, GB/s", ("op", *dtypes), lines))


def _report_errors(compared: Sequence[Compared]) -> None:
    """A table a collective: algorithms by sizes."""
    formulas, planned = summary(compared)
    far = worst(compared)
    print(
        f"\npredicted / measured - 1, by formula: {formulas} ({far.algorithm} {far.collective} of "
        f"{said_bytes(far.nbytes)})" + (f"; by refcoll plan: {planned}" if planned else "")
    )
    for collective in dict.fromkeys(each.collective for each in compared):
        mine = [each for each in compared if each.collective == collective]
        sizes = sorted({each.nbytes for each in mine})
        rows = [[*row] for row in _error_rows(mine, sizes)]
        print()
        console().print(table(f"{collective}: errors of the formulas",
                              ("algorithm", *map(said_bytes, sizes), "median"), rows))  # fmt: skip


def _error_rows(compared: Sequence[Compared], sizes: Sequence[int]) -> Iterator[list[str]]:
    for name in dict.fromkeys(each.algorithm for each in compared):
        errors = {each.nbytes: each.error for each in compared if each.algorithm == name}
        middle = Errors(tuple(errors.values())).median
        cells = [f"{errors[size]:+.0%}" if size in errors else "-" for size in sizes]
        yield [name, *cells, f"{middle:.0%}"]


def _report_choices(found: Found, out: Path) -> None:
    header = ("collective", "size", "best", "us", "the model's choice", "us", "ratio")
    lines = [
        [
            each["collective"], str(each["size"]), each["best"], f"{each['best_us']:.2f}",
            each["model"], f"{each['model_us']:.2f}", f"{each['model_us'] / each['best_us']:.2f}",
        ]
        for each in _choices(found)
    ]  # fmt: skip
    print()
    console().print(table(f"On {found.ranks} ranks", header, lines))
    print(f"\nwritten to {out}: use it by {VARIABLE}={out}, or connect(tuning=...)")


def content(found: Found, save: Path, out: Path) -> dict[str, Any]:
    """All of it, as JSON."""
    errors = summary(found.compared) if found.compared else (None, None)
    return {
        "ranks_on_nodes": [len(node) for node in found.nodes], "file": str(out),
        "machine_file": str(save) if found.machine else None, "refused": found.refused or None,
        "machine": _machine_content(found),
        "choices": list(_choices(found)),
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
        "links": {
            link: {
                **asdict(each), "alone_latency": made.alone(link)[0],
                "alone_bandwidth": made.alone(link)[1],
            }
            for link, each in machine.links.items()
        },
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


def errors_content(errors: Errors | None) -> dict[str, float] | None:
    """Median and worst."""
    return None if errors is None else {"median": errors.median, "worst": errors.worst}


def _choices(found: Found) -> Iterator[dict[str, Any]]:
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


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.4g}"


def _rate(bandwidth: float) -> str:
    return f"{bandwidth / 1e9:.3g}"
