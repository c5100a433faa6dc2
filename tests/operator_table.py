"""The table at the top of refcoll/operators.py, written once more, and merges by it."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from refcoll.operators import OPERATORS

EXTENSIONS = [
    np.dtype(getattr(ml_dtypes, name))
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3", "float8_e3m4")
]
DTYPES = {
    "bool": [np.dtype(np.bool_)],
    "integer": [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)],
    "float": [np.dtype(f) for f in (np.float16, np.float32, np.float64, np.longdouble)]
    + EXTENSIONS,
    "complex": [np.dtype(c) for c in (np.complex64, np.complex128, np.clongdouble)],
}
EVERYTHING = [dtype for dtypes in DTYPES.values() for dtype in dtypes]
WITH_INFINITY = [d for d in DTYPES["float"] if d.name != "float8_e4m3fn"]

TABLE = {
    "sum": "integer float complex",
    "prod": "integer float complex",
    "min": "bool integer float",
    "max": "bool integer float",
    "avg": "float complex",
    "bitwise_and": "bool integer",
    "bitwise_or": "bool integer",
    "bitwise_xor": "bool integer",
    "logical_and": "bool integer",
    "logical_or": "bool integer",
    "logical_xor": "bool integer",
}
PYTHON = {
    "sum": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
    "min": min,
    "max": max,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "logical_and": lambda a, b: bool(a) and bool(b),
    "logical_or": lambda a, b: bool(a) or bool(b),
    "logical_xor": lambda a, b: bool(a) != bool(b),
}
"""What two integers come to, before they are wrapped into their dtype."""
DEFINED = [
    pytest.param(name, dtype, id=f"{name}-{dtype.name}")
    for name, groups in TABLE.items()
    for group in groups.split()
    for dtype in DTYPES[group]
]


def named(dtypes):
    return pytest.mark.parametrize("dtype", dtypes, ids=lambda d: d.name)


def merged(name, left, right, dtype):
    """One merge of two lists of values, written to a third array."""
    left, right = np.array(left).astype(dtype), np.array(right).astype(dtype)
    out = np.empty_like(left)
    OPERATORS[name].merge(left, right, out)
    return out


def wrapped(value, dtype):
    """Modulo 2^bits, into the range of the dtype."""
    info = np.iinfo(dtype)
    return (int(value) - info.min) % 2**info.bits + info.min
