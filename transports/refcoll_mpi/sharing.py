"""What the processes of one node share: a window of lanes, and each one's heap.

The window comes from ``MPI_Win_allocate_shared``; both MPICH and Open MPI unlink what lies
behind it as soon as all have mapped it, so nothing is left after a crash.  It is made once
for the same processes, serves all communicators among them, and lives as long as they do.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from mpi4py import MPI

from refcoll.transport import Lent
from refcoll_mpi import heap
from refcoll_mpi.lanes import Fence, lane_bytes
from refcoll_mpi.receiving import Inlet
from refcoll_mpi.sending import Outlet
from refcoll_mpi.waiting import spare_cores, yield_core

BUDGET = 256 << 20
"""Bytes that a node's window may have: pages exist only where they are used."""
LARGEST, SMALLEST = 256 << 10, 4 << 10
"""Bytes of a lane's place: more than a cache holds is no gain, less not worth the trouble."""
_SHARED = "/dev/shm"
"""Where MPI libraries put windows on Linux."""
_ORDERED = ("x86_64", "AMD64", "i686", "i386")
"""Processors on which a write is seen after all earlier ones, and a read before later ones."""


class Segment:
    """One process's part of the window, as memory of lanes (``lanes.Memory``)."""

    def __init__(self, memory: Any) -> None:
        self.octets = memoryview(memory).cast("B")
        self.words = self.octets[: len(self.octets) // 8 * 8].cast("Q")

    def piece(self, start: int, nbytes: int) -> memoryview:
        """Some of its bytes."""
        return self.octets[start : start + nbytes]

    def array(self, start: int, nbytes: int, dtype: Any) -> Lent:
        """Some of its bytes as an array."""
        kept = np.dtype(dtype)
        return np.frombuffer(self.octets, kept, nbytes // kept.itemsize, start)


class Shared:
    """The window and the heaps, as one process sees them.  Made by all of ``local`` together."""

    def __init__(
        self, local: MPI.Intracomm, window: MPI.Win, place_bytes: int, fenced: bool
    ) -> None:
        self.rank, self.size, self.place_bytes = local.rank, local.size, place_bytes
        self._window = window
        self.fence: Fence = self._window.Sync if fenced else None
        self._segments = [Segment(self._window.Shared_query(r)[0]) for r in range(local.size)]
        self.outlets = {
            to: Outlet(*self._lane(self.rank, to), place_bytes, self.fence)
            for to in range(local.size)
            if to != self.rank
        }
        for outlet in self.outlets.values():
            outlet.clear()
        self.heap, self._heaps = _heaps(local)
        self.inlets = self._make_inlets()
        local.Barrier()

    def push(self) -> None:
        """Send what has been held back for want of room, and now has it."""
        for outlet in self.outlets.values():
            if outlet.held:
                outlet.push()

    def _make_inlets(self) -> dict[int, Inlet]:
        looks, pause = (200, None) if spare_cores(self.size) else (20, yield_core)
        return {
            source: Inlet(
                *self._lane(source, self.rank),
                self.place_bytes,
                self._heaps[source],
                self.fence,
                looks,
                pause,
            )
            for source in range(self.size)
            if source != self.rank
        }

    def _lane(self, source: int, to: int) -> tuple[Segment, int]:
        """Where the lane between two local ranks lies: memory, and start in it."""
        return self._segments[source], lane_bytes(self.place_bytes) * to


_made: dict[tuple[int, ...], Shared | None] = {}
"""By the processes' ranks in COMM_WORLD, in order."""


def shared(local: MPI.Intracomm, fenced: bool | None = None) -> tuple[Shared | None, Sequence[int]]:
    """What the processes of ``local``, which are all on one node, share, if they can share
    anything; and by local rank their numbers there.

    ``fenced`` asks for ``Win.Sync`` even where the processor does not need it.
    """
    places = range(local.size)
    if local.size == 1:
        return None, places
    if fenced is None:
        fenced = platform.machine() not in _ORDERED
    world = _world_ranks(local)
    if MPI.UNDEFINED in world:  # started later, by another job: not known by their numbers
        return _shared(local, fenced), places
    in_order = sorted(world)
    known = (*in_order, int(fenced))
    if known not in _made:
        by_rank = cast(MPI.Intracomm, local.Split(0, world[local.rank]))
        _made[known] = _shared(by_rank, fenced)
        by_rank.Free()
    return _made[known], [in_order.index(rank) for rank in world]


def _shared(local: MPI.Intracomm, fenced: bool) -> Shared | None:
    place_bytes: int = local.allreduce(_place_bytes(local.size), MPI.MIN)
    window = None if place_bytes < SMALLEST else _window(local, place_bytes)
    if not local.allreduce(window is not None, MPI.LAND) or window is None:
        return None
    return Shared(local, window, place_bytes, fenced)


def _world_ranks(local: MPI.Intracomm) -> list[int]:
    mine, world = local.Get_group(), MPI.COMM_WORLD.Get_group()
    ranks = mine.Translate_ranks(None, world)
    mine.Free()
    world.Free()
    return list(ranks)


def _place_bytes(processes: int) -> int:
    """Bytes of a lane's place, a power of two, so that all lanes fit into what is free."""
    room = BUDGET
    if os.path.isdir(_SHARED):
        found = os.statvfs(_SHARED)
        room = min(room, found.f_bavail * found.f_frsize // 4)
    place = LARGEST
    while place and lane_bytes(place) * processes**2 > room:
        place //= 2
    return place


def _window(local: MPI.Intracomm, place_bytes: int) -> MPI.Win | None:
    """The window; None where MPI has none to give."""
    info = MPI.Info.Create()
    info.Set("alloc_shared_noncontig", "true")  # parts may then start on pages of their own
    try:
        nbytes = lane_bytes(place_bytes) * local.size
        window = MPI.Win.Allocate_shared(nbytes, 1, info, local)
    except MPI.Exception:
        return None
    finally:
        info.Free()
    window.Lock_all(MPI.MODE_NOCHECK)  # MPI allows Win.Sync only in an epoch
    return window


def _heaps(local: MPI.Intracomm) -> tuple[heap.Heap | None, list[heap.Mapped | None]]:
    """This process's heap and, by local rank, all heaps; none unless all can map all."""
    mine = heap.own(local.size)
    address = (os.getpid(), mine.file, mine.token) if mine else None
    found = [each and heap.other(*each) for each in local.allgather(address)]
    if not all(local.allgather(all(found))):
        if not any(each and each.heap for each in _made.values()):
            heap.forget()
        return None, [None] * local.size
    return mine, found
