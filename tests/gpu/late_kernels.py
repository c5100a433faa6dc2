"""What kernels do, by their source, as the host's operators do it: see ``late_cuda``."""

from __future__ import annotations

import ctypes

import numpy as np

from checking_bits import CONVERSIONS, PAIRS
from refcoll.operators import OPERATORS
from refcoll.testing.values import dtype_named
from refcoll_cupy import kernels


def _array(given, index, count, dtype):
    octets = (ctypes.c_uint8 * (count * dtype.itemsize)).from_address(given[index][0])
    return np.frombuffer(octets, dtype)


def _merge(op, name):
    def launched(given):
        count = given[3][0]
        arrays = [_array(given, i, count, dtype_named(name)) for i in range(3)]
        return lambda: OPERATORS[op].merge(*arrays)

    return launched


def _finish(op, name):
    def launched(given):
        values = _array(given, 0, given[2][0], dtype_named(name))
        size = ctypes.cast(given[1], ctypes.POINTER(ctypes.c_int))[0]
        return lambda: OPERATORS[op].last(values, size)

    return launched


def _convert(one, other):
    def launched(given):
        source, to = (
            _array(given, i, given[2][0], dtype_named(name)) for i, name in enumerate((one, other))
        )
        return lambda: np.copyto(to, source, casting="unsafe")

    return launched


KERNELS = (
    {kernels.merge(*pair): _merge(*pair) for pair in PAIRS}
    | {code: _finish(*pair) for pair in PAIRS if (code := kernels.finish(*pair)) is not None}
    | {kernels.convert(*pair): _convert(*pair) for pair in CONVERSIONS}
)
"""By source: makes of a launch's arguments, pointers to each, what it is to do in its turn."""
