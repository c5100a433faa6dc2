"""refcoll's transport contract, over MPI messages, and over shared memory within a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, Protocol

import numpy as np

from refcoll.transport import Bytes, Incoming, Outgoing, Transport, idle
from refcoll_mpi import ending, native
from refcoll_mpi.company import Company
from refcoll_mpi.control import Control
from refcoll_mpi.driver import MPI
from refcoll_mpi.exchange import Exchange
from refcoll_mpi.lanes import CONTEXTS, key
from refcoll_mpi.receiving import Inlet
from refcoll_mpi.sending import Outlet
from refcoll_mpi.sharing import Shared
from refcoll_mpi.waiting import Patience

SEGMENT_BYTES = 4 << 20
"""Long MPI messages go in parts of this size.  Much shorter parts cost more than they hide."""


class Abandonable(Protocol):
    """An exchange, as far as ``abort`` knows it."""

    def abandon(self) -> None:
        """See ``Exchange.abandon``."""


class MPITransport(Transport):
    """One process's end of an MPI communicator, which it owns."""

    name = "mpi"

    def __init__(
        self,
        comm: MPI.Intracomm,
        nodes: tuple[tuple[int, ...], ...],
        memory: Shared | None,
        places: Mapping[int, int],
        words: Control,
        roots: Sequence[int],
        above: Sequence[int],
    ) -> None:
        """``memory`` is what this node's processes share; ``places`` says which of ``comm``'s
        ranks are which of them, ``roots`` which rank of ``words`` each is; ``above`` has the
        contexts of what this is a subgroup of."""
        comm.Set_errhandler(MPI.ERRORS_RETURN)
        self.comm, self.nodes = comm, nodes
        self.rank, self.size = comm.rank, comm.size
        self.threads = MPI.Query_thread() == MPI.THREAD_MULTIPLE
        self.tags = int(comm.Get_attr(MPI.TAG_UB) or 32767) + 1
        self.context = _next_context(comm)
        self._memory = memory if self.context < CONTEXTS else None
        self._heap = self._memory.heap if self._memory else None
        self._places = dict(places)
        self._only_here = self._memory is not None and len(places) == comm.size
        self._looks = 0
        self.control, self.doing = words, idle
        self.running: Callable[[], Abandonable | None] | None = None
        """The one that was started last; its memory is not kept for that."""
        self.company = Company(self, words, roots, above)
        self.patience = Patience(self)

    def prepare(
        self, sends: Sequence[Outgoing], receives: Sequence[Incoming], channel: int
    ) -> Exchange:
        return Exchange(self, sends, receives, channel)

    def segment_bytes(self, peer: int) -> int | None:
        outlet = self.outlet(peer)
        return SEGMENT_BYTES if outlet is None else outlet.place_bytes

    def outlet(self, to: int) -> Outlet | None:
        """The lane to a rank on this node; None if messages go by MPI."""
        return self._memory.outlets.get(self._places.get(to, -1)) if self._memory else None

    def inlet(self, source: int) -> Inlet | None:
        """The lane from a rank on this node; None if messages come by MPI."""
        return self._memory.inlets.get(self._places.get(source, -1)) if self._memory else None

    def offset(self, view: Bytes) -> int | None:
        """Where ``view`` lies in this process's heap; None if it does not."""
        return self._heap.offset(view) if self._heap else None

    def empty(self, nbytes: int) -> Bytes:
        return self._heap.empty(nbytes) if self._heap else np.empty(nbytes, np.uint8)

    def subgroup(self, ranks: Sequence[int], channel: int) -> MPITransport:
        mine = self.comm.Get_group()
        group = mine.Incl(list(ranks))
        made = self.comm.Create_group(group, channel % self.tags)
        group.Free()
        mine.Free()
        inner = (tuple(ranks.index(r) for r in ranks if r in node) for node in self.nodes)
        nodes = sorted(node for node in inner if node)
        places = {new: self._places[old] for new, old in enumerate(ranks) if old in self._places}
        roots, above = [self.company.roots[old] for old in ranks], self.company.contexts
        return MPITransport(made, tuple(nodes), self._memory, places, self.control, roots, above)

    def unclaimed(self, channel: int) -> int:
        wanted = key(self.context, channel)
        found = self.comm.Iprobe(MPI.ANY_SOURCE, channel % self.tags)
        for rank in self._places:
            inlet = self.inlet(rank)
            if inlet is not None:
                inlet.drain()
                found = found or wanted in inlet.aside
        return int(found)

    def abort(self, reason: str, culprit: int | None = None) -> None:
        """Tell all ranks, and note that this job cannot end in peace: see ``ending``."""
        ending.fail(reason)
        last = None if self.running is None else self.running()
        try:
            if last is not None:
                last.abandon()  # it may be the caller that failed, with data lent to it
        finally:
            self.company.fail(reason, culprit)

    def forgive(self) -> None:
        """For tests that injure messages on purpose, and whose ranks have met again since: what
        failed is over, and this job may end in peace."""
        ending.forgive()

    def native(
        self, collective: str, x: np.ndarray[Any, Any], out: Any, persistent: bool = False
    ) -> Callable[[], object]:
        """The MPI library's own collective, to be timed beside refcoll's: see ``native``."""
        made = native.persistent if persistent else native.native
        return made(self.comm, collective, x, out)

    def has_persistent(self) -> bool:
        """Whether ``native`` can be asked for persistent ones."""
        return native.has_persistent()

    def library(self) -> str:
        """What the collectives of ``native`` are called."""
        return native.library()

    def close(self) -> None:
        """Give the communicator back to MPI, unless messages may still be under way on it."""
        if self._memory is not None:
            for inlet in self._memory.inlets.values():
                inlet.forget(self.context)
        self.control.forget(self.context)
        if not ending.failed() and self.comm != MPI.COMM_NULL:
            self.comm.Free()

    def meanwhile(self) -> None:
        """While this rank waits: send what was held back, and let MPI go on now and then."""
        if self._memory is not None:
            self._memory.push()
        self._looks += 1
        if not self._only_here or self._looks % 64 == 0:
            self.control.poll()


class _Latest:
    context = -1
    lock = Lock()


def _next_context(comm: MPI.Intracomm) -> int:
    """A number by which two processes tell their communicators apart.

    One more than any of the processes has used: so it is new to each pair of them; unless
    another thread has taken it meanwhile for another communicator, when all try again.
    """
    while True:
        wanted: int = comm.allreduce(_Latest.context, MPI.MAX) + 1
        with _Latest.lock:
            is_new = wanted > _Latest.context
            _Latest.context = max(_Latest.context, wanted)
        if comm.allreduce(is_new, MPI.LAND):
            return wanted
