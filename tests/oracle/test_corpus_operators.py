"""Reported faults: what operators mean, how precisely, and in which order."""

from functools import reduce

import numpy as np

import refcoll
from corpus_judged import MAKERS, findings, found, refusals, results
from refcoll.interpreters.simulate import simulate
from refcoll.oracle.adapters.own import Own
from refcoll.oracle.calls import Call
from refcoll.oracle.mutants.sound import Sound
from refcoll.oracle.truth import truth
from refcoll.oracle.vectors.cases import Case
from refcoll.oracle.vectors.ordered import joined, multiplied, strings
from refcoll.oracle.vectors.reading import Vector
from refcoll.oracle.vectors.records import record
from refcoll.testing.values import dtype_named


def test_op_02():
    call = Call("all_reduce", 4, op="avg")
    inputs = [[rank + 1] * 4 for rank in range(2)]
    assert results(Sound, call, inputs) == [[1.5] * 4] * 2
    faulty = MAKERS["AverageByCount"]
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
    faulty = MAKERS["UnsignedAsSigned"]
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
    faulty = MAKERS["SaturatingVectors"]
    assert found(faulty, 2, "value", "saturated at the end of the range of int16", unsigned)


def test_op_08():
    """Bytes of 256 ranks that hold True add up to 0."""
    assert np.add.reduce(np.full(256, True).view(np.uint8), dtype=np.uint8) == 0
    call = Call("all_reduce", 131, "bool", "logical_or")
    faulty = MAKERS["TruthAsByte"]
    assert found(faulty, 4, "value", "bools that are neither 0 nor 1", call)


def test_op_09():
    """The parts' maxima are of a number that no rank has; so they are refused, on all ranks."""
    one, other = np.array([1 + 5j]), np.array([2 + 1j])
    parts = np.maximum(one.view(float), other.view(float)).view(complex)
    assert parts.tolist() == [2 + 5j]
    said = refusals(2, lambda comm: comm.all_reduce(np.array([1 + 5j, 2 + 1j]), "max"))
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
    vectors = [np.repeat(each, 8) for each in inputs]
    by_order = {
        name: sorted(
            {float(x) for x in simulate(refcoll.program("all_reduce", name, 8), vectors)[0]}
        )
        for name in ("ring", "recursive_doubling")
    }
    assert by_order == {"ring": [256, 260, 264], "recursive_doubling": [262]}
    for algorithm in ("ring", "recursive_doubling"):
        assert not findings(
            lambda comm, name=algorithm: Own(comm, name), 8, Call("all_reduce", 8, "bfloat16")
        )
    said = "accumulated in bfloat16"
    assert found(MAKERS["Bfloat16PerHop"], 4, "value", said, Call("all_reduce", 131))


def root_first(inputs, merge):
    """A reduce to the last rank, which takes itself for the first."""
    return merge(inputs[-1], reduce(merge, inputs[:-1]))


def spelled(size, root):
    """A vector of one letter a rank, which are joined: the result spells the order."""
    call = Call("reduce", 1, "string", "concatenate", root)
    return Vector(record(Case(call, "ordered", strings(call, size, 0), "equal", ())))


def test_order_01():
    """Matrices do not commute: a ring says that it does not keep rank order, and is refused."""
    v = [np.array(each) for each in ([[1, 1], [0, 1]], [[1, 0], [2, 1]], [[1, 3], [0, 1]])]
    assert (v[0] @ v[1] @ v[2]).tolist() == [[3, 10], [2, 7]]
    assert (v[2] @ v[0] @ v[1]).tolist() == [[9, 4], [2, 1]]
    assert not refcoll.check(refcoll.program("reduce_scatter", "ring", 3)).in_rank_order
    assert root_first([each[None].reshape(1, 4) for each in v], multiplied).tolist() == [
        [9, 4, 2, 1]
    ]
    vector = spelled(3, root=2)
    assert not vector.problems([None, None, np.array(["abc"])])
    (problem,) = vector.problems([None, None, root_first(vector.inputs(), joined)])
    assert problem.startswith("rank 2, element 0: got cab, wanted abc")
    first = refcoll.Operator(
        "first", lambda left, right, out: np.copyto(out, left), commutative=False
    )
    said = refusals(3, lambda comm: comm.reduce_scatter(np.ones(3), first, algorithm="ring"))
    assert all("ring" in each and "order" in each for each in said)
