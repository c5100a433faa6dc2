"""refcoll calibrate --from-log: a machine from what others have measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from refcoll.cli.calibrate_found import errors_content
from refcoll.cli.output import console, table, write_json
from refcoll.cli.units import said_bytes
from refcoll.errors import ArgumentError
from refcoll.planning.files import write_machine
from refcoll.planning.logs import Given, Sample
from refcoll.planning.logs_fitting import Fitted, machine_from
from refcoll.planning.logs_reading import read_log
from refcoll.planning.tables import LIBRARY


def calibrate_from_logs(
    paths: Sequence[Path], collectives: Sequence[str], algorithm: str | None, ranks: int | None,
    nodes: int | None, rails: int | None, in_place: bool, save: Path, json: Path | None,
) -> None:  # fmt: skip
    """Read, fit, write the machine, and say how well it fits."""
    if len(collectives) > 1:
        raise ArgumentError(f"collective={list(collectives)}: of a log, say one at most")
    given = Given(collectives[0] if collectives else None, ranks, nodes)
    found = [sample for path in paths for sample in read_log(path, given)]
    samples = _chosen(found, given, in_place)
    made = machine_from(samples, algorithm, save.stem, rails or 1)
    assumed = algorithm is None and any(each.contender == LIBRARY for each in made.samples)
    write_machine(made.machine, save)
    if str(json) != "-":
        _report(made, assumed, save)
    write_json(json, _content(made, assumed, save))


def _chosen(found: Sequence[Sample], given: Given, in_place: bool) -> list[Sample]:
    """Of the collective asked for, and out of place or in place where both are told."""
    chosen = [
        each for each in found
        if given.collective in (None, each.collective) and each.in_place in (None, in_place)
    ]  # fmt: skip
    if not chosen:
        place = "in place" if in_place else "out of place"
        there = ", ".join(dict.fromkeys(each.collective for each in found))
        raise ArgumentError(
            f"from-log: of {there} nothing is left for collective={given.collective!r}, {place}"
        )
    for each in chosen:
        if each.ranks % each.nodes:
            raise ArgumentError(
                f"from-log: {each.where}: ranks={each.ranks} do not fill nodes={each.nodes}; say "
                "--ranks and --nodes"
            )
    return chosen


def _report(made: Fitted, assumed: bool, save: Path) -> None:
    machine, fit = made.machine, made.fit
    links = "; ".join(
        f"{name} {link.latency * 1e6:.4g} us, {link.bandwidth / 1e9:.4g} GB/s"
        for name, link in machine.links.items()
    )
    print(f"{machine.title}: {links}; overhead {machine.overhead * 1e6:.4g} us")
    print(f"  fit of {len(made.samples)} times: {fit.errors}")
    print(f"  every other size held out: {fit.held_out or 'too few sizes, or figures'}")
    if made.tables is not None:
        print(f"  measured tables, each inner size interpolated without itself: {made.tables}")
    if assumed:
        used = ", ".join(dict.fromkeys(made.algorithms))
        print(f"  {LIBRARY} is taken to have used {used}; say another by --algorithm")
    if fit.untold:
        print(f"  not told apart by these logs, and left out: {', '.join(fit.untold)}")
    _report_rows(made)
    print(f"\nwritten to {save}: plan by `refcoll plan --machine {save}`")


def _report_rows(made: Fitted) -> None:
    rows = [
        [
            each.collective, algorithm, f"{each.ranks} on {each.nodes}", said_bytes(each.nbytes),
            f"{each.seconds * 1e6:.4g}", f"{each.seconds * (1 + error) * 1e6:.4g}", f"{error:+.1%}",
        ]
        for each, algorithm, error in _lines(made)
    ]  # fmt: skip
    header = ("collective", "algorithm", "ranks on nodes", "size", "us", "fitted us", "error")
    print()
    console().print(table(None, header, rows))


def _lines(made: Fitted) -> list[tuple[Sample, str, float]]:
    return [*zip(made.samples, made.algorithms, made.fit.errors.each, strict=True)]


def _content(made: Fitted, assumed: bool, save: Path) -> dict[str, Any]:
    return {
        "machine_file": str(save), "figures": dict(made.fit.figures),
        "untold": list(made.fit.untold), "assumed": assumed,
        "fit_error": errors_content(made.fit.errors),
        "held_out_error": errors_content(made.fit.held_out),
        "table_error": errors_content(made.tables),
        "rows": [
            {
                "where": each.where, "collective": each.collective, "contender": each.contender,
                "algorithm": algorithm, "ranks": each.ranks, "nodes": each.nodes,
                "nbytes": each.nbytes, "seconds": each.seconds, "error": error,
            }
            for each, algorithm, error in _lines(made)
        ],
    }  # fmt: skip
