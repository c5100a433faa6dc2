"""What bench has measured, for people: tables, goals, the machine, a picture."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from refcoll.benchmarking import Timing
from refcoll.cli.output import console, require_writable, table
from refcoll.cli.units import said_bytes
from refcoll.errors import ArgumentError
from refcoll.goals import Standing

_COLUMNS = (
    "size", "count", "type", "redop", "root", "place", "time", "algbw", "busbw", "#wrong",
)  # fmt: skip


def machine() -> dict[str, Any]:
    """What a time depends on, besides refcoll: noted with every run."""
    pages = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "processor": _processor(),
        "cores": cores,
        "load": os.getloadavg()[0],
        "huge_pages": pages.read_text().strip() if pages.exists() else None,
        "malloc": os.environ.get("GLIBC_TUNABLES"),
        "python": platform.python_version(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def report(rows: Sequence[Timing], peers: Sequence[str]) -> None:
    """A table for each contender."""
    header = [*_COLUMNS, *(f"/ {peer}" for peer in peers)]
    for name in dict.fromkeys(row.contender for row in rows):
        cells = [_cells(row, peers) for row in rows if row.contender == name]
        print()
        console().print(table(f"# {name}", header, cells))
    print("\n/ peer: time divided by the peer's in the same run; below 1 refcoll is faster")


def _cells(row: Timing, peers: Sequence[str]) -> list[str]:
    return [
        str(row.size), str(row.count), row.type, row.redop, str(row.root),
        "in" if row.in_place else "out", f"{row.time_us:.2f}", f"{row.algbw:.3f}",
        f"{row.busbw:.3f}", "-" if row.wrong is None else str(row.wrong),
        *(f"{row.ratios[peer]:.2f}" if peer in row.ratios else "-" for peer in peers),
    ]  # fmt: skip


def report_goals(standings: Sequence[Standing]) -> None:
    """Ratio and goal side by side."""
    if not standings:
        return
    cells = [
        [
            said_bytes(each.size), "in" if each.in_place else "out", each.goal.contender,
            f"{each.ratio:.2f}", f"{each.goal.most:.2f}", each.goal.peer,
            "met" if each.met else f"missed by {each.ratio / each.goal.most - 1:.0%}",
        ]
        for each in standings
    ]  # fmt: skip
    header = ("size", "place", "contender", "ratio", "goal", "peer", "")
    print()
    console().print(table("Goals", header, cells))


def require_drawable(path: Path) -> None:
    """Raise ArgumentError, before anything is timed, where ``draw`` could not draw."""
    require_writable(path, "plot")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ArgumentError(f"plot: {error}; pip install 'refcoll[plot]'") from error
    kinds = Figure().canvas.get_supported_filetypes()
    if path.suffix.removeprefix(".") not in kinds:
        raise ArgumentError(f"plot={str(path)!r} must end in one of {', '.join(sorted(kinds))}")


def draw(path: Path, title: str, rows: Sequence[Timing]) -> None:
    """Time and bandwidth against size, all contenders and limits in one picture.

    In place where that was timed.  Raises ArgumentError where the file cannot be written.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 5.5), layout="constrained")
    places = {row.in_place for row in rows}
    for name in dict.fromkeys(row.contender for row in rows):
        mine = [row for row in rows if row.contender == name and row.in_place == max(places)]
        limit = all(row.wrong is None for row in mine)
        style: dict[str, Any] = {"linestyle": ":" if limit else "-", "label": name}
        style |= {"color": "0.5"} if limit else {"marker": "o", "markersize": 4}
        if name == "add":
            style["linestyle"] = "--"
        sizes = [row.size for row in mine]
        left.plot(sizes, [row.time_us for row in mine], **style)
        right.plot(sizes, [row.algbw for row in mine], **style)
    for axes, said in ((left, "time, us"), (right, "size / time, GB/s")):
        axes.set_xscale("log", base=2)
        axes.set_xlabel("size, bytes")
        axes.set_ylabel(said)
        axes.grid(alpha=0.3)
    left.set_yscale("log")
    right.set_yscale("log")
    left.legend()
    figure.suptitle(f"{title}, {'in place' if max(places) else 'out of place'}")
    try:
        figure.savefig(path, dpi=130)
    except (OSError, ValueError) as error:
        raise ArgumentError(f"plot={str(path)!r} cannot be written: {error}") from error
    pyplot.close(figure)
