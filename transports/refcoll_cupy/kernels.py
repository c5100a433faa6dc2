"""The kernels, as CUDA C: one source for each thing that is done to each dtype.

They mean what the host's operators mean (the table in ``refcoll.operators``), to the bit but
for the payload of NaNs.  So they are compiled without contraction to fused multiply-add, which
would round a complex product otherwise; 16-bit floats are widened to float, merged there and
rounded once, as numpy and ml_dtypes do; and zeros of unlike sign are told apart in min and max.

The source needs no header, and is C++ that a host's compiler takes too: so the tests compare
it with the host's operators, bit by bit, without a GPU.  Two conversions are the device's own
instructions where it is compiled for one; of these the tests see only the other form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from refcoll.transport import ArgumentError
from refcoll_cupy.device_code import KERNEL, MERGE, PRELUDE

OPTIONS = ("--fmad=false", "--ftz=false", "--prec-div=true")
"""For the device's compiler: no fused multiply-add, subnormals kept, division exact."""


@dataclass(frozen=True)
class _Type:
    """A dtype in C: how it is stored, and as what it is worked on."""

    stored: str
    worked: str
    load: str = ""
    store: str = ""


def _plain(name: str) -> _Type:
    return _Type(name, name)


_TYPES = {
    "bool": _plain("unsigned char"),
    "int8": _plain("signed char"),
    "int16": _plain("short"),
    "int32": _plain("int"),
    "int64": _plain("long long"),
    "uint8": _plain("unsigned char"),
    "uint16": _plain("unsigned short"),
    "uint32": _plain("unsigned int"),
    "uint64": _plain("unsigned long long"),
    "float16": _Type("unsigned short", "float", "from_half", "to_half"),
    "bfloat16": _Type("unsigned short", "float", "from_bfloat", "to_bfloat"),
    "float32": _plain("float"),
    "float64": _plain("double"),
    "complex64": _plain("Complex<float>"),
    "complex128": _plain("Complex<double>"),
}
_FLOATS = ("float16", "bfloat16", "float32", "float64")


def require(dtype: np.dtype[Any]) -> None:
    """Raise ArgumentError unless there are kernels for ``dtype``."""
    if dtype.name not in _TYPES:
        raise ArgumentError(
            f"dtype={dtype.name} has no kernels on the device: use one of {', '.join(_TYPES)}"
        )


@lru_cache(maxsize=256)
def merge(op: str, dtype: str) -> str:
    """merge(left, right, out, n): out = left op right, where out may be either."""
    made = _TYPES[dtype]

    def one(left: str, right: str, out: str) -> str:
        a, b = _loaded(made, left), _loaded(made, right)
        return f"{made.worked} a = {a}, b = {b}; {out} = {_stored(made, _merged(op, dtype))};"

    of_pack, single = (
        one("l.part[j]", "r.part[j]", "l.part[j]"),
        one("left[i]", "right[i]", "out[i]"),
    )
    return PRELUDE + MERGE.format(type=made.stored, of_pack=of_pack, single=single)


@lru_cache(maxsize=64)
def finish(op: str, dtype: str) -> str | None:
    """finish(values, size, n): what ``op`` does to the merge of all; None for most."""
    made = _TYPES[dtype]
    if op == "avg":
        body = _divided(dtype, made)
    elif op.startswith("logical"):
        body = "values[i] = values[i] != 0;"
    else:
        return None
    return _source("finish", f"{made.stored}* values, int size", body)


@lru_cache(maxsize=64)
def convert(source: str, to: str) -> str:
    """convert(source, to, n), within a kind: as numpy converts, which rounds once."""
    given, made = _TYPES[source], _TYPES[to]
    value = _loaded(given, "source[i]")
    if made.worked.startswith("Complex"):
        part = made.worked[8:-1]
        body = f"to[i].real = ({part})source[i].real; to[i].imag = ({part})source[i].imag;"
    else:
        narrowed = "to_odd" if (source, to) == ("float64", "float16") else f"({made.worked})"
        body = f"to[i] = {_stored(made, f'{narrowed}({value})')};"
    return _source("convert", f"const {given.stored}* source, {made.stored}* to", body)


def _source(name: str, arguments: str, body: str) -> str:
    return PRELUDE + KERNEL.format(name=name, arguments=arguments, body=body)


def _loaded(made: _Type, value: str) -> str:
    return f"{made.load}({value})" if made.load else value


def _stored(made: _Type, value: str) -> str:
    return f"{made.store}({value})" if made.store else f"({made.stored})({value})"


def _divided(dtype: str, made: _Type) -> str:
    if dtype.startswith("complex"):
        part = made.worked[8:-1]
        return f"values[i].real /= ({part})size; values[i].imag /= ({part})size;"
    value = f"{_loaded(made, 'values[i]')} / ({made.worked})size"
    return f"values[i] = {_stored(made, value)};"


def _merged(op: str, dtype: str) -> str:
    """An expression in a and b."""
    if dtype.startswith("complex"):
        return _complex(op, _TYPES[dtype].worked)
    table = {"sum": "a + b", "avg": "a + b", "prod": "a * b", **_LOGIC}
    if dtype in _FLOATS:
        table |= {"min": _extremum("<", "-((-a) + (-b))"), "max": _extremum(">", "a + b")}
    else:
        table |= {"min": "a < b ? a : b", "max": "a > b ? a : b"}
        if op in ("sum", "prod"):  # signed overflow has no meaning in C; modulo 2^64 has
            wide = "(unsigned long long)"
            return table[op].replace("a", f"{wide}a").replace("b", f"{wide}b")
    return table[op]


_LOGIC = {
    "bitwise_and": "a & b",
    "bitwise_or": "a | b",
    "bitwise_xor": "a ^ b",
    "logical_and": "a != 0 && b != 0",
    "logical_or": "a != 0 || b != 0",
    "logical_xor": "(a != 0) != (b != 0)",
}


def _extremum(first: str, zeros: str) -> str:
    """NaN if either is; of two zeros what ``zeros`` makes of their signs."""
    settled = f"a == 0 && b == 0 ? {zeros} : a"
    return f"a != a ? a : b != b ? b : a {first} b ? a : b {first} a ? b : {settled}"


def _complex(op: str, worked: str) -> str:
    if op == "prod":
        real = "a.real * b.real - a.imag * b.imag"
        imag = "a.real * b.imag + a.imag * b.real"
    else:
        real, imag = "a.real + b.real", "a.imag + b.imag"
    return f"{worked}{{{real}, {imag}}}"
