"""The last step of all ranks as a picture: what ran when, and what was exposed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from refcoll.dataparallel.timeline import Timeline


def draw_steps(path: Path, title: str, timelines: Sequence[Timeline]) -> None:
    """Two bars a rank: backward and waiting above, the buckets' reductions below.

    Exposed parts are red.  Milliseconds since the first rank began.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.patches import Patch

    begin = min(each.begin for each in timelines)
    whole = max(each.wait_end for each in timelines) - begin
    figure, axes = pyplot.subplots(figsize=(10, 1.5 + 0.8 * len(timelines)), layout="constrained")
    for each in timelines:
        _draw_rank(axes, each, begin, _NARROW * whole)
    axes.set_yticks([each.rank for each in timelines], [f"rank {each.rank}" for each in timelines])
    axes.invert_yaxis()
    axes.set_xlabel("ms")
    axes.set_title(title)
    axes.legend(
        handles=[Patch(color=_COLORS[name], label=label) for name, label in _LABELS.items()],
        loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False,
    )  # fmt: skip
    figure.savefig(path)
    pyplot.close(figure)


def _draw_rank(axes: Any, timeline: Timeline, zero: float, narrow: float) -> None:
    """Its bars; buckets' numbers where they take more than ``narrow`` seconds."""

    def bar(row: float, start: float, end: float, color: str, text: str = "") -> None:
        left, width = (start - zero) * 1e3, (end - start) * 1e3
        axes.barh(row, width, left=left, height=0.36, color=color, edgecolor="white")
        if text and end - start > narrow:
            axes.text(left + width / 2, row, text, ha="center", va="center", fontsize=7)

    above, below = timeline.rank - 0.2, timeline.rank + 0.2
    bar(above, timeline.begin, timeline.backward_end, _COLORS["backward"])
    bar(above, timeline.wait_begin, timeline.wait_end, _COLORS["waiting"])
    for bucket in timeline.buckets:
        hidden = min(max(bucket.start, timeline.backward_end), bucket.end)
        bar(below, bucket.start, hidden, _COLORS["hidden"])
        bar(below, hidden, bucket.end, _COLORS["exposed"])
        bar(below, bucket.start, bucket.end, "none", str(bucket.index))


_NARROW = 0.012
"""Of the picture's width: a bar that cannot hold its number."""

_LABELS = {
    "backward": "backward",
    "waiting": "waiting for buckets",
    "hidden": "reduction, hidden",
    "exposed": "reduction, exposed",
}
_COLORS = {
    "backward": "#4c72b0",
    "waiting": "#c7c7c7",
    "hidden": "#55a868",
    "exposed": "#c44e52",
}
