"""Reported faults: buffers in place, shared, strided, or read before they are written."""

import numpy as np
import pytest

import refcoll
from corpus_judged import MAKERS, findings, found, results
from refcoll.oracle.calls import Call
from refcoll.oracle.guarded import poison
from refcoll.oracle.mutants.beyond import padded
from refcoll.oracle.mutants.sound import Sound


def test_alias_01():
    call = Call("all_reduce", 2, "float64", in_place=True)
    inputs = [[rank, rank and 1 / rank] for rank in range(4)]
    assert results(Sound, call, inputs) == [[6.0, pytest.approx(11 / 6, rel=1e-15)]] * 4
    faulty = MAKERS["InPlaceOverwritten"]
    assert results(faulty, call, inputs) != results(Sound, call, inputs)
    assert not findings(faulty, 4, Call("all_reduce", 2, "float64"))
    assert found(faulty, 4, "value", "missing, rank 0 8 times", call)


def test_alias_02():
    call = Call("reduce_scatter", 1, "int32")
    faulty = MAKERS["CopiesTooMuchAlone"]
    assert found(faulty, 1, "guards intact", "wrote up to 4 bytes behind the end", call)
    assert not findings(Sound, 1, call)


def test_alias_03():
    call = Call("reduce_scatter", 1, "int32", in_place=True)
    inputs = [[(rank + 1) * each for each in (1, 2, 3, 4)] for rank in range(4)]
    assert results(Sound, call, inputs) == [[10], [20], [30], [40]]
    faulty = MAKERS["NcclInPlace"]
    assert results(faulty, call, inputs) == [[10], [2], [3], [4]]
    assert found(faulty, 4, "value", "NCCL's at the rank's own piece", call)


def test_alias_04():
    call = Call("all_gather", 1, "float64", None)
    assert results(Sound, call, [[1], [1], [2]]) == [[1, 1, 2]] * 3
    faulty = MAKERS["AliasedOutputs"]
    assert results(faulty, call, [[1], [1], [2]]) == [[2, 2, 2]] * 3
    assert found(faulty, 3, "value", "every block holds block 2: do they share memory?", call)


class GapNotSubtracted(Sound):
    """The data begin an element after the address that it takes them to begin at."""

    def store(self, values, out):
        padded(out, 1)[1:] = values


def test_layout_01():
    """A gap before the data; and between them: what lies there stays as it was."""
    call = Call("all_reduce", 6, "float64", in_place=True)
    assert found(GapNotSubtracted, 2, "guards intact", "wrote up to 8 bytes behind the end", call)
    assert found(GapNotSubtracted, 2, "value", "element i holds element i - 1", call)

    def on_rank(comm):
        memory = np.full(6, -1.0)
        memory[1::2] = 1.0
        comm.all_reduce(memory[1::2], out=memory[1::2])
        return memory.tolist()

    assert refcoll.spawn(2, on_rank) == [[-1.0, 2.0] * 3] * 2


def test_layout_02():
    """Along a transposed view, rows are as they are seen, not as they are stored."""
    view = np.arange(24).reshape(4, 3, 2).swapaxes(1, 2)
    first = refcoll.spawn(4, lambda comm: comm.reduce_scatter(view, "max"))[0]
    assert first.tolist() == [0, 2, 4, 1, 3, 5]
    faulty = MAKERS["Interleaved"]
    call = Call("all_gather", 6, "int64", None)
    assert found(faulty, 4, "value", "in storage order of a 4-row transpose", call)


def test_layout_03():
    faulty = MAKERS["MisalignedNotReturned"]
    said = "all 6 elements: the rank's own input alone, nothing merged into it"
    assert found(faulty, 2, "value", said, Call("all_reduce", 6))


class Device:
    """Memory that is written later than it is told to be: when the stream is waited for."""

    def __init__(self):
        self._memory, self._queue = {}, []

    def copy(self, x):
        """Begins to copy; what is there until then is NaN, or what was there before."""
        there = self._memory.setdefault(
            (x.size, x.dtype), poison(x.dtype).view(x.dtype).repeat(x.size)
        )
        self._queue.append((there, x.copy()))
        return there

    def synchronize(self):
        for there, values in self._queue:
            there[:] = values
        self._queue.clear()


class HandedOverAtOnce(Sound):
    """The input is filled by a kernel that still runs when MPI is called."""

    waits = False

    def __init__(self, comm):
        super().__init__(comm)
        self._device = Device()

    def load(self, x, out):
        there = self._device.copy(x)
        if self.waits:
            self._device.synchronize()
        taken = there.copy()
        self._device.synchronize()
        return taken


class Synchronised(HandedOverAtOnce):
    waits = True


def test_gpu_01():
    """The race is made visible: the kernel is always slow, and memory holds NaN before."""
    call, ones = Call("all_reduce", 16), [[1] * 16] * 2
    assert results(Synchronised, call, ones) == [[2] * 16] * 2
    assert np.isnan(results(HandedOverAtOnce, call, ones)).all()
    long = Call("all_reduce", 131)
    assert not findings(Synchronised, 2, long)
    said = "all 131 elements: uninitialised memory"
    assert found(HandedOverAtOnce, 2, "value", said, long)
