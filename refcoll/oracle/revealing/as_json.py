"""What was revealed, for machines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from refcoll.oracle.revealing.report import verdict
from refcoll.oracle.revealing.reveal import AtSize, Revelation


def as_json(found: Revelation) -> dict[str, Any]:
    """Keys are listed in docs/json.md."""
    return {
        "holds": found.holds,
        "verdict": verdict(found),
        "implementation": found.implementation,
        "ranks": found.size,
        "collective": found.at[0].call.collective,
        "dtype": found.at[0].call.dtype,
        "changes": [each.last for each in found.changes],
        "sizes": [_at_size(each) for each in found.at],
    }


def _at_size(at: AtSize) -> dict[str, Any]:
    return {
        "count": at.call.count,
        "calls": at.calls,
        "orders": {
            str(rank): [
                {
                    "start": each.start,
                    "stop": each.stop,
                    "tree": None if each.tree is None else str(each.tree),
                    "why_none": each.said,
                }
                for each in stretches
            ]
            for rank, stretches in at.orders.items()
        },
        "depends_on": list(at.unstable),
        "depends_on_element": at.by_element,
        "depends_on_rank": at.by_rank,
        "names": [
            {
                "name": each.said, "how": each.how, "in_words": each.words,
                "relabelled": _listed(each.agreement.relabelled),
                "turned": _listed(each.agreement.turned),
                "adds_alike": dict(each.adds_alike),
            }
            for each in at.names
        ],
        "precision": at.arithmetic,
        "prediction": asdict(at.prediction),
    }  # fmt: skip


def _listed(order: tuple[int, ...] | None) -> list[int] | None:
    return None if order is None else list(order)
