"""Which device each rank takes: by its number among the ranks of its node."""

from __future__ import annotations

from collections.abc import Sequence

from refcoll_cupy.runtime import Runtime
from refcoll_mpi.driver import MPI


def device_for(runtime: Runtime, rank: int, nodes: Sequence[Sequence[int]]) -> int:
    """The rank's own where its node has as many devices as ranks, else one that it shares.

    Raises ArgumentError where there is no device.
    """
    here = next(node for node in nodes if rank in node)
    return here.index(rank) % runtime.devices()


def where(runtime: Runtime, device: int) -> tuple[str, str]:
    """Which machine and which of its devices that is, as its driver names it: what number 0 is
    depends on the process."""
    return MPI.Get_processor_name(), runtime.identity(device)


def sharing(places: Sequence[tuple[str, str]]) -> list[list[int]]:
    """Which ranks have one device between them; ``places`` has where each is."""
    groups = [[r for r, each in enumerate(places) if each == one] for one in sorted(set(places))]
    return sorted(group for group in groups if len(group) > 1)


def told(groups: Sequence[Sequence[int]]) -> str:
    """The same in words; empty where each rank has a device of its own."""
    shared = (f"ranks {', '.join(map(str, group))}" for group in groups)
    return "; ".join(f"{each} share one device, and take turns on it" for each in shared)
