"""Guards on both sides, and poison that tells what was not written from what was read."""

import numpy as np
import pytest

from refcoll.oracle.guarded import Guarded, poison, poisoned
from refcoll.oracle.mutants.beyond import padded
from refcoll.testing.values import DTYPES, dtype_named


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_writing_within_is_fine_and_beyond_is_seen(dtype, shift):
    buffer = Guarded(5, dtype_named(dtype), shift)
    buffer.array[:] = 1
    assert buffer.broken() is None
    padded(buffer.array, 1)[-1:] = 1
    assert "behind the end" in buffer.broken()


def test_writing_ahead_is_seen_too():
    buffer = Guarded(5, np.dtype("f4"))
    padded(buffer.array, 0, 2)[0] = 1
    assert buffer.broken() == "up to 8 bytes ahead of the start of a buffer"


def test_one_buffer_copied_over_another_beyond_their_ends_is_seen():
    given, got = Guarded(5, np.dtype("f4")), Guarded(5, np.dtype("f4"), output=True)
    padded(got.array, 1)[:] = padded(given.array, 1)
    assert got.broken() == "up to 4 bytes behind the end of a buffer"


@pytest.mark.parametrize("dtype", DTYPES)
def test_poison_stays_until_it_is_written(dtype):
    values = Guarded(4, dtype_named(dtype)).array
    assert poisoned(values).all()
    assert poisoned(values.copy()).all()
    values[1] = 1
    assert poisoned(values).tolist() == [True, False, True, True]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_poisoned_floats_are_nan_and_other_nans_once_they_were_read(dtype):
    values = Guarded(3, dtype_named(dtype)).array
    with np.errstate(all="ignore"):
        assert (values != values).all()
        assert not poisoned((values + values.dtype.type(0)).astype(values.dtype)).any()


def test_an_aligned_and_a_shifted_buffer_differ_in_alignment():
    addresses = [Guarded(4, np.dtype("f4"), shift).array.ctypes.data for shift in (0, 1)]
    assert (addresses[1] - addresses[0]) % 16 == 4


def test_no_poison_is_an_extreme_value():
    for dtype in ("int8", "uint8", "int16", "uint64"):
        value = int(poison(np.dtype(dtype)).view(dtype)[0])
        assert value not in (np.iinfo(dtype).min, np.iinfo(dtype).max, 0)
