"""Which inputs every reduction is tried with, by what can go wrong there, and that these show it.

    what can go wrong                                  where                           inputs
    a rank, element, factor or operator is wrong       everywhere                      coded
    results are rounded too often or too coarsely      what rounds: sum, prod, avg of  rough
                                                       floats and complex numbers
    NaN or infinity is lost or treated by two rules    sum, prod, avg, min, max of     special
                                                       floats; sums of complex numbers
    subnormals are flushed; overflow is hidden         sum, prod, min, max of floats;  tiny,
                                                       sums of complex numbers         huge
    signed is taken for unsigned, sums saturate        sum, min, max of integers       extremes

IEEE 754 says nothing of complex numbers, and C leaves open (annex G is optional) what becomes of
infinite ones that are multiplied or divided; their sums are those of the parts.  An average's sum
may overflow though it is right, and dividing first may underflow: so neither is asked of it.
"""

import numpy as np
import pytest

from refcoll.oracle.calls import REDUCING, calls
from refcoll.oracle.probes import inputs, probes_for
from refcoll.testing.values import DTYPES, dtype_named

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS, COMPLEX = ["float16", "bfloat16", "float32", "float64"], ["complex64", "complex128"]
LOGIC = [f"{of}_{what}" for of in ("bitwise", "logical") for what in ("and", "or", "xor")]
SIZE = 4


def expected():
    """By dtype and operator."""
    table = {("bool", op): {"coded"} for op in [*LOGIC, "min", "max"]}
    for dtype in INTEGERS:
        table |= {(dtype, op): {"coded"} for op in [*LOGIC, "prod"]}
        table |= {(dtype, op): {"coded", "extremes"} for op in ("sum", "min", "max")}
        if dtype.startswith("u"):  # they wrap
            table[dtype, "prod"] = {"coded", "extremes"}
    for dtype in FLOATS:
        table |= {(dtype, op): {"coded", "special", "tiny", "huge"} for op in ("min", "max")}
        table |= {(dtype, op): table[dtype, "min"] | {"rough"} for op in ("sum", "prod")}
        table[dtype, "avg"] = {"coded", "rough", "special"}
    for dtype in COMPLEX:
        table[dtype, "sum"] = {"coded", "rough", "special", "tiny", "huge"}
        table |= {(dtype, op): {"coded", "rough"} for op in ("prod", "avg")}
    return table


@pytest.mark.parametrize("collective", REDUCING)
def test_the_usual_calls_use_every_probe_of_every_dtype_and_operator(collective):
    used = {}
    for call in calls(SIZE):
        if call.collective == collective and call.count > 100:
            used.setdefault((call.dtype, call.op), set()).update(probes_for(call))
    assert used == expected()
    assert {dtype for dtype, _ in used} == set(DTYPES)


def parts(values):
    """Of complex numbers the real and the imaginary ones, by turns."""
    flat = np.concatenate(values)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def info(values):
    import ml_dtypes

    return ml_dtypes.finfo(values.dtype)


def magnitudes_differ(x):
    wide = np.abs(x.astype(np.float64))
    spread = np.log2(wide[wide > 0].max() / wide[wide > 0].min())
    rounded = (x.astype(np.float64) != np.rint(x.astype(np.float64))).mean()
    return rounded > 0.5 and spread > 0.2


def ends_of_the_range(x):
    range_of = np.iinfo(x.dtype)
    middle = range_of.max // 2 + 1
    return bool((x >= middle).any() if x.dtype.kind == "u" else (x < -middle).any())


SHOWS = {
    "coded": lambda x: len(set(x.tolist())) > 1,
    "rough": magnitudes_differ,
    "special": lambda x: (
        np.isnan(x).any() and np.isposinf(x).any() and np.isneginf(x).any()
        and ((x == 0) & np.signbit(x)).any()
    ),
    "tiny": lambda x: ((x != 0) & (np.abs(x) < info(x).smallest_normal)).any(),
    "huge": lambda x: (np.abs(x) == info(x).max).any() and len(set(np.sign(x).tolist())) > 1,
    "extremes": ends_of_the_range,
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_a_probe_is_there_for_is_in_its_inputs(dtype):
    """In those of each rank but for the ends of the range, which one rank has in a place."""
    asked = [c for c in calls(SIZE, ["all_reduce"], [dtype], lengths=[131]) if not c.in_place]
    assert {(c.dtype, c.op) for c in asked} == {key for key in expected() if key[0] == dtype}
    for call in asked:
        for probe in probes_for(call):
            given = inputs(probe, call, SIZE, seed=0)
            assert {x.dtype for x in given} == {dtype_named(dtype)}
            assert SHOWS[probe](parts(given)), (call, probe)
            if probe in ("coded", "rough", "special", "tiny"):
                assert all(SHOWS[probe](parts([x])) for x in given), (call, probe)
