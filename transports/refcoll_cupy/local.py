"""Ranks that are threads of one process, each with a stream of its own, on one or more devices."""

from __future__ import annotations

from refcoll_cupy.arrays import DeviceArrays
from refcoll_cupy.devices import CupyRuntime


def arrays(rank: int) -> DeviceArrays:
    """What rank ``rank`` works on: devices are taken in turn.

    Raises ArgumentError where there is no device.
    """
    runtime = CupyRuntime()
    return DeviceArrays(runtime, rank % runtime.devices())
