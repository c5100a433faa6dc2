"""What other libraries call the algorithms that add as refcoll's do.

A label says which messages are sent, and not which rank's value meets which first: "linear" runs
from the last rank down in Open MPI.  So this is no list of labels that sound alike, but of what
was seen with each of them forced, on 3, 5 and 7 ranks; docs/reveal.md has the commands.  Where
chunks are cut may differ.
"""

from __future__ import annotations

from collections.abc import Mapping

_MPICH_DOUBLING = (
    "recursive_doubling, recexch, reduce_scatter_allgather, k_reduce_scatter_allgather"
)
_DOUBLING = {"MPICH 5": _MPICH_DOUBLING, "Open MPI 5": "3 recursive_doubling, 6 rabenseifner"}

ADDS_ALIKE: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("all_reduce", "ring"): {"MPICH 5": "ring"},
    ("all_reduce", "recursive_doubling"): _DOUBLING,
    ("all_reduce", "rabenseifner"): _DOUBLING,
    ("reduce", "binomial"): {"MPICH 5": "binomial", "Open MPI 5": "5 binomial"},
    ("reduce", "chain"): {"Open MPI 5": "1 linear, 3 pipeline"},
    ("reduce_scatter", "pairwise"): {"MPICH 5": "pairwise"},
    ("reduce_scatter", "butterfly"): {"Open MPI 5": "4 butterfly"},
    ("reduce_scatter", "recursive_halving"): {
        "MPICH 5": "recursive_halving", "Open MPI 5": "3 recursive_halving",
    },
    ("scan", "linear"): {"Open MPI 5": "1 linear"},
    ("scan", "recursive_doubling"): {
        "MPICH 5": "recursive_doubling", "Open MPI 5": "2 recursive_doubling",
    },
    ("exscan", "linear"): {"Open MPI 5": "1 linear"},
    ("exscan", "recursive_doubling"): {
        "MPICH 5": "recursive_doubling", "Open MPI 5": "2 recursive_doubling",
    },
}  # fmt: skip
"""By collective and refcoll's name: by library, the algorithms that are forced by these names."""
