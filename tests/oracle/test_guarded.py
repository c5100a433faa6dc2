"""Guards as wide as likely overruns, gaps that are guards too, and poison that tells what was not
written from what was read."""

import numpy as np
import pytest

from refcoll.oracle.calls import CONTIGUOUS, MISALIGNED, STRIDED
from refcoll.oracle.guarded import Guarded, gap, poison, poisoned
from refcoll.oracle.mutants.beyond import padded
from refcoll.testing.values import DTYPES, dtype_named

LAYOUTS = (CONTIGUOUS, STRIDED, MISALIGNED)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_writing_within_is_fine_and_beyond_is_seen(dtype, shift, layout):
    buffer = Guarded(5, dtype_named(dtype), shift, layout=layout)
    buffer.array[:] = 1
    assert buffer.broken() is None
    padded(buffer.array[-1:], 3)[-1:] = 1
    assert "behind the end" in buffer.broken()


def test_writing_ahead_is_seen_too():
    buffer = Guarded(5, np.dtype("f4"))
    padded(buffer.array, 0, 2)[0] = 1
    assert buffer.broken() == "up to 8 bytes ahead of the start of a buffer"


@pytest.mark.parametrize("count", [0, 5, 3000])
def test_a_page_and_a_buffer_s_length_beyond_either_end_are_seen(count):
    """In elements of eight bytes: 512 are a page."""
    far = max(512, count)
    behind, ahead = (Guarded(count, np.dtype("i8"), shift=1) for _ in range(2))
    padded(behind.array, far)[-1:] = 1
    padded(ahead.array, 0, far)[:1] = 1
    assert f"({far} elements) behind the end" in behind.broken()
    assert f"({far} elements) ahead of the start" in ahead.broken()


def test_what_lies_between_strided_elements_is_guarded():
    buffer = Guarded(5, np.dtype("i4"), layout=STRIDED)
    assert buffer.array.strides == (8,)
    padded(buffer.array, 0)[:4] = 1  # elements 0 and 1, and what follows each
    assert buffer.broken() == "between the elements of a strided buffer, behind element 0"
    raw = padded(buffer.array, 5).view(np.uint8)
    assert raw[16:20].tobytes() == poison(np.dtype("i4")).tobytes()
    assert raw[20:24].tobytes() == gap(np.dtype("i4")).tobytes()


def test_one_buffer_copied_over_another_beyond_their_ends_is_seen():
    given, got = Guarded(5, np.dtype("f4")), Guarded(5, np.dtype("f4"), output=True)
    padded(got.array, 1)[:] = padded(given.array, 1)
    assert got.broken() == "up to 4 bytes behind the end of a buffer"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_poison_stays_until_it_is_written(dtype, layout):
    values = Guarded(4, dtype_named(dtype), layout=layout).array
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


@pytest.mark.parametrize("count", [1, 131, 5000])
@pytest.mark.parametrize("dtype", ["int8", "float32", "complex128"])
def test_addresses(count, dtype):
    """A multiple of 64, an element further, and a byte further than either."""
    width = dtype_named(dtype).itemsize
    for layout in LAYOUTS:
        for shift in (0, 1):
            array = Guarded(count, dtype_named(dtype), shift, layout=layout).array
            assert array.ctypes.data % 64 == shift * width + (layout == MISALIGNED)


def test_no_poison_is_an_extreme_value():
    for dtype in ("int8", "uint8", "int16", "uint64"):
        value = int(poison(np.dtype(dtype)).view(dtype)[0])
        assert value not in (np.iinfo(dtype).min, np.iinfo(dtype).max, 0)
