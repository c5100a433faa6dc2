"""Bus bandwidth per algorithm bandwidth, of every collective that nccl-tests times."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from refcoll.benchmarking import BUS_FACTORS

BUS: Mapping[str, Callable[[int], float]] = {
    **BUS_FACTORS,
    "reduce": lambda n: 1.0,
    **dict.fromkeys(("gather", "scatter", "all_to_all"), lambda n: (n - 1) / n),
}
"""As a function of ranks (nccl-tests: doc/PERFORMANCE.md, src/gather.cu and src/scatter.cu)."""
