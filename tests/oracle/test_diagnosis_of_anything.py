"""Whatever comes out, the diagnosis is words: no hypothesis fails over strange numbers."""

import numpy as np
import pytest

from refcoll.oracle.calls import MISALIGNED, MOVING, REDUCING, STRIDED, Call, operators_for
from refcoll.oracle.diagnosing.diagnosis import diagnosed
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.guarded import poison
from refcoll.oracle.probes import inputs, probes_for
from refcoll.oracle.truth import truth
from refcoll.testing.values import DTYPES

SIZE, COUNT = 3, 9


def any_bits(right, generator):
    raw = np.frombuffer(generator.bytes(right.nbytes), right.dtype).copy()
    return generator.integers(0, 2, right.size).astype(bool) if right.dtype.kind == "b" else raw


def some_other(value):
    def change(right, generator):
        got = right.copy()
        got[generator.integers(0, right.size)] = value(right)
        return got

    return change


def highest(right):
    return np.inf if right.dtype.kind not in "biu" else right.max()


CHANGES = {
    "any bits": any_bits,
    "zeros": lambda right, generator: right * right.dtype.type(0),
    "poison": lambda right, generator: np.resize(poison(right.dtype).view(right.dtype), right.size),
    "mixed up": lambda right, generator: generator.permutation(right),
    "the highest": some_other(highest),
    "not a number": some_other(lambda right: np.nan if right.dtype.kind not in "biu" else 1),
    "next to it": lambda right, generator: (right + right.dtype.type(1)).astype(right.dtype),
    "twice": lambda right, generator: (right + right).astype(right.dtype),
}


def evidence(call, probe, change, seed):
    generator = np.random.default_rng(seed)
    given, earlier = (inputs(probe, call, SIZE, each) for each in (seed, seed + 1))
    truths = [truth(probe, call, given, rank) for rank in range(SIZE)]
    with np.errstate(all="ignore"):
        outputs = [right and change(right.wanted, generator) for right in truths]

    def again(asked):
        """Where nobody's contribution is missing."""
        found = [truth("coded", call, asked, rank) for rank in range(SIZE)]
        return [right and right.wanted for right in found]

    return Evidence(call, probe, given, outputs, truths, again(earlier), again, earlier)


def diagnosis(call, probe, change, seed):
    said = diagnosed(evidence(call, probe, change, seed))
    assert isinstance(said, str), (call, probe)


@pytest.mark.parametrize("name", CHANGES)
def test_of_reductions(name):
    for number, dtype in enumerate(DTYPES):
        for turn, op in enumerate(operators_for(dtype)):
            call = Call(REDUCING[(number + turn) % 5], COUNT, dtype, op)
            for probe in probes_for(call):
                diagnosis(call, probe, CHANGES[name], number + turn)


@pytest.mark.parametrize("name", CHANGES)
def test_of_moves(name):
    for number, dtype in enumerate(DTYPES):
        layout = ("contiguous", STRIDED, MISALIGNED)[number % 3]
        call = Call(MOVING[number % 5], COUNT, dtype, None, layout=layout)
        diagnosis(call, "bits", CHANGES[name], number)


def test_of_one_element_and_of_integers_averages():
    for change in CHANGES.values():
        diagnosis(Call("all_reduce", 1), "coded", change, 1)
        diagnosis(Call("all_reduce", COUNT, "int32", "avg"), "coded", change, 1)
