"""Reported faults: elements that are missing, doubled or elsewhere; and vectors that are empty."""

from corpus_judged import MAKERS, findings, found, results
from refcoll.chunks import balanced
from refcoll.oracle.calls import Call
from refcoll.oracle.mutants.mapping import XorPartner
from refcoll.oracle.mutants.partition import CrashingTail
from refcoll.oracle.mutants.sound import Sound


def test_part_01():
    call = Call("reduce_scatter", 1, "int32")
    inputs = [[10 * rank + i for i in range(4)] for rank in range(4)]
    assert results(Sound, call, inputs) == [[60], [64], [68], [72]]
    faulty = MAKERS["RotatedOwnership"]
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
    faulty = MAKERS["GatherPhaseIndex"]
    assert [each == right for each in results(faulty, call, inputs)] == [True] + [False] * 3
    assert found(faulty, 4, "value", "on ranks 1-3: chunk i holds chunk (i + 3) mod 4", call)


def test_rank_01():
    inputs = [[rank + 1] for rank in range(48)]
    got = results(XorPartner, Call("all_reduce", 1), inputs)
    assert got[0] == [1176.0]
    assert got[16:32] == [[528.0]] * 16
    assert found(XorPartner, 3, "value", "on rank 1: rank 2 missing", Call("all_reduce", 131))


def test_count_01():
    """The offsets of 1.5e9 elements of eight bytes on four ranks; a limit lowered to 2^10."""
    assert balanced(12 * 10**9, 4).offsets[:4] == (0, 3 * 10**9, 6 * 10**9, 9 * 10**9)
    faulty = MAKERS["NarrowOffsets"]
    assert not findings(faulty, 4, Call("gather", 131, op=None))
    call = Call("gather", 1024, op=None)
    assert found(faulty, 4, "value", "elements 1024-3071 (from ranks 1-2)", call)
    cut = MAKERS["NarrowCount"]
    assert found(cut, 4, "value", "all 1024 elements not written", Call("all_reduce", 1024))


def test_count_02():
    faulty = MAKERS["BytesForElements"]
    assert not findings(faulty, 2, Call("all_reduce", 128))
    assert found(faulty, 2, "value", "elements 128-130 not written", Call("all_reduce", 131))


def test_zero_01():
    call = Call("all_gather", 0, "float32", None)
    assert results(Sound, call, [[]] * 4) == [[]] * 4
    faulty = MAKERS["NothingToGather"]
    assert found(faulty, 4, "finished", "ranks 0-3: raised ZeroDivisionError", call)
    assert not findings(Sound, 4, call)
