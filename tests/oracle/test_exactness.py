"""Exact in every order, up to 128 ranks: by magnitudes, not by trying orders.

Whole multiples of a unit add up exactly in any order if the sum of their magnitudes is at most
2^p units (p digits of the dtype); integers wrap in no order if it is within their range; products
are exact if all factors but one are units.  This must hold whatever is drawn: the highest number
each time, too, and the lowest.
"""

import ml_dtypes
import numpy as np
import pytest

from refcoll.oracle.calls import Call
from refcoll.oracle.probes import inputs
from refcoll.oracle.probing.asked import Asked
from refcoll.oracle.probing.floating import huge, rough, special, tiny
from refcoll.oracle.probing.whole import coded, extremes
from refcoll.testing.values import DTYPES, dtype_named

SIZES = [1, 2, 3, 7, 32, 127, 128]
DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
FLOATS, COMPLEX = list(DIGITS), ["complex64", "complex128"]
INTEGERS = [each for each in DTYPES if "int" in each]
MAKERS = {
    "coded": coded, "rough": rough, "special": special, "tiny": tiny, "huge": huge,
    "extremes": extremes,
}  # fmt: skip
COUNT = 24


class Always:
    """Draws one end of every range."""

    def __init__(self, highest):
        self.highest = highest

    def integers(self, low, high, count):
        return np.full(count, high - 1 if self.highest else low)

    def uniform(self, low, high, count):
        return np.full(count, high if self.highest else low)

    def standard_normal(self, count):
        return np.full(count, 6.0 if self.highest else -6.0)


def drawn(probe, dtype, op, size):
    """All ranks' inputs, a row each: as seeded, and as the ends of what may be drawn."""
    call = Call("all_reduce", COUNT, dtype, op)
    yield np.stack(inputs(probe, call, size, seed=3))
    for highest in (False, True):
        asked = [
            Asked(call, dtype_named(dtype), COUNT, rank, size, Always(highest))
            for rank in range(size)
        ]
        yield np.stack([MAKERS[probe](each) for each in asked])


def rows(probe, dtype, op, size):
    """The same; of complex numbers the parts."""
    for given in drawn(probe, dtype, op, size):
        yield given.view(given.real.dtype) if given.dtype.kind == "c" else given


@pytest.mark.parametrize("size", SIZES)
def test_sums_of_whole_floats_fit_their_digits(size):
    for dtype in [*FLOATS, *COMPLEX]:
        digits = DIGITS[{"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)]
        for probe in ("coded", "special"):
            for given in rows(probe, dtype, "sum", size):
                wide = given.astype(np.float64)
                finite = np.where(np.isfinite(wide), wide, 0)
                assert (finite == np.rint(finite)).all(), dtype
                assert np.abs(finite).sum(axis=0).max() <= 2**digits, dtype


@pytest.mark.parametrize("size", SIZES)
def test_sums_of_subnormals_are_subnormal(size):
    """Whose bits, taken for an integer, say how many of the least one they are."""
    for dtype in FLOATS:
        for given in rows("tiny", dtype, "sum", size):
            units = given.view(f"u{given.dtype.itemsize}").astype(int)
            assert (given >= 0).all()
            assert units.sum(axis=0).min() > 0, dtype
            assert units.sum(axis=0).max() < 2 ** (DIGITS[dtype] - 1), dtype


@pytest.mark.parametrize("size", SIZES)
def test_sums_of_integers_wrap_in_no_order(size):
    """But for unsigned extremes, which are to wrap."""
    for dtype in INTEGERS:
        for probe in ("coded", "extremes") if dtype.startswith("i") else ("coded",):
            for given in rows(probe, dtype, "sum", size):
                exact, info = given.astype(object), np.iinfo(dtype)
                assert max(np.maximum(exact, 0).sum(axis=0)) <= info.max, dtype
                assert min(np.minimum(exact, 0).sum(axis=0)) >= info.min, dtype


@pytest.mark.parametrize("size", SIZES)
def test_of_products_all_factors_but_one_are_units(size):
    for dtype in [*FLOATS, *INTEGERS, *COMPLEX]:
        wide = complex if dtype in COMPLEX else float
        for probe, most in (("coded", 1), ("tiny", 1), ("huge", 2)):  # of huge ones two: max and 2
            if probe == "coded" or dtype in FLOATS:
                for given in drawn(probe, dtype, "prod", size):
                    others = np.abs(given.astype(wide)) != 1
                    assert others.sum(axis=0).max() <= most, (dtype, probe)


@pytest.mark.parametrize("size", SIZES)
def test_rough_products_stay_normal_in_every_order(size):
    for dtype in [*FLOATS, *COMPLEX]:
        for given in drawn("rough", dtype, "prod", size):
            wide = np.abs(given.astype(complex if dtype in COMPLEX else float))
            info = ml_dtypes.finfo(given.real.dtype)
            most = min(info.maxexp, -info.minexp) - 1
            assert np.abs(np.log2(wide)).sum(axis=0).max() < most, dtype


@pytest.mark.parametrize("size", SIZES)
def test_what_overflows_does_so_in_every_order(size):
    """Of one sign, or the greatest number and its opposite, or one number alone."""
    for dtype in FLOATS:
        greatest = float(ml_dtypes.finfo(dtype_named(dtype)).max)
        for given in rows("huge", dtype, "sum", size):
            for column in given.astype(float).T / greatest:
                one_sign = (column >= 0).all() or (column <= 0).all()
                assert one_sign or sorted(column[column != 0].tolist()) == [-1, 1]
                if one_sign and size > 2 and (column != 0).sum() > 1:
                    assert np.abs(column).sum() >= 1.5  # halves, of three ranks and more


@pytest.mark.parametrize("size", [2, 5, 33, 127, 128])
def test_coded_sums_tell_ranks_apart(size):
    """One rank left out, or counted for another, shows in at least a third of the elements."""
    for dtype in [each for each in DTYPES if each != "bool"]:
        given = np.stack(inputs("coded", Call("all_reduce", 131, dtype), size, seed=3))
        for rank in range(size):
            assert (given[rank] != 0).mean() > 1 / 3, dtype
            assert (given[rank] != given[rank - 1]).mean() > 1 / 3, dtype
