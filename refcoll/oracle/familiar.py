"""Algorithms that everybody has, by refcoll's names, the best known first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

FAMILIAR: Mapping[str, Sequence[str]] = {
    "all_reduce": ("ring", "recursive_doubling", "rabenseifner", "binomial", "linear"),
    "reduce_scatter": ("ring", "recursive_halving", "pairwise"),
    "reduce": ("binomial", "linear", "chain", "binary_tree"),
    "scan": ("linear", "recursive_doubling"),
    "exscan": ("linear", "recursive_doubling"),
}
"""By collective."""
