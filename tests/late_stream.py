"""A stand-in for a device: memory of the host's, and streams that work as late as they may.

What is queued runs when its stream, or an event behind it, is synchronised or has been asked for
in vain, and not before; with ``eagerness`` some of it runs at once, chosen by chance, as on a
device that is quick.  So whoever reads, sends or overwrites memory without having waited for
what he should have, meets bytes that are not there yet.  Its arrays raise where they are made
the host's.

It shows in which order things are done.  It is no device, and shows nothing of one: neither
races on hardware, nor drivers, allocators, copies or speed.
"""

from __future__ import annotations

import ctypes
import mmap
import random
import threading
from collections import deque
from contextlib import contextmanager, nullcontext

import numpy as np

from refcoll.errors import ArgumentError
from refcoll.operators import OPERATORS, kind

POISON = 0xA5
"""What fresh memory holds."""
PATIENCE = 2
"""How often an event is asked in vain whether it is done."""
_AT_WORK = threading.RLock()
"""Held by whoever makes a stream work: one device, one thing after another."""


class Guard:
    """Device memory in pages that nobody can touch, but for what works on a stream."""

    def __init__(self):
        self._blocks, self._depth = [], 0
        self._protect = ctypes.CDLL(None, use_errno=True).mprotect

    def block(self, nbytes):
        """Fresh memory, in its own pages."""
        length = max(1, -(-nbytes // mmap.PAGESIZE)) * mmap.PAGESIZE
        octets = np.frombuffer(mmap.mmap(-1, length), np.uint8)
        octets[:] = POISON
        self._blocks.append(octets)
        self._allow(octets, mmap.PROT_READ | mmap.PROT_WRITE if self._depth else 0)
        return octets[:nbytes]

    @contextmanager
    def open(self):
        """Within it the pages are there, for the one thread that this test has."""
        self._depth += 1
        for octets in self._blocks if self._depth == 1 else ():
            self._allow(octets, mmap.PROT_READ | mmap.PROT_WRITE)
        yield
        self._depth -= 1
        for octets in self._blocks if self._depth == 0 else ():
            self._allow(octets, 0)

    def _allow(self, octets, what):
        address, length = ctypes.c_void_p(octets.ctypes.data), ctypes.c_size_t(octets.nbytes)
        assert self._protect(address, length, what) == 0


_guard = None
"""Of all device memory, once there is one."""


def _block(nbytes):
    return np.full(nbytes, POISON, np.uint8) if _guard is None else _guard.block(nbytes)


def _open():
    return nullcontext() if _guard is None else _guard.open()


class LateArray:
    """An array that lies in device memory: known by its outside alone."""

    def __init__(self, held, device=0, from_pool=False):
        self._held, self.device, self.from_pool = held, device, from_pool

    def _of(self, held):
        return LateArray(held, self.device, self.from_pool)

    shape = property(lambda self: self._held.shape)
    size = property(lambda self: self._held.size)
    dtype = property(lambda self: self._held.dtype)
    nbytes = property(lambda self: self._held.nbytes)
    itemsize = property(lambda self: self._held.itemsize)
    strides = property(lambda self: self._held.strides)
    flags = property(lambda self: self._held.flags)

    @property
    def __cuda_array_interface__(self):
        address = self._held.ctypes.data
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (address, False),
                "version": 3}  # fmt: skip

    def reshape(self, *shape):
        return self._of(self._held.reshape(*shape))

    def view(self, dtype):
        return self._of(self._held.view(dtype))

    def copy(self):
        made = self._of(_block(self.nbytes).view(self.dtype).reshape(self.shape))
        to, source = made._held, self._held
        current().queue(lambda: np.copyto(to, source))
        return made

    def __getitem__(self, span):
        assert isinstance(span, slice), "only slices are views"
        return self._of(self._held[span])

    def __array__(self, *_, **__):
        raise TypeError("device memory was read by the host")

    def __setitem__(self, *_):
        raise TypeError("device memory was written by the host")


class LateEvent:
    def __init__(self, stream, behind):
        self._stream, self._behind, self._asked = stream, behind, 0

    def reach(self):
        self._stream.run(self._behind)

    def synchronize(self):
        """What the host does; streams reach it."""
        self.reach()

    @property
    def done(self):
        """Not at once, but whoever asks again and again lives to see it."""
        self._asked += 1
        if self._asked > PATIENCE:
            self.reach()
        return self._stream.has_run(self._behind)


class LateStream:
    def __init__(self, eagerness=0.0, seed=0):
        self._work, self._queued, self._done = deque(), 0, 0
        self._eagerness, self._chance = eagerness, random.Random(seed)
        self.device = None
        """Whose it is; the default stream is everybody's."""

    def queue(self, work):
        with _AT_WORK:
            self._work.append(work)
            self._queued += 1
            if self._chance.random() < self._eagerness:
                self.run(self._queued)

    def run(self, behind):
        with _AT_WORK:
            while self._done < behind and self._work:
                work = self._work.popleft()
                with _open():
                    work()
                self._done += 1

    def has_run(self, behind):
        return self._done >= behind

    def synchronize(self):
        self.run(self._queued)

    def is_capturing(self):
        return False

    def record(self):
        return LateEvent(self, self._queued)

    def wait_event(self, event):
        self.queue(event.reach)

    def __enter__(self):
        assert self.device in (None, _device()), "a stream of another device than the current one"
        _stack().append(self)
        return self

    def __exit__(self, *_):
        assert _stack().pop() is self


_DEFAULT = LateStream()
_thread = threading.local()


def _stack():
    if not hasattr(_thread, "streams"):
        _thread.streams = [_DEFAULT]
    return _thread.streams


def current():
    return _stack()[-1]


def _device():
    return getattr(_thread, "device", 0)


class LateRuntime:
    """``refcoll_cupy.runtime.Runtime`` over all that."""

    name = "stand-in"

    def __init__(self, devices=1, eagerness=0.0, seed=0, guarded=False):
        global _guard
        _guard = Guard() if guarded else _guard
        self._devices, self._eagerness, self._seed = devices, eagerness, seed
        self.log = []
        """Of pinned memory, and copies between host and device: what, and how many bytes."""

    def devices(self):
        if not self._devices:
            raise ArgumentError("there is no device: the stand-in was told to have none")
        return self._devices

    def use(self, device):
        _thread.device = device

    @contextmanager
    def on(self, device):
        before, _thread.device = _device(), device
        try:
            yield
        finally:
            _thread.device = before

    def identity(self, device):
        return f"stand-in {device}"

    def stream(self):
        self._seed += 1
        made = LateStream(self._eagerness, self._seed)
        made.device = _device()
        return made

    def current(self):
        return current()

    def record(self, stream):
        return stream.record()

    # ---- arrays -------------------------------------------------------------------------

    def owns(self, value):
        return isinstance(value, LateArray)

    def shared(self, value):
        said = getattr(value, "__cuda_array_interface__", None)
        if said is None:
            return None
        dtype, address = np.dtype(said["typestr"]), said["data"][0]
        size = int(np.prod(said["shape"])) * dtype.itemsize
        octets = np.frombuffer((ctypes.c_char * size).from_address(address), np.uint8)
        made = LateArray(octets.view(dtype).reshape(said["shape"]))
        made.owner = value
        return made

    def address(self, array):
        return array._held.ctypes.data

    def device_of(self, array):
        return array.device

    def reachable(self, array):
        return not array.from_pool

    def empty(self, nbytes):
        return LateArray(_block(nbytes), _device())

    def pinned(self, nbytes):
        self.log.append(("pinned", nbytes))
        return np.full(nbytes, POISON, np.uint8)

    # ---- work -----------------------------------------------------------------------------

    def copy(self, to, source):
        assert to.size == source.size
        current().queue(lambda: np.copyto(to._held, source._held, casting="unsafe"))

    def download(self, to, source):
        self.log.append(("download", to.nbytes))
        current().queue(lambda: np.copyto(to, source._held))

    def upload(self, to, source):
        self.log.append(("upload", to.nbytes))
        current().queue(lambda: np.copyto(to._held, source))

    def require(self, dtype):
        if kind(dtype) not in "bifc" or dtype.itemsize > 16 or dtype == np.longdouble:
            raise ArgumentError(f"dtype={dtype.name} has no kernels on the device")

    def merging(self, name, dtype):
        merge = OPERATORS[name].merge

        def queued(left, right, out):
            devices = {left.device, right.device, out.device, _device()}
            assert len(devices) == 1, "a kernel has one device, the current one"
            current().queue(lambda: merge(left._held, right._held, out._held))

        return queued

    def finishing(self, name, dtype):
        last = OPERATORS[name].last
        return last and (lambda values, size: current().queue(lambda: last(values._held, size)))

    # ---- at once --------------------------------------------------------------------------

    def from_host(self, values):
        made = self.empty(values.nbytes).view(values.dtype).reshape(values.shape)
        to, kept = made._held, values.copy()
        current().queue(lambda: np.copyto(to, kept))
        return made

    def to_host(self, array):
        current().synchronize()
        return self.peek(array)

    def peek(self, array):
        """What really lies there now, whatever is queued: for tests alone."""
        with _open():
            return array._held.copy()
