"""Faults that were reported of other libraries, each as small as it can be: the faulty mechanism
gives the reported wrong value, the oracle says what is wrong, and what is right passes."""

import numpy as np
import pytest

import refcoll
from refcoll.chunks import balanced
from refcoll.errors import ArgumentError, DisagreementError
from refcoll.oracle.adapters.own import Own
from refcoll.oracle.calls import Call
from refcoll.oracle.courts import in_process
from refcoll.oracle.implementation import called
from refcoll.oracle.mutants import MUTANTS
from refcoll.oracle.mutants.bits import OrderOfArrival, OwnFirst
from refcoll.oracle.mutants.mapping import XorPartner
from refcoll.oracle.mutants.partition import CrashingTail
from refcoll.oracle.mutants.sound import Sound
from refcoll.oracle.truth import truth
from refcoll.schedule import Copy, Send
from refcoll.testing.values import dtype_named

TESTED = {
    "PART-01", "PART-02", "PART-03", "PART-04", "RANK-01", "ALIAS-01", "ALIAS-02", "ALIAS-03",
    "ALIAS-04", "COUNT-01", "COUNT-02", "OP-02", "OP-03", "OP-05", "OP-06", "OP-07", "OP-08",
    "OP-09", "PREC-01", "ORDER-01", "DET-01", "DET-02", "DET-03", "LAYOUT-01", "LAYOUT-02",
    "LAYOUT-03", "HANG-01", "HANG-02", "HANG-03", "HANG-04", "HANG-06", "ZERO-01",
}  # fmt: skip
"""Here: comparing results shows them, or a schedule, an argument check or the handshake does."""

ELSEWHERE = {
    "data-parallel training, in tests/dataparallel/test_known_faults.py": {
        "DDP-01", "DDP-02", "DDP-03", "DDP-04", "DDP-06", "SHARD-01", "SHARD-02", "SHARD-04",
        "COMP-01",
    },
    "GPUs, with the transports for device memory": {"GPU-01", "GPU-03", "GPU-04", "GPU-05"},
    "planning and cost models": {
        "PERF-01", "PERF-02", "PERF-03", "PERF-04", "PERF-05", "PERF-06",
    },
    "launchers, in tests/test_launching.py and docs/mpi.md": {"RUN-01", "RUN-02", "RUN-04"},
}  # fmt: skip

CASES = 54
"""In the collection of reported faults."""

BY_NAME = {mutant.name: mutant for mutant in MUTANTS}
SMALL = (131,)


def test_no_case_is_forgotten():
    listed = [*TESTED, *(case for cases in ELSEWHERE.values() for case in cases)]
    assert len(listed) == len(set(listed)) == CASES


def test_every_case_that_is_said_to_be_tested_has_a_test():
    named = {name for name, value in globals().items() if name.startswith("test_")}
    tested = {case for case in TESTED if f"test_{case.lower().replace('-', '_')}" in named}
    assert tested == TESTED


def results(make, call, inputs, size=None):
    """What each rank gets from these inputs."""
    dtype = dtype_named(call.dtype)

    def on_rank(comm):
        x = np.array(inputs[comm.rank], dtype)
        length = call.output_length(comm.rank, comm.size)
        out = x[:length] if call.in_place else np.zeros(length, dtype)
        with np.errstate(all="ignore"):
            called(make(comm), call, x, out)
        return out.tolist()

    return refcoll.spawn(len(inputs), on_rank, timeout=20)


def findings(make, size, *calls, timeout=20.0):
    judged = in_process(make, size, calls, timeout=timeout, first_only=True)
    return [(each.verdict, each.diagnosis) for one in judged for each in one.findings]


def found(make, size, verdict, said, *calls, timeout=20.0):
    """The verdict and words are among the findings of the first call that is wrong."""
    listed = findings(make, size, *calls, timeout=timeout)
    return any(v == verdict and said in words for v, words in listed)


def test_part_01():
    call = Call("reduce_scatter", 1, "int32")
    inputs = [[10 * rank + i for i in range(4)] for rank in range(4)]
    assert results(Sound, call, inputs) == [[60], [64], [68], [72]]
    faulty = BY_NAME["RotatedOwnership"].make
    assert results(faulty, call, inputs) == [[64], [68], [72], [60]]
    assert found(faulty, 4, "value", "the chunk of rank (r + 1) mod 4: rotated by 1", call)


class SegmentsOfFour(CrashingTail):
    segment = 4


def test_part_02():
    call = Call("all_reduce", 7)
    inputs = [[rank + 1] * 7 for rank in range(4)]
    assert results(Sound, call, inputs) == [[10] * 7] * 4
    assert found(SegmentsOfFour, 4, "finished", "ranks 0-3: raised ValueError", call)


def test_part_03():
    call = Call("all_reduce", 8, "float16")
    inputs = [[rank + 4 * j for j in range(8)] for rank in range(4)]
    right = [6 + 16 * j for j in range(8)]
    assert results(Sound, call, inputs) == [right] * 4
    faulty = BY_NAME["GatherPhaseIndex"].make
    assert [each == right for each in results(faulty, call, inputs)] == [True] + [False] * 3
    assert found(faulty, 4, "value", "on ranks 1-3: chunk i holds chunk (i + 3) mod 4", call)


def test_part_04():
    """Eight shares of 13 differ by one; MPICH gave the last rank six."""
    layout = balanced(13, 8)
    assert sorted(layout.length(index) for index in range(8)) == [1, 1, 1, 2, 2, 2, 2, 2]


def test_rank_01():
    inputs = [[rank + 1] for rank in range(48)]
    got = results(XorPartner, Call("all_reduce", 1), inputs)
    assert got[0] == [1176.0]
    assert got[16:32] == [[528.0]] * 16
    assert found(XorPartner, 3, "value", "on rank 1: rank 2 missing", Call("all_reduce", 131))


def test_alias_01():
    call = Call("all_reduce", 2, "float64", in_place=True)
    inputs = [[rank, rank and 1 / rank] for rank in range(4)]
    assert results(Sound, call, inputs) == [[6.0, pytest.approx(11 / 6, rel=1e-15)]] * 4
    faulty = BY_NAME["InPlaceOverwritten"].make
    assert results(faulty, call, inputs) != results(Sound, call, inputs)
    assert not findings(faulty, 4, Call("all_reduce", 2, "float64"))
    assert found(faulty, 4, "value", "missing, rank 0 8 times", call)


def test_alias_02():
    call = Call("reduce_scatter", 1, "int32")
    faulty = BY_NAME["CopiesTooMuchAlone"].make
    assert found(faulty, 1, "guards intact", "wrote up to 4 bytes behind the end", call)
    assert not findings(Sound, 1, call)


def test_alias_03():
    call = Call("reduce_scatter", 1, "int32", in_place=True)
    inputs = [[(rank + 1) * each for each in (1, 2, 3, 4)] for rank in range(4)]
    assert results(Sound, call, inputs) == [[10], [20], [30], [40]]
    faulty = BY_NAME["NcclInPlace"].make
    assert results(faulty, call, inputs) == [[10], [2], [3], [4]]
    assert found(faulty, 4, "value", "NCCL's at the rank's own piece", call)


def test_alias_04():
    call = Call("all_gather", 1, "float64", None)
    assert results(Sound, call, [[1], [1], [2]]) == [[1, 1, 2]] * 3
    faulty = BY_NAME["AliasedOutputs"].make
    assert results(faulty, call, [[1], [1], [2]]) == [[2, 2, 2]] * 3
    assert found(faulty, 3, "value", "every block holds block 2: do they share memory?", call)


def test_count_01():
    """The offsets of 1.5e9 elements of eight bytes on four ranks; a limit lowered to 2^10."""
    assert balanced(12 * 10**9, 4).offsets[:4] == (0, 3 * 10**9, 6 * 10**9, 9 * 10**9)
    faulty = BY_NAME["NarrowOffsets"].make
    assert not findings(faulty, 4, Call("gather", 131, op=None))
    call = Call("gather", 1024, op=None)
    assert found(faulty, 4, "value", "elements 1024-3071 (chunks 1-2 of 4", call)
    cut = BY_NAME["NarrowCount"].make
    assert found(cut, 4, "value", "all 1024 elements not written", Call("all_reduce", 1024))


def test_count_02():
    faulty = BY_NAME["BytesForElements"].make
    assert not findings(faulty, 2, Call("all_reduce", 128))
    assert found(faulty, 2, "value", "elements 128-130 not written", Call("all_reduce", 131))


def test_op_02():
    call = Call("all_reduce", 4, op="avg")
    inputs = [[rank + 1] * 4 for rank in range(2)]
    assert results(Sound, call, inputs) == [[1.5] * 4] * 2
    faulty = BY_NAME["AverageByCount"].make
    assert results(faulty, call, inputs) == [[0.75] * 4] * 2
    assert found(faulty, 2, "value", "divided by the number of elements, 4, not by N = 2", call)


class WholeMeans(Sound):
    """The mean of integers, cut once."""

    def finish(self, op, values):
        values //= self.size


class MeansOfMeans(Sound):
    """Two nodes of two ranks; cut within nodes, and between them."""

    def all_reduce(self, x, out, op):
        work, partner, other = x.copy(), self.rank ^ 1, self.rank ^ 2
        work = (work + self.swap(work, partner, partner)) // 2
        out[:] = (work + self.swap(work, other, other)) // 2


def test_op_03():
    call = Call("all_reduce", 1, "int32", "avg")
    inputs = [[1], [2], [2], [3]]
    assert results(WholeMeans, call, inputs) == [[2]] * 4
    assert results(MeansOfMeans, call, inputs) == [[1]] * 4
    many = Call("all_reduce", 131, "int32", "avg")
    assert not findings(WholeMeans, 4, many)
    assert found(MeansOfMeans, 4, "value", "divided and cut at several levels", many)


def test_op_05():
    call = Call("all_reduce", 2, "uint64", "min")
    inputs = [[0, 0], [2**64 - 1] * 2]
    assert results(Sound, call, inputs) == [[0, 0]] * 2
    faulty = BY_NAME["UnsignedAsSigned"].make
    assert results(faulty, call, inputs) == [[2**64 - 1] * 2] * 2
    many = Call("all_reduce", 131, "uint64", "min")
    assert found(faulty, 2, "value", "uint64 compared as int64", many)


class LeftIfLess(Sound):
    """a < b ? a : b, the lower rank's on the left."""

    def merge(self, op, left, right):
        left[:] = np.where(right < left, right, left)


def test_op_06():
    call = Call("all_reduce", 1, op="min")
    inputs = [[1], [np.nan], [3], [4]]
    assert np.isnan(results(Sound, call, inputs)).all()
    assert results(LeftIfLess, call, inputs) == [[3]] * 4
    many = Call("all_reduce", 131, op="min")
    assert found(LeftIfLess, 4, "value", "MIN depends on the order of operands: a NaN on", many)


class Saturates(Sound):
    def merge(self, op, left, right):
        left[:] = np.clip(left.astype(int) + right, -(2**15), 2**15 - 1)


def test_op_07():
    """What overflows is outside of the contract: the oracle asks nothing of it."""
    call = Call("all_reduce", 8, "int16")
    assert results(Sound, call, [[16384] * 8] * 2) == [[-32768] * 8] * 2
    assert results(Saturates, call, [[16384] * 8] * 2) == [[32767] * 8] * 2
    assert not findings(Saturates, 2, call)
    unsigned = Call("all_reduce", 131, "uint16")
    faulty = BY_NAME["SaturatingVectors"].make
    assert found(faulty, 2, "value", "saturated at the end of the range of int16", unsigned)


def test_op_08():
    """Bytes of 256 ranks that hold True add up to 0."""
    assert np.add.reduce(np.full(256, True).view(np.uint8), dtype=np.uint8) == 0
    call = Call("all_reduce", 131, "bool", "logical_or")
    faulty = BY_NAME["TruthAsByte"].make
    assert found(faulty, 4, "value", "bools that are neither 0 nor 1", call)


def on_all_ranks(size, call):
    """What each rank raises."""

    def on_rank(comm):
        with pytest.raises((ArgumentError, DisagreementError)) as caught:
            call(comm)
        return str(caught.value)

    return refcoll.spawn(size, on_rank, timeout=20)


def test_op_09():
    said = on_all_ranks(2, lambda comm: comm.all_reduce(np.array([1 + 5j, 2 + 1j]), "max"))
    assert all("op='max' is not defined for dtype=complex128" in each for each in said)


def test_prec_01():
    """256 and seven ones in bfloat16: 256, 260, 262 and 264 are some order's; 248 is none's."""
    dtype = dtype_named("bfloat16")
    inputs = [np.array([256 if rank == 0 else 1], dtype) for rank in range(8)]
    right = truth("rough", Call("all_reduce", 1, "bfloat16"), inputs, 0)
    assert right.wanted.tolist() == [264]
    accepted = {
        value for value in range(200, 300, 2) if not right.check(np.array([value], dtype))[0]
    }
    assert {256, 260, 262, 264} <= accepted
    assert not {200, 248, 298} & accepted
    for algorithm in ("ring", "recursive_doubling"):
        assert not findings(
            lambda comm, name=algorithm: Own(comm, name), 8, Call("all_reduce", 8, "bfloat16")
        )


def test_order_01():
    """Matrices do not commute: a ring says that it does not keep rank order, and is refused."""
    v = [np.array(each) for each in ([[1, 1], [0, 1]], [[1, 0], [2, 1]], [[1, 3], [0, 1]])]
    assert (v[0] @ v[1] @ v[2]).tolist() == [[3, 10], [2, 7]]
    assert (v[2] @ v[0] @ v[1]).tolist() == [[9, 4], [2, 1]]
    assert not refcoll.check(refcoll.program("reduce_scatter", "ring", 3)).in_rank_order
    first = refcoll.Operator(
        "first", lambda left, right, out: np.copyto(out, left), commutative=False
    )
    said = on_all_ranks(3, lambda comm: comm.reduce_scatter(np.ones(3), first, algorithm="ring"))
    assert all("ring" in each and "order" in each for each in said)


def test_det_01():
    call = Call("all_reduce", 1)
    inputs = [[1e8], [1], [-1e8], [1]]
    assert results(OwnFirst, call, inputs) == [[1.0], [1.0], [2.0], [0.0]]
    said = "the ranks have not the same bits"
    assert found(OwnFirst, 4, "agreement", said, Call("all_reduce", 131))


class Bucketed(Sound):
    cap = 4

    def all_reduce(self, x, out, op):
        for first in range(0, max(x.size, 1), self.cap):
            part = slice(first, first + self.cap)
            super().all_reduce(x[part], out[part], op)


class BiggerBuckets(Bucketed):
    cap = 12


def test_det_02():
    """Bits that differ between bucket sizes are right, each time."""
    inputs = np.roll(np.array([1e8, 1, -1e8, 1], np.float32), 1)
    given = [[float(inputs[(rank + place) % 4]) for place in range(12)] for rank in range(4)]
    call = Call("all_reduce", 12)
    assert results(Bucketed, call, given) != results(BiggerBuckets, call, given)
    for each in (Bucketed, BiggerBuckets):
        assert not findings(each, 4, call)


def test_det_03():
    said = "other bits the next time but one"
    assert found(OrderOfArrival, 4, "repeatability", said, Call("all_reduce", 131))


def test_layout_01():
    """In place in every other element: what lies between stays as it was."""

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
    faulty = BY_NAME["Interleaved"].make
    call = Call("all_gather", 6, "int64", None)
    assert found(faulty, 4, "value", "in storage order of a 4-row transpose", call)


def test_layout_03():
    faulty = BY_NAME["MisalignedNotReturned"].make
    said = "all 6 elements: the rank's own input alone, nothing merged into it"
    assert found(faulty, 2, "value", said, Call("all_reduce", 6))


def test_hang_01():
    said = on_all_ranks(4, lambda comm: comm.all_reduce(np.ones(12 if comm.rank else 10)))
    assert all("10" in each and "12" in each for each in said)


def test_hang_02():
    def call(comm):
        (comm.all_gather if comm.rank == 2 else comm.all_reduce)(np.ones(8))

    assert all("all_gather" in each and "rank 2" in each for each in on_all_ranks(4, call))


def sends_first(rank, size):
    """A ring in which every step sends, and the next one receives."""
    for step in range(size - 1):
        yield (Send((rank - step) % size, (rank + 1) % size),)
        yield (Copy((rank - step - 1) % size, (rank - 1) % size),)


def test_hang_03():
    steps = [list(sends_first(rank, 4)) for rank in range(4)]
    program = refcoll.from_steps("all_gather", steps, chunks=4)
    assert refcoll.check(program, capacities=[0]).failed("deadlock")
    assert refcoll.check(program, capacities=[1]).ok
    faulty = BY_NAME["SendsFirst"].make
    long = Call("all_gather", 20_000, "int32", None)
    assert not findings(faulty, 4, Call("all_gather", 256, "int32", None))
    assert found(faulty, 4, "finished", "ranks 0-3: did not return", long, timeout=0.3)


def test_hang_04():
    said = "the input of rank 0 is that of the previous call"
    assert found(BY_NAME["MixedCalls"].make, 2, "value", said, Call("scan", 4))


def test_hang_06():
    def on_rank(comm):
        if comm.rank == 1:
            raise RuntimeError("out of data")
        comm.all_reduce(np.ones(1))

    with pytest.raises(RuntimeError, match="out of data") as caught:
        refcoll.spawn(2, on_rank, timeout=20)
    assert "raised on rank 1" in caught.value.__notes__[0]
    faulty = BY_NAME["RaisesOnOneRank"].make
    said = "rank 1: raised TypeError: cannot cast the tensor; rank"
    assert found(faulty, 2, "finished", said, Call("all_reduce", 4), timeout=0.3)


def test_zero_01():
    call = Call("all_gather", 0, "float32", None)
    assert results(Sound, call, [[]] * 4) == [[]] * 4
    faulty = BY_NAME["NothingToGather"].make
    assert found(faulty, 4, "finished", "ranks 0-3: raised ZeroDivisionError", call)
    assert not findings(Sound, 4, call)
