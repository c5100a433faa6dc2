"""Is there room for what `refcoll bench` and `refcoll calibrate` time?"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from refcoll.cli.units import said_bytes
from refcoll.communicator import Communicator
from refcoll.errors import ArgumentError

_ARRAYS = 8
"""Vectors of the whole size that a rank holds at least, when the second of two cases is made: a
result and what it must be, and integers of twice the length from which an input is drawn."""
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def require_memory(comm: Communicator, nbytes: int) -> None:
    """Raise ArgumentError, alike on every rank, where a node has no room for vectors of so many
    bytes on each of its ranks.  Called by all ranks."""
    free = comm.all_gather(np.array([free_memory()], np.float64))
    for node in comm.nodes:
        needed, there = _ARRAYS * nbytes * len(node), float(free[list(node)].min())
        if needed > there:
            refused = ArgumentError(
                f"sizes={said_bytes(nbytes)}: each rank needs at least {_ARRAYS} vectors, those on "
                f"the node of rank {node[0]} {said_bytes(needed)} in all, and it has "
                f"{said_bytes(there)} free: use smaller sizes, or fewer ranks on a node"
            )
            refused.poisons = False  # all ranks say so
            raise refused


def free_memory() -> int:
    """Bytes that processes here may still take: no more than the machine has free, and than a
    container's limit (of which some may be taken)."""
    limits = [_first_number(Path(name)) for name in _LIMITS]
    return min([_available(), *(each for each in limits if each is not None)])


def _available() -> int:
    """What Linux says is available; elsewhere all that the machine has."""
    meminfo = Path("/proc/meminfo")
    lines = meminfo.read_text().splitlines() if meminfo.exists() else []
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    return found[0] if found else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _first_number(path: Path) -> int | None:
    """What stands in a file of one number; None for "max", or where there is no such file."""
    text = path.read_text().strip() if path.exists() else ""
    return int(text) if text.isdecimal() else None
