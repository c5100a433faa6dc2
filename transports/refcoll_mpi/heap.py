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
from threading import Lock
from typing import Any

import numpy as np

from refcoll.transport import Bytes, Lent

PAGE = mmap.PAGESIZE
SMALLEST = 64 << 10
"""Less is copied faster than it is lent."""
_COLD = 1 << 20
"""So much, once freed, is given back to the system; less is kept for the next who asks."""
_TOKEN = 16


class Mapped:
    """A heap, of this process or another, for the receiver of a lane to read."""

    def __init__(self, memory: mmap.mmap) -> None:
        self.memory = memory

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
        self._lock, self._retired = Lock(), False
        self._free: list[tuple[int, int]] = []
        """(start, length) of free blocks below ``_top``, in order, none beside another."""
        self._returned: deque[tuple[int, int]] = deque()
        """Blocks that finalisers, which may run at any moment, have given back."""

    def empty(self, nbytes: int) -> Bytes:
        """Uninitialised memory, from the heap unless it is small or the heap is full."""
        length = -(-nbytes // PAGE) * PAGE
        with self._lock:
            start = None if nbytes < SMALLEST else self._take(length)
        if start is None:
            return np.empty(nbytes, np.uint8)
        block: Bytes = np.frombuffer(self.memory, np.uint8, nbytes, start)
        # numpy's views of the block keep this array alive, and so the block.
        kept = weakref.finalize(block, self._give_back, start, length)
        kept.atexit = False
        return block

    def _give_back(self, start: int, length: int) -> None:
        """Run by the garbage collector, at any moment: no lock, and nothing that needs one."""
        if self._retired:
            return
        if length >= _COLD:
            self._cool(start, length)
        self._returned.append((start, length))

    def retire(self) -> None:
        """Give no more memory, and leave that which was given as it is."""
        self._retired, self._free, self._top = True, [], self._end
        os.close(self.file)

    def _cool(self, start: int, length: int) -> None:
        """Let the system have the pages."""
        with contextlib.suppress(OSError, ValueError):  # then they stay, which is no harm
            self.memory.madvise(mmap.MADV_REMOVE, start, length)

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
        insort(self._free, (start, length))
        merged: list[tuple[int, int]] = []
        for begin, each in self._free:
            if merged and sum(merged[-1]) == begin:
                merged[-1] = (merged[-1][0], merged[-1][1] + each)
            else:
                merged.append((begin, each))
        if merged and sum(merged[-1]) == self._top:
            self._top, length = merged.pop()
            self._cool(self._top, length)
        self._free = merged


class _Own:
    heap: Heap | None = None
    tried = False
    others: dict[tuple[int, bytes], Mapped] = {}  # noqa: RUF012 - by process and token


_MOST = 1 << 45
"""Bytes of address space that all heaps of a node may take in a process."""


def own(processes: int) -> Heap | None:
    """This process's heap, made when first asked for; None where there can be none.

    It is as long as the machine's memory, if as many processes as there are can map each
    other's.
    """
    if not _Own.tried:
        _Own.tried = True
        with contextlib.suppress(OSError, AttributeError, ValueError):
            nbytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
            _Own.heap = Heap(min(nbytes, _MOST // processes // PAGE * PAGE))
            os.register_at_fork(after_in_child=forget)
    return _Own.heap


def forget() -> None:
    """Take no more memory from it: a forked child would share what it takes with its parent;
    and where the others cannot map it, it is of no use."""
    if _Own.heap is not None:
        _Own.heap.retire()
    _Own.heap = None


def other(process: int, file: int, token: bytes) -> Mapped | None:
    """Another process's heap; None if it cannot be mapped, or is not the one with the token."""
    known = process, token
    if known not in _Own.others:
        try:
            opened = os.open(f"/proc/{process}/fd/{file}", os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            if os.pread(opened, _TOKEN, 0) != token:
                return None
            _Own.others[known] = Mapped(mmap.mmap(opened, 0, prot=mmap.PROT_READ))
        except (OSError, ValueError, TypeError):
            return None
        finally:
            os.close(opened)
    return _Own.others[known]
