"""A stand-in for CUDA beneath CuPy itself, so that CuPy's own code runs: host memory, late streams.

A kernel is known by its source (``late_kernels``), and what the host's operators do is done
instead.  ``beneath_cupy`` puts it in CUDA's place.

As ``late_stream`` it shows in which order things are done, and with what CuPy calls them; it is
no device, and shows nothing of one.
"""

# ruff: noqa: N802 - CUDA's names
from __future__ import annotations

import ctypes
import itertools
import threading

import numpy as np
from late_kernels import KERNELS

from late_stream import LateStream

DEVICES = 2
NOT_READY, DEVICE_MEMORY = 600, 2
"""cudaErrorNotReady, cudaMemoryTypeDevice."""
LEGACY = 1
"""cudaStreamLegacy, another handle of the default stream."""
TO_DEVICE, TO_HOST = 1, 2
"""cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost."""


class Runtime:
    """CUDA's runtime, by the names of its calls."""

    def __init__(self):
        self.here, self.numbers = threading.local(), itertools.count(16, 16)
        default = LateStream()
        self.streams, self.events = {0: default, LEGACY: default}, {}
        self.device, self.pinned = {}, {}
        """By address, what holds the memory; of a device's also whose it is."""

    def _ensure_context(self):
        pass

    def getDeviceCount(self):
        return DEVICES

    def getDevice(self):
        return getattr(self.here, "device", 0)

    def setDevice(self, device):
        self.here.device = device

    def deviceGetAttribute(self, attribute, device):
        return {75: 9, 76: 0}.get(attribute, 1)  # the compute capability's two parts

    def pointerGetAttributes(self, address):
        from cupy_backends.cuda.api.runtime import PointerAttributes

        blocks = ((each, found) for each, found in self.device.items() if each <= address)
        device = next(each for start, (octets, each) in blocks if address < start + octets.nbytes)
        return PointerAttributes(device, address, address, DEVICE_MEMORY)

    def pointerGetMemoryType(self, address):
        return DEVICE_MEMORY

    def getDeviceProperties(self, device):
        return {"uuid": bytes([1 + device]) * 16}

    # ---- memory --------------------------------------------------------------------------

    def malloc(self, nbytes):
        address, octets = _room(nbytes)
        self.device[address] = (octets, self.getDevice())
        return address

    def hostAlloc(self, nbytes, flags):
        address, octets = _room(nbytes)
        self.pinned[address] = octets
        return address

    def free(self, address):
        del self.device[address]

    def freeHost(self, address):
        del self.pinned[address]

    def memcpyAsync(self, to, source, nbytes, kind, stream):
        """As CUDA says of memory that is not pinned: it is read before the call returns, and
        written before it does."""
        if kind == TO_DEVICE and not self._is_pinned(source):
            source = ctypes.create_string_buffer(ctypes.string_at(source, nbytes), nbytes)
        self.streams[stream].queue(lambda: ctypes.memmove(to, source, nbytes))
        if kind == TO_HOST and not self._is_pinned(to):
            self.streamSynchronize(stream)

    def _is_pinned(self, address):
        blocks = list(self.pinned.values())
        return any(0 <= address - each.ctypes.data < each.nbytes for each in blocks)

    def deviceCanAccessPeer(self, one, other):
        return 1

    def _deviceEnsurePeerAccess(self, peer):
        pass

    # ---- streams and events --------------------------------------------------------------

    def streamCreateWithFlags(self, flags):
        number = next(self.numbers)
        self.streams[number] = LateStream()
        self.streams[number].device = self.getDevice()
        return number

    def streamCreateWithPriority(self, flags, priority):
        return self.streamCreateWithFlags(flags)

    def streamDestroy(self, stream):
        """What it holds is done all the same."""

    def streamSynchronize(self, stream):
        self.streams[stream].synchronize()

    def streamIsCapturing(self, stream):
        return 0

    def streamWaitEvent(self, stream, event, flags=0):
        if self.events[event] is not None:
            self.streams[stream].wait_event(self.events[event])

    def eventCreateWithFlags(self, flags):
        number = next(self.numbers)
        self.events[number] = None
        return number

    def eventDestroy(self, event):
        del self.events[event]

    def eventRecord(self, event, stream):
        assert event in self.events, "an event that was destroyed"
        self.events[event] = self.streams[stream].record()

    def eventSynchronize(self, event):
        self.events[event].synchronize()

    def eventQuery(self, event):
        return 0 if self.events[event].done else NOT_READY


def _room(nbytes):
    octets = np.full(nbytes + 512, 0xA5, np.uint8)
    return octets.ctypes.data + -octets.ctypes.data % 512, octets


class Driver:
    """CUDA's driver, as far as kernels go: a module's image is its source."""

    def __init__(self, runtime):
        self._runtime, self._loaded = runtime, []

    def ctxGetCurrent(self):
        return 1

    def moduleLoadData(self, image):
        self._loaded.append(KERNELS[image.decode()])
        return len(self._loaded)

    def moduleUnload(self, module):
        pass

    def moduleGetFunction(self, module, name):
        return module

    def launchKernel(self, function, x, y, z, threads, a, b, shared, stream, arguments, extra):
        assert 0 < x < 1 << 31
        assert 0 < threads <= 1024
        given = ctypes.cast(arguments, ctypes.POINTER(ctypes.POINTER(ctypes.c_ssize_t)))
        late = self._runtime.streams[stream]
        assert late.device in (None, self._runtime.getDevice()), "a stream of another device"
        late.queue(self._loaded[function - 1](given))
