"""Memory that the other processes of a node can map: what ``comm.empty`` gives.

One anonymous file in memory per process, of which pages exist only where they were touched.
The others map it through /proc, so nothing has a name that could be left behind, and it is
gone when the last process that maps it is.  Linux only; elsewhere there is no heap, and
memory from ``empty`` is like any other.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import weakref
from bisect import insort
from collections import deque
from typing import Any

import numpy as np

from refcoll.transport import Bytes, Lent

PAGE = mmap.PAGESIZE
SMALLEST = 64 << 10
"""Less is copied faster than it is lent."""
_COLD = 4 << 20
"""So much, once freed, is given back to the system; less is kept for the next who asks."""
_TOKEN = 16


class Mapped:
    """A heap, of this process or another, as memory of a lane (``lanes.Memory``)."""

    def __init__(self, memory: mmap.mmap) -> None:
        self.memory = memory
        self.words = memoryview(memory).cast("Q")

    def piece(self, start: int, nbytes: int) -> memoryview:
        """Some of its bytes."""
        return memoryview(self.memory)[start : start + nbytes]

    def array(self, start: int, nbytes: int, dtype: Any) -> Lent:
        """Some of its bytes as an array, which must not be written."""
        kept = np.dtype(dtype)
        found = np.frombuffer(self.memory, kept, nbytes // kept.itemsize, start)
        found.flags.writeable = False
        return found

    @property
    def token(self) -> bytes:
        """Random bytes that tell this heap from all others."""
        return bytes(self.memory[:_TOKEN])


class Heap(Mapped):
    """This process's own, from which ``empty`` takes blocks of whole pages."""

    def __init__(self, nbytes: int) -> None:
        self.file = os.memfd_create("refcoll")
        os.ftruncate(self.file, nbytes)
        super().__init__(mmap.mmap(self.file, nbytes))
        self.memory[:_TOKEN] = secrets.token_bytes(_TOKEN)
        self._start = np.frombuffer(self.memory, np.uint8).ctypes.data
        self._end, self._top = nbytes, PAGE
        self._free: list[tuple[int, int]] = []
        """(start, length) of free blocks below ``_top``, in order, none beside another."""
        self._returned: deque[tuple[int, int]] = deque()
        """Blocks that finalisers, which may run at any moment, have given back."""

    def empty(self, nbytes: int) -> Bytes:
        """Uninitialised memory, from the heap unless it is small or the heap is full."""
        start = None if nbytes < SMALLEST else self._take(-(-nbytes // PAGE) * PAGE)
        if start is None:
            return np.empty(nbytes, np.uint8)
        block: Bytes = np.frombuffer(self.memory, np.uint8, nbytes, start)
        # numpy's views of the block keep this array alive, and so the block.
        kept = weakref.finalize(block, self._returned.append, (start, -(-nbytes // PAGE) * PAGE))
        kept.atexit = False
        return block

    def offset(self, view: Bytes) -> int | None:
        """Where ``view`` lies in the heap; None if it does not."""
        start = int(view.ctypes.data) - self._start
        return start if start >= 0 and start + view.nbytes <= self._end else None

    def _take(self, length: int) -> int | None:
        while self._returned:
            self._put_back(*self._returned.popleft())
        for index, (start, free) in enumerate(self._free):
            if free >= length:
                left = [(start + length, free - length)] if free > length else []
                self._free[index : index + 1] = left
                return start
        if self._top + length > self._end:
            return None
        self._top += length
        return self._top - length

    def _put_back(self, start: int, length: int) -> None:
        if length >= _COLD:
            with contextlib.suppress(OSError):  # then the pages stay, which is no harm
                self.memory.madvise(mmap.MADV_REMOVE, start, length)
        insort(self._free, (start, length))
        merged: list[tuple[int, int]] = []
        for begin, each in self._free:
            if merged and sum(merged[-1]) == begin:
                merged[-1] = (merged[-1][0], merged[-1][1] + each)
            else:
                merged.append((begin, each))
        if merged and sum(merged[-1]) == self._top:
            self._top = merged.pop()[0]
        self._free = merged


class _Own:
    heap: Heap | None = None
    tried = False


def own() -> Heap | None:
    """This process's heap, made when first asked for; None where there can be none."""
    if not _Own.tried:
        _Own.tried = True
        with contextlib.suppress(OSError, AttributeError, ValueError):
            _Own.heap = Heap(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return _Own.heap


def other(process: int, file: int, token: bytes) -> Mapped | None:
    """Another process's heap; None if it cannot be mapped, or is not the one with the token."""
    try:
        opened = os.open(f"/proc/{process}/fd/{file}", os.O_RDWR)
    except OSError:
        return None
    try:
        found = Mapped(mmap.mmap(opened, 0, prot=mmap.PROT_READ))
    except (OSError, ValueError):
        return None
    finally:
        os.close(opened)
    return found if found.token == token else None
