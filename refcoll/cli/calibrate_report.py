"""What a calibration has found, for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from refcoll.cli.calibrate_found import Found, choices
from refcoll.cli.output import console, table
from refcoll.cli.units import said_bytes
from refcoll.planning.calibration import Calibration
from refcoll.planning.calibration_errors import Compared, summary, worst
from refcoll.planning.fitting import Errors
from refcoll.planning.machine import Machine
from refcoll.tuning import VARIABLE


def report(found: Found, save: Path, out: Path) -> None:
    """The machine, the errors, the best algorithms."""
    if found.machine is None or found.calibration is None:
        print(f"no machine is written: {found.refused}")
    else:
        _report_machine(found.machine, found.calibration, save)
    if found.compared:
        _report_errors(found.compared, 1 < len(found.nodes) < found.ranks)
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


def _report_errors(compared: Sequence[Compared], shared: bool) -> None:
    """Tables: algorithms by sizes; also the planner's where ranks share what leaves their node."""
    formulas, planned = summary(compared)
    far = worst(compared)
    print(
        f"\npredicted / measured - 1, by formula: {formulas} ({far.algorithm} {far.collective} of "
        f"{said_bytes(far.nbytes)})" + (f"; by refcoll plan: {planned}" if planned else "")
    )
    _error_table(compared, "of the formulas", lambda each: each.error)
    if shared:
        print("\nof a flat algorithm that is an upper bound: as if all ranks sent to other nodes")
        _error_table(compared, "of refcoll plan", lambda each: each.planner_error)


def _error_table(
    compared: Sequence[Compared], whose: str, error: Callable[[Compared], float | None]
) -> None:
    for collective in dict.fromkeys(each.collective for each in compared):
        by_name: dict[str, dict[int, float]] = {}
        for each in compared:
            if each.collective == collective and (found := error(each)) is not None:
                by_name.setdefault(each.algorithm, {})[each.nbytes] = found
        sizes = sorted({size for errors in by_name.values() for size in errors})
        rows = [
            [
                name, *(f"{errors[size]:+.0%}" if size in errors else "-" for size in sizes),
                f"{Errors(tuple(errors.values())).median:.0%}",
            ]
            for name, errors in by_name.items()
        ]  # fmt: skip
        header = ("algorithm", *map(said_bytes, sizes), "median")
        print()
        console().print(table(f"{collective}: errors {whose}", header, rows))


def _report_choices(found: Found, out: Path) -> None:
    header = ("collective", "size", "best", "us", "the model's choice", "us", "ratio")
    lines = [
        [
            each["collective"], str(each["size"]), each["best"], f"{each['best_us']:.2f}",
            each["model"], f"{each['model_us']:.2f}", f"{each['model_us'] / each['best_us']:.2f}",
        ]
        for each in choices(found)
    ]  # fmt: skip
    print()
    console().print(table(f"On {found.ranks} ranks", header, lines))
    print(f"\nwritten to {out}: use it by {VARIABLE}={out}, or connect(tuning=...)")


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.4g}"


def _rate(bandwidth: float) -> str:
    return f"{bandwidth / 1e9:.3g}"
