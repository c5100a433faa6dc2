"""Inputs whose merged value is known exactly, whatever the order of merging.

Every rank's input depends on the rank and on the element, so that a rank counted twice for
another missing, or a chunk in the wrong place, shows.  Numbers are small enough for every
order to be exact in every dtype.  What the result must be is computed by numpy over all
ranks at once, independently of how refcoll merges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np

from refcoll.operators import Array, kind

DTYPES = (
    "bool",
    "int8", "int16", "int32", "int64",
    "uint8", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip


def dtype_named(name: str) -> np.dtype[np.generic]:
    """The dtype of that name, bfloat16 and float8 included."""
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name, name))


def rank_input(rank: int, count: int, dtype: np.dtype[np.generic], op: str) -> Array:
    """The input of ``rank``: ``count`` elements, for merging with ``op``."""
    i = np.arange(count)
    if op == "prod":
        return _factors(rank, i, dtype)
    mixed = (i * 7 + rank * 5 + (i + 3) * (rank + 1) * 11 + i // 13) % 19
    if kind(dtype) == "b":
        return (mixed % 3 > 0).astype(dtype)
    if op.startswith(("bitwise", "logical")):
        return (mixed * (mixed % 4 > 0) * 5 % 128).astype(dtype)
    if kind(dtype) == "f" and dtype.itemsize <= 2:
        return (mixed % 3 - 1).astype(dtype)  # bfloat16 counts exactly to 256, and no further
    signed = mixed - 9 if np.issubdtype(dtype, np.signedinteger) or kind(dtype) in "fc" else mixed
    if kind(dtype) == "c":
        return (signed + 1j * ((mixed * 3 + rank) % 7)).astype(dtype)
    return signed.astype(dtype)


def _factors(rank: int, i: Array, dtype: np.dtype[np.generic]) -> Array:
    """Units, and now and then a 2: their products are exact."""
    if kind(dtype) == "c":
        table = np.array([1, 1j, -1, -1j, 1, 1j, 2, -1])
    elif np.issubdtype(dtype, np.unsignedinteger):
        table = np.array([1, 3, 1, 1, 1, 1, 2, 1])
    else:
        table = np.array([1, -1, 1, 1, -1, 1, 2, -1])
    factors: Array = table.astype(dtype)[(i * 5 + rank * 3 + i // 7) % 8]
    return factors


@lru_cache(maxsize=32)
def merged(size: int, count: int, dtype: np.dtype[np.generic], op: str) -> Array:
    """What ``op`` over the inputs of all ranks must give; not to be written to."""
    inputs = np.stack([rank_input(rank, count, dtype, op) for rank in range(size)])
    wide = inputs.astype(
        {"b": "bool", "i": "int64", "f": "float64", "c": "complex128"}[kind(dtype)]
    )
    if np.issubdtype(dtype, np.uint64):
        wide = inputs.astype("uint64")
    total = np.asarray(MERGES[op](wide)).astype(dtype)
    return _divided(total, size) if op == "avg" else total


def _divided(total: Array, size: int) -> Array:
    """Each part divided by ``size`` exactly, and rounded once."""

    def rounded(part: Array) -> Array:
        wide = np.dtype("longdouble" if part.dtype.itemsize > 4 else "float64")
        quotients: Array = (part.astype(wide) / wide.type(size)).astype(part.dtype)
        return quotients

    if total.dtype.kind != "c":
        return rounded(total)
    divided = np.empty_like(total)
    divided.real, divided.imag = rounded(total.real), rounded(total.imag)
    return divided


def _sum(rows: Array) -> Array:
    """Integers modulo 2^bits of their own dtype."""
    total: Array = np.add.reduce(rows, axis=0, dtype=rows.dtype)
    return total


MERGES: Mapping[str, Callable[[Array], Array]] = {
    "sum": _sum,
    "avg": _sum,
    "prod": lambda x: np.multiply.reduce(x, axis=0, dtype=x.dtype),
    "min": lambda x: np.minimum.reduce(x, axis=0),
    "max": lambda x: np.maximum.reduce(x, axis=0),
    "bitwise_and": lambda x: np.bitwise_and.reduce(x, axis=0),
    "bitwise_or": lambda x: np.bitwise_or.reduce(x, axis=0),
    "bitwise_xor": lambda x: np.bitwise_xor.reduce(x, axis=0),
    "logical_and": lambda x: np.all(x, axis=0),
    "logical_or": lambda x: np.any(x, axis=0),
    "logical_xor": lambda x: np.count_nonzero(x, axis=0) % 2,
}
"""All ranks' rows merged at once, without any schedule; a sum that is not divided yet for avg."""
