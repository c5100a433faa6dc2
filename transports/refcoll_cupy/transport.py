"""refcoll's transport contract over device memory: MPI carries it, a runtime drives the device.

Handshakes, and all that is told of failures, go over ``refcoll_mpi`` in host memory; only
what is on a device goes this package's ways.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from refcoll.transport import (
    ArgumentError,
    Bytes,
    Exchange,
    Incoming,
    Outgoing,
    RefcollError,
    Transport,
    described,
)
from refcoll_cupy import accepting, exchange, modes, placing
from refcoll_cupy.arrays import DeviceArrays
from refcoll_cupy.direct import Direct
from refcoll_cupy.runtime import Runtime, Stream
from refcoll_cupy.staged import Staged
from refcoll_cupy.ways import Way
from refcoll_mpi import MPITransport
from refcoll_mpi import connect as connect_host
from refcoll_mpi.driver import MPI

HANDSHAKE = 0
"""The channel whose messages lie in host memory."""
SEGMENT_BYTES = 64 << 20
"""Longer messages come in parts of this size, so that merging one overlaps with the next.  Not
measured."""


def connect(
    comm: MPI.Intracomm | None,
    mode: str,
    cuda_aware: bool,
    stream: Stream | None,
    runtime: Runtime | None,
    unknown: Mapping[str, object],
) -> CupyTransport:
    """This process's end of ``comm``.  Collective over it.

    ``mode`` is "auto", "direct" or "staged" (see ``modes``).  Every call follows what ``stream``
    holds; by default, what the stream holds that is current at that call: ``with stream:`` around
    a call names one for it alone.  ``runtime`` is CuPy's unless it is given.  The rank's device
    becomes the thread's current one.
    Raises ArgumentError on every rank where one of them has no device, or has an option wrong
    or ``unknown``; warns where ranks share a device.
    """
    host = connect_host(comm)
    made, said = _attempted(lambda: _made(host, mode, cuda_aware, stream, runtime, unknown))
    heard = host.comm.allgather(said)
    try:
        _require_same(heard)
    except ArgumentError:
        host.close()
        raise
    assert made is not None
    made.arrays.attach()
    made.sharing = placing.sharing([each.where for each in heard])
    if made.sharing and made.rank == made.sharing[0][0]:
        warnings.warn(placing.told(made.sharing), RuntimeWarning, stacklevel=3)
    return made


@dataclass(frozen=True)
class _Said:
    """What a rank tells the others when it connects."""

    wrong: str = ""
    way: str = ""
    where: tuple[str, str] = ("", "")


def _attempted(make: Callable[[], CupyTransport]) -> tuple[CupyTransport | None, _Said]:
    """A rank's end, and what it tells the others: also what goes wrong, or they would wait."""
    try:
        made = make()
        where = placing.where(made.arrays.runtime, made.arrays.device)
        return made, _Said(way=made.mode.name, where=where)
    except RefcollError as error:
        return None, _Said(wrong=str(error))
    except Exception as error:  # CUDA's own
        return None, _Said(wrong=described(error))


def _made(
    host: MPITransport,
    mode: str,
    cuda_aware: bool,
    stream: Stream | None,
    runtime: Runtime | None,
    unknown: Mapping[str, object],
) -> CupyTransport:
    if unknown:
        names = ", ".join(unknown)
        raise ArgumentError(f"{names} is no option: there are comm, mode, cuda_aware and stream")
    runtime = runtime or _cupy()
    found = modes.chosen(mode, cuda_aware, modes.answers(host.comm))
    device = placing.device_for(runtime, host.rank, host.nodes)
    accepting.require_stream(stream, device)
    arrays = DeviceArrays(runtime, device, stream, across_processes=found.name == "direct")
    arrays.scratch(1)  # what the allocator gives is refused here, before there are messages
    return CupyTransport(host, arrays, found)


def _cupy() -> Runtime:
    from refcoll_cupy.devices import CupyRuntime

    return CupyRuntime()


def _require_same(heard: Sequence[_Said]) -> None:
    wrong = {f"on rank {rank}": each.wrong for rank, each in enumerate(heard) if each.wrong}
    if len(wrong) == len(heard) > 1 and len(set(wrong.values())) == 1:
        wrong = {"on every rank": heard[0].wrong}
    if wrong:
        told = "; ".join(f"{where}: {each}" for where, each in wrong.items())
        raise ArgumentError(f"transport='cupy' {told}")
    ways = [each.way for each in heard]
    if len(set(ways)) > 1:
        raise ArgumentError(
            f"transport='cupy' would go by ways {ways}, by rank: give all ranks the same mode"
        )


class CupyTransport(Transport):
    """One process's end, on one device."""

    name = "cupy"
    arrays: DeviceArrays

    def __init__(self, host: MPITransport, arrays: DeviceArrays, mode: modes.Mode) -> None:
        """``host`` is of the same ranks, and this transport's from now on."""
        self.host, self.arrays, self.mode = host, arrays, mode
        self.rank, self.size, self.nodes = host.rank, host.size, host.nodes
        self.threads = host.threads
        self.under_way: set[exchange.Exchange] = set()
        """Exchanges that have been started and not yet released: they hold what MPI uses."""
        self.sharing: list[list[int]] = []
        """Ranks that have a device between them, in groups."""
        make = Direct if mode.name == "direct" else Staged
        self.way: Way = make(arrays, host.comm)

    @property
    def doing(self) -> Callable[[], str]:
        return self.host.doing

    @doing.setter
    def doing(self, said: Callable[[], str]) -> None:
        self.host.doing = said

    def prepare(
        self, sends: Sequence[Outgoing], receives: Sequence[Incoming], channel: int
    ) -> Exchange:
        if channel == HANDSHAKE:
            return self.host.prepare(sends, receives, channel)
        return exchange.Exchange(self, sends, receives, channel % self.host.tags)

    def segment_bytes(self, peer: int) -> int | None:
        return SEGMENT_BYTES

    def empty(self, nbytes: int) -> Bytes:
        return self.arrays.scratch(nbytes)

    def subgroup(self, ranks: Sequence[int], channel: int) -> CupyTransport:
        host = self.host.subgroup(ranks, channel)
        return CupyTransport(host, self.arrays.again(), self.mode)

    def unclaimed(self, channel: int) -> int:
        self.progress()
        return self.host.unclaimed(channel)

    def progress(self) -> None:
        """Of all that is under way."""
        for each in list(self.under_way):  # one that fails leaves it
            each.progress()

    def abort(self, reason: str, culprit: int | None = None) -> None:
        try:
            for each in list(self.under_way):
                each.abandon()
        finally:
            self.host.abort(reason, culprit)

    def forgive(self) -> None:
        """See MPITransport."""
        self.host.forgive()

    def close(self) -> None:
        self.host.close()
