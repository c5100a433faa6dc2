"""The last step of all ranks as a picture: what ran when, and what was exposed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from refcoll.dataparallel.timeline import Timeline


def draw_steps(path: Path, title: str, timelines: Sequence[Timeline]) -> None:
    """Two bars a rank: backward and waiting above, the buckets' reductions below.

    Exposed parts are red.  Milliseconds since the first rank began.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.patches import Patch

    zero = min(each.begin for each in timelines)
    figure, axes = pyplot.subplots(figsize=(10, 1.5 + 0.8 * len(timelines)), layout="constrained")

    def bar(row: float, start: float, end: float, color: str, text: str = "") -> None:
        left, width = (start - zero) * 1e3, (end - start) * 1e3
        axes.barh(row, width, left=left, height=0.36, color=color, edgecolor="white")
        if text:
            axes.text(left + width / 2, row, text, ha="center", va="center", fontsize=7)

    for each in timelines:
        bar(each.rank - 0.2, each.begin, each.backward_end, _COLORS["backward"])
        bar(each.rank - 0.2, each.wait_begin, each.wait_end, _COLORS["waiting"])
        for bucket in each.buckets:
            hidden = min(max(bucket.start, each.backward_end), bucket.end)
            bar(each.rank + 0.2, bucket.start, hidden, _COLORS["hidden"])
            bar(each.rank + 0.2, hidden, bucket.end, _COLORS["exposed"])
            bar(each.rank + 0.2, bucket.start, bucket.end, "none", str(bucket.index))
    axes.set_yticks([each.rank for each in timelines], [f"rank {each.rank}" for each in timelines])
    axes.invert_yaxis()
    axes.set_xlabel("ms")
    axes.set_title(title)
    axes.legend(
        handles=[Patch(color=color, label=name) for name, color in _COLORS.items()],
        loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False,
    )  # fmt: skip
    figure.savefig(path)
    pyplot.close(figure)


_COLORS = {
    "backward": "#4c72b0",
    "waiting": "#c7c7c7",
    "hidden": "#55a868",
    "exposed": "#c44e52",
}
