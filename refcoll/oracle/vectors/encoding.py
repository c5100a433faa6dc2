"""Numbers as text that loses nothing, and back.

bool                   0 or 1
integers               decimal strings: JSON's own numbers are doubles in many languages
floats                 C99 hexadecimal: "0x1.8p+1", "-0x0p+0", "inf", "nan"
complex                pairs of those
matrix2x2              four integers, row by row
string                 itself
bits                   the element's bytes as one hexadecimal number, high byte first
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from refcoll.operators import Array, kind
from refcoll.testing.values import dtype_named

MATRIX, STRING = "matrix2x2", "string"
"""Not numpy's: rows of four int64, and str."""


def kind_named(dtype: str) -> str:
    """b, i, f, c; m for a matrix, s for a string."""
    special = {MATRIX: "m", STRING: "s"}
    return special[dtype] if dtype in special else kind(dtype_named(dtype))


def array_of(values: Any, dtype: str) -> Array:
    """As numpy holds elements of that name."""
    if dtype == MATRIX:
        return np.asarray(values, np.int64).reshape(-1, 4)
    return np.asarray(values, "U64" if dtype == STRING else dtype_named(dtype))


def encoded(values: Array, dtype: str) -> list[Any]:
    """One entry an element."""
    return [_ENCODERS[kind_named(dtype)](each) for each in values]


def decoded(texts: Sequence[Any], dtype: str) -> Array:
    """The array that ``encoded`` was given, but for NaNs' payloads."""
    return array_of([_DECODERS[kind_named(dtype)](each) for each in texts], dtype)


def bits(values: Array) -> list[str]:
    """Two digits a byte."""
    width = values.dtype.itemsize
    # Little-endian first, whatever the machine: then byte by byte from the high end.
    raw = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
    return [raw[at : at + width][::-1].hex() for at in range(0, len(raw), width)]


def from_bits(texts: Sequence[str], dtype: str) -> Array:
    """The array of those bits."""
    raw = b"".join(bytes.fromhex(each)[::-1] for each in texts)
    native = dtype_named(dtype)
    return np.frombuffer(raw, native.newbyteorder("<")).astype(native, copy=False).copy()


def hexadecimal(value: float) -> str:
    """C99's %a, without trailing zeros."""
    sign, _, rest = value.hex().rpartition("0x")
    if not rest[0].isdigit():
        return value.hex()  # inf, -inf, nan
    digits, _, exponent = rest.partition("p")
    return f"{sign}0x{digits.rstrip('0').rstrip('.') or '0'}p{exponent}"


def _integer(value: Any) -> str:
    return str(int(value))


def _complex(value: Any) -> list[str]:
    return [hexadecimal(float(value.real)), hexadecimal(float(value.imag))]


_ENCODERS: dict[str, Any] = {
    "b": int, "i": _integer, "f": lambda value: hexadecimal(float(value)), "c": _complex,
    "m": lambda row: [_integer(each) for each in row], "s": str,
}  # fmt: skip
_DECODERS: dict[str, Any] = {
    "b": bool, "i": int, "f": float.fromhex, "s": str,
    "c": lambda pair: complex(float.fromhex(pair[0]), float.fromhex(pair[1])),
    "m": lambda row: [int(each) for each in row],
}  # fmt: skip
