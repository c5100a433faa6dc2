"""How fast it is meant to be: time divided by a peer's time in the same run.

A goal speaks of ``plan.run`` with algorithm "auto", float32 sum, within one node whose cores
the ranks do not outnumber; of private arrays, or of arrays from ``comm.empty``.  One table
speaks of shared memory, the other of MPI messages alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from refcoll.benchmarking import Timing

PRIVATE, EMPTY = "auto", "auto, comm.empty"
"""The contenders that goals are for."""
PERSISTENT = "persistent"
"""The MPI library's collective, prepared once: it keeps memory that it would fault in anew."""


@dataclass(frozen=True)
class Goal:
    """``contender`` is to take at most ``most`` times the time of ``peer``."""

    collective: str
    first: int
    last: int
    """For sizes in bytes from first to last."""
    contender: str
    peer: str
    most: float


@dataclass(frozen=True)
class Standing:
    """Where a goal stands at one size."""

    goal: Goal
    size: int
    in_place: bool
    ratio: float

    @property
    def met(self) -> bool:
        """Whether it is reached."""
        return self.ratio <= self.goal.most


_KIB, _MIB = 1 << 10, 1 << 20
_RANGES = {
    "1 KB": (1, _KIB),
    "16 KB": (15 * _KIB, 20 * _KIB),
    "64-256 KB": (62 * _KIB, 260 * _KIB),
    "1 MB": (950 * _KIB, 1100 * _KIB),
    "16 MB": (15 * _MIB, 18 * _MIB),
    "64 MB": (60 * _MIB, 70 * _MIB),
}
_TABLE: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    # time / MPICH's, Open MPI's, Gloo's: private arrays, then arrays from comm.empty
    "1 KB": {"MPICH": (0.7,), "Open MPI": (1.3,), "gloo": (0.05,)},
    "16 KB": {"MPICH": (0.5,), "Open MPI": (0.6,), "gloo": (0.05,)},
    "64-256 KB": {"MPICH": (0.6, 0.35), "Open MPI": (0.7, 0.4), "gloo": (0.15,)},
    "1 MB": {"MPICH": (0.5, 0.35), "Open MPI": (0.65, 0.4), "gloo": (0.3,)},
    "16 MB": {"MPICH": (0.85, 0.4), "Open MPI": (0.85, 0.45), "gloo": (0.4,)},
    "64 MB": {"MPICH": (0.45, 0.2), "Open MPI": (0.45, 0.2), "gloo": (0.4,)},
}
_LARGE = 256 << 20


def goals(collective: str, library: str, shared_memory: bool) -> Iterator[Goal]:
    """The goals beside that MPI library ("MPICH", "Open MPI", or another, of which there are
    none) and beside Gloo."""
    if not shared_memory:
        if collective == "all_reduce":
            for peer, small in (("MPICH", 1.0), ("Open MPI", 1.8)):
                if peer == library:
                    yield Goal(collective, *_RANGES["1 KB"], PRIVATE, "MPI", small)
                    yield Goal(collective, 250 * _KIB, _LARGE, PRIVATE, "MPI", 1.0)
        return
    if collective != "all_reduce":
        yield Goal(collective, 62 * _KIB, _LARGE, PRIVATE, "MPI", 1.0)
        return
    for name, peers in _TABLE.items():
        for peer, most in peers.items():
            if peer in (library, "gloo"):
                said = "MPI" if peer == library else peer
                for contender, ratio in zip((PRIVATE, EMPTY), most, strict=False):
                    yield Goal(collective, *_RANGES[name], contender, said, ratio)
    yield Goal(collective, *_RANGES["64 MB"], PRIVATE, PERSISTENT, 0.85)


def standings(wanted: Iterable[Goal], rows: Sequence[Timing]) -> list[Standing]:
    """Where the goals stand, by the rows that are there; the rest is left out."""
    return [
        Standing(goal, row.size, row.in_place, row.ratios[goal.peer])
        for goal in wanted
        for row in rows
        if goal.first <= row.size <= goal.last
        and row.contender == goal.contender
        and goal.peer in row.ratios
    ]
