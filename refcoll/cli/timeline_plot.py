"""Pictures of predicted steps: a sweep's curve, and a waterfall."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from typing import Any

from refcoll.cli.timeline_report import all_of, said
from refcoll.errors import ArgumentError
from refcoll.planning.timeline_sweeps import Sweep


def draw_sweep(path: Path, name: str, made: Sweep) -> None:
    """Time for each micro-batch against the value, computing below, the optimum marked."""
    figure, axes = _figure()
    times = [each.per_micro_batch * 1e3 for _, each in made.points]
    floor = [each.training.compute / each.training.accumulate * 1e3 for _, each in made.points]
    if made.kind == "algorithm":
        _bars(axes, made, times, floor[0])
    else:
        _curve(axes, made, times, floor)
    axes.set_title(name, fontsize=9)
    _save(figure, path)


def _curve(axes: Any, made: Sweep, times: Sequence[float], floor: Sequence[float]) -> None:
    values: list[Any] = [value for value, _ in made.points]
    best = made.best[0], times[values.index(made.best[0])]
    axes.plot(values, times, marker="o", markersize=4, label="step")
    axes.plot(values, floor, linestyle=":", color="0.4", label="computing alone")
    axes.plot(made.equals, [best[1]] * len(made.equals), "o", color=_RED, markersize=9)
    axes.annotate(
        f"{all_of(made.equals, made.unit)}\n{best[1]:.4g} ms", best,
        textcoords="offset points", xytext=(0, 14), ha="center", color=_RED,
    )  # fmt: skip
    axes.set_xscale("log")
    apart = [here for here, after in pairwise(values) if after > _APART * here]
    axes.set_xticks([*apart, values[-1]], [said(value) for value in (*apart, values[-1])])
    axes.set_xticks([], minor=True)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"{made.kind}, {made.unit}")
    axes.set_ylabel("ms for each micro-batch")
    axes.grid(alpha=0.3)
    axes.legend()


def _bars(axes: Any, made: Sweep, times: Sequence[float], floor: float) -> None:
    names = [str(value) for value, _ in made.points]
    order = sorted(range(len(names)), key=lambda place: times[place])
    colors = [_RED if names[place] in made.equals else _BLUE for place in order]
    axes.barh([names[place] for place in order], [times[place] for place in order], color=colors)
    axes.axvline(floor, linestyle=":", color="0.2", label="computing alone")
    axes.set_xscale("log")
    axes.invert_yaxis()
    axes.set_xlabel("ms for each micro-batch")
    axes.legend()


def draw_waterfall(
    path: Path, title: str, steps: Sequence[tuple[str, float]], changes: Sequence[tuple[str, float]]
) -> None:
    """Scalings from the ideal down, cause by cause, then up again, change by change.

    ``steps`` and ``changes`` name what is done, and the scaling that is reached with it; the
    first step is the ideal.
    """
    points = [*steps, ("predicted", steps[-1][1]), *changes]
    if changes:
        points.append(("all changes", changes[-1][1]))
    figure, axes = _figure()
    befores = [0.0, *(value for _, value in points[:-1])]
    for place, (before, (name, value)) in enumerate(zip(befores, points, strict=True)):
        whole = not place or name in ("predicted", "all changes")
        low, high = (0.0, value) if whole else sorted((before, value))
        color = _BLUE if whole else _RED if value < before else _GREEN
        axes.bar(place, high - low, bottom=low, color=color)
        falls = value < before
        axes.annotate(
            f"{value:.2f}", (place, value), textcoords="offset points", fontsize=8,
            xytext=(0, -3 if falls else 3), ha="center", va="top" if falls else "bottom",
        )  # fmt: skip
    names = [fill(name, 13, break_on_hyphens=False) for name, _ in points]
    axes.set_xticks(range(len(names)), names, fontsize=8)
    axes.set_ylabel("times one node")
    axes.set_title(title, fontsize=9)
    _save(figure, path)


_APART = 1.5
"""How many times as large the next value on the axis must be to leave room for a label."""
_RED, _GREEN, _BLUE = "#c44e52", "#55a868", "#4c72b0"


def _figure() -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(10, 5.5), layout="constrained")


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot

    try:
        figure.savefig(path, dpi=130)
    except (OSError, ValueError) as error:
        raise ArgumentError(f"plot={str(path)!r} cannot be written: {error}") from error
    pyplot.close(figure)
