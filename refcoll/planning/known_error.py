"""How far off the model was where others have measured: what belongs beside a prediction."""

from __future__ import annotations

from functools import cache

from refcoll.planning.published import published
from refcoll.planning.validation import Group, groups, validated
from refcoll.planning.validation_collectives import collectives, size_class


@cache
def error_of_collective(collective: str, sizes: str) -> Group | None:
    """Published times of vectors of that ``size_class``; None where nothing is compared."""
    rows = [
        row for row in published(subject=collective)
        if row.bytes is not None and size_class(row.bytes) == sizes
    ]  # fmt: skip
    return next(iter(groups(list(collectives(rows)))), None)


@cache
def error_of_training() -> Group:
    """All published figures of steps, scaling and buckets that the model has not seen."""
    seen = [each for each in groups(validated()) if not each.title.startswith("all-reduce")]
    return Group("training", tuple(row for each in seen for row in each.rows))
