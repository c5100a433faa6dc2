"""What is right at 3 ranks and at 128, in whatever order it is merged, is never called wrong."""

from functools import reduce

import numpy as np
import pytest

from refcoll.operators import kind, operator
from refcoll.oracle.calls import Call, operators_for
from refcoll.oracle.probes import inputs, probes_for
from refcoll.oracle.truth import truth
from refcoll.testing.values import DTYPES


def in_orders(op, given):
    """What right implementations compute: along chains, by a tree, in two levels, and wider."""

    def merge(left, right):
        found = left.copy()
        operator(op).merge(left, right, found)
        return found

    size = len(given)
    yield reduce(merge, given)
    yield reduce(merge, given[::-1])
    yield reduce(merge, [*given[1::2], *given[::2]])
    left = list(given)
    while len(left) > 1:
        left = [merge(*left[i : i + 2]) if i + 1 < len(left) else left[i]
                for i in range(0, len(left), 2)]  # fmt: skip
    yield left[0]
    if op in ("sum", "avg") and kind(given[0].dtype) == "f":
        yield np.sum(np.array(given).astype(np.longdouble), axis=0).astype(given[0].dtype)
    groups = [given[first : first + 8] for first in range(0, size, 8)]
    yield reduce(merge, [reduce(merge, group) for group in groups])


def averaged(op, given):
    """Averages divide last, first, or multiply by the reciprocal."""
    size = len(given)
    if op != "avg":
        yield from in_orders(op, given)
        return
    one = given[0].real.dtype.type
    for total in in_orders(op, given):
        mean = total.copy()
        operator("avg").finish(mean, size)
        yield mean
    yield next(in_orders("sum", [(x / one(size)).astype(x.dtype) for x in given]))
    yield (next(in_orders("sum", given)) * (one(1) / one(size))).astype(given[0].dtype)


@pytest.mark.parametrize("size", [3, 128])
@pytest.mark.parametrize("dtype", DTYPES)
def test_silence_on_what_is_right(dtype, size):
    for op in operators_for(dtype):
        call = Call("all_reduce", 24, dtype, op)
        for probe in probes_for(call):
            given = inputs(probe, call, size, seed=1)
            right = truth(probe, call, given, 0)
            with np.errstate(all="ignore"):
                for got in averaged(op, given):
                    done = got.copy()
                    if op.startswith("logical"):
                        operator(op).finish(done, size)
                    assert not right.check(done).any(), (op, probe)


@pytest.mark.parametrize("size", [2, 128])
def test_one_rank_left_out_is_never_right(size):
    for dtype in [each for each in DTYPES if each != "bool"]:
        call = Call("all_reduce", 131, dtype)
        given = inputs("coded", call, size, seed=1)
        right = truth("coded", call, given, 0)
        with np.errstate(all="ignore"):
            assert right.check(next(in_orders("sum", given[1:]))).mean() > 1 / 3, dtype
