"""Bytes that a rank sends to each peer in one all_reduce, as Open MPI counts them.

Open MPI's component ``monitoring`` stands between its collectives and its messages, and counts
what is sent to each rank of MPI_COMM_WORLD.  The counters are performance variables of MPI_T
(MPI 4.1, section 15.3), which mpi4py does not offer: ctypes calls the library that mpi4py has
loaded.  Assumed: that the collective sends by messages, as ``coll/tuned`` and ``coll/base`` do;
what goes through a segment of shared memory of a collective's own is not counted, and shows as
less than the lower bound.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from refcoll.oracle.implementation import Implementation

SIZES = (1024, 65_536, 4 << 20)
"""Bytes of the vectors, or a little more: N divides their elements, so that N chunks are even."""
_SETTINGS = {
    "OMPI_MCA_pml_monitoring_enable": "1",
    # Its sibling hides windows behind windows of its own, in which refcoll shares no memory.
    "OMPI_MCA_osc": "^monitoring",
}
"""1 counts what collectives send together with what programs send."""
_COLL = "OMPI_MCA_coll"
_VARIABLE = b"pml_monitoring_messages_size"
_SIZE_CLASS = 2
"""MPI_T_PVAR_CLASS_SIZE in Open MPI's mpi.h, versions 4 and 5."""


@dataclass(frozen=True)
class Row:
    """One all_reduce."""

    nbytes: int
    sent: list[list[int]]
    """sent[rank][peer], in bytes."""
    lower_bound: int
    """2(N-1)/N S: what some rank must send and receive, in any algorithm."""

    @property
    def most(self) -> int:
        """Sent, or received, by the busiest rank."""
        return max(*map(sum, self.sent), *map(sum, zip(*self.sent, strict=True)))


@dataclass(frozen=True)
class Traffic:
    """Of all ``SIZES``."""

    rows: list[Row] = field(default_factory=list)

    def as_json(self) -> list[dict[str, Any]]:
        """A row an all_reduce."""
        return [{**asdict(row), "most": row.most} for row in self.rows]

    def lines(self) -> Iterator[str]:
        """In words."""
        yield "Bytes sent in one all_reduce of float32, as Open MPI's monitoring counts them:"
        for row in self.rows:
            least, size = row.lower_bound, len(row.sent)
            yield (
                f"   S = {row.nbytes}: {row.most} sent or received by the busiest rank; lower "
                f"bound 2(N-1)/N S = {least}; {_said(row.most, least)}"
            )
            if size <= _SHOWN:
                yield from (
                    f"      rank {rank} to ranks 0-{size - 1}: {', '.join(map(str, sent))}"
                    for rank, sent in enumerate(row.sent)
                )


_SHOWN = 8


def _said(most: int, least: int) -> str:
    if most < least:
        return "so not all of it went by messages"
    return "bandwidth-optimal" if most == least else f"{most / least:.3g} times that"


def monitor() -> None:
    """Have Open MPI count, which it decides on when MPI starts.  Others take no notice."""
    if "OMPI_COMM_WORLD_SIZE" in os.environ and not _left_out(os.environ.get(_COLL, "^")):
        for name, value in _SETTINGS.items():
            os.environ.setdefault(name, value)


def _left_out(coll: str) -> bool:
    """Whether its sibling for collectives is: then Open MPI 4.1.4 and 5.0.11 crash in the first
    communicator that is freed.  ``coll`` lists components, or after a ^ all but these."""
    return ("monitoring" in coll.lstrip("^").split(",")) == coll.startswith("^")


def traffic(implementation: Implementation) -> Traffic | None:
    """Of the library's all_reduce; None where nothing is counted.  Collective."""
    mpi = import_module("mpi4py.MPI")
    world, counter = mpi.COMM_WORLD, None
    with suppress(OSError, AttributeError):  # no such library, or no MPI_T in it
        counter = _Counter(mpi)
    if not all(world.allgather(counter is not None and counter.works)) or world.size == 1:
        return None
    assert counter is not None
    return Traffic([_row(implementation, world, counter, nbytes) for nbytes in SIZES])


def _row(implementation: Implementation, world: Any, counter: _Counter, nbytes: int) -> Row:
    x = np.ones(-(-nbytes // 4 // world.size) * world.size, np.float32)
    out = np.empty_like(x)
    before = counter.read()
    implementation.all_reduce(x, out, "sum")
    sent = [int(each) for each in counter.read() - before]
    least = 2 * (world.size - 1) * (x.nbytes // world.size)
    return Row(x.nbytes, world.allgather(sent), least)


class _Counter:
    """The performance variable, bound to MPI_COMM_WORLD."""

    def __init__(self, mpi: Any) -> None:
        self._library = ctypes.CDLL(_path())
        self._size = mpi.COMM_WORLD.size
        self._session, self._handle = ctypes.c_void_p(), ctypes.c_void_p()
        self.works = self._opened(mpi)

    def _opened(self, mpi: Any) -> bool:
        """Whether all of it went well."""
        index, count, level = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        world = ctypes.c_void_p(mpi._addressof(mpi.COMM_WORLD))
        call, ref = self._library, ctypes.byref
        return bool(
            call.MPI_T_init_thread(mpi.THREAD_SINGLE, ref(level)) == 0
            and call.MPI_T_pvar_get_index(_VARIABLE, _SIZE_CLASS, ref(index)) == 0
            and call.MPI_T_pvar_session_create(ref(self._session)) == 0
            and call.MPI_T_pvar_handle_alloc(
                self._session, index, world, ref(self._handle), ref(count)
            ) == 0
            and count.value == self._size
            and call.MPI_T_pvar_start(self._session, self._handle) == 0
        )  # fmt: skip

    def read(self) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """Bytes to each rank so far."""
        values = np.zeros(self._size, np.uint64)
        self._library.MPI_T_pvar_read(
            self._session, self._handle, values.ctypes.data_as(ctypes.c_void_p)
        )
        return values


def _path() -> str:
    """The libmpi that is loaded already.  Raises OSError where that cannot be found."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.split(maxsplit=5)[-1]
        if os.path.basename(path).startswith("libmpi.so"):
            return path
    raise OSError("no libmpi.so is loaded")
