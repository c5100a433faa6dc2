"""Whether every kernel gives the host's bits: values that show it, and a part of check.py.

``arrays`` makes the arrays of a rank, as in ``checking_right``.
"""

from __future__ import annotations

import numpy as np

from checking_right import on_gpu
from refcoll.operators import OPERATORS, kind
from refcoll.testing.values import DTYPES, dtype_named
from refcoll_cupy import kernels

PAIRS = [
    (op.name, name)
    for name in DTYPES
    for op in OPERATORS.values()
    if kind(dtype_named(name)) in op.kinds
]
"""Every operator with every dtype that it is defined for."""
CONVERSIONS = [
    (one, other)
    for one in DTYPES
    for other in DTYPES
    if one != other and kind(dtype_named(one)) == kind(dtype_named(other))
]


def values(dtype, seed):
    """Every bit pattern of 16 bits and fewer; of wider dtypes random ones, special ones and, where
    there are such, subnormal ones too."""
    chance = np.random.default_rng(seed)
    if dtype == np.bool:
        return chance.integers(0, 2, 1000).astype(bool)
    raw = chance.integers(0, 256, 70_000 * dtype.itemsize, np.uint8).view(dtype)
    if dtype.itemsize <= 2:
        every = np.arange(1 << 8 * dtype.itemsize).astype(f"u{dtype.itemsize}").view(dtype)
        raw[: every.size] = chance.permutation(every)
    if kind(dtype) in "fc":
        with np.errstate(all="ignore"):
            usual = chance.normal(size=20_000) * 10.0 ** chance.integers(-6, 6, 20_000)
            special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 65504.0, 3.4e38, 6e-8,
                       1e-40, -2e-42, 5e-310]  # fmt: skip
            raw[:20_000], raw[-10_000:] = usual.astype(dtype), chance.choice(special, 10_000)
    return raw


def same_bits(found, wanted):
    """Where they are alike: but for the payload of NaNs, and in both parts of complex numbers."""
    if kind(found.dtype) == "c":
        return same_bits(found.real, wanted.real) & same_bits(found.imag, wanted.imag)
    one, other = np.ascontiguousarray(found), np.ascontiguousarray(wanted)
    bits = f"u{one.dtype.itemsize}"
    same = one.view(bits) == other.view(bits)
    if kind(one.dtype) == "f":
        with np.errstate(all="ignore"):  # ml_dtypes warns of some NaNs that it looks at
            same |= np.isnan(one) & np.isnan(other)
    return same


@np.errstate(all="ignore")
def bits(arrays=on_gpu, pairs=PAIRS, conversions=CONVERSIONS):
    """Every merge, what is done last, and every conversion, on a device."""
    made = arrays(0)
    made.attach()
    wrong = [f"{op} of {name}: {each}" for op, name in pairs for each in _wrong(made, op, name)]
    for one, to in conversions:
        source = values(dtype_named(one), 4)
        wanted = source.astype(dtype_named(to))
        found = made.from_host(np.empty_like(wanted))
        made.copy(found, made.from_host(source))
        wrong += _told(f"{one} to {to}", made.to_host(found), wanted)
    ran = len(pairs) + len(conversions)
    return {"ran": ran, "options": list(kernels.OPTIONS), "wrong": wrong, "right": not wrong}


def _wrong(made, op, name):
    dtype, operator = dtype_named(name), OPERATORS[op]
    left, right = (values(dtype, seed)[:-1] for seed in (1, 2))
    wanted = np.empty_like(left)
    operator.merge(left, right, wanted)
    found = made.from_host(left)
    made.merge(operator, dtype)(found, made.from_host(right), found)
    yield from _told("merged", made.to_host(found), wanted)
    if operator.last is not None:
        made.finish(operator, found, 3)
        operator.last(wanted, 3)
        yield from _told("finished", made.to_host(found), wanted)


def _told(what, found, wanted):
    """Where they differ, in words; nothing if they do not."""
    differ = np.flatnonzero(~same_bits(found, wanted))
    if differ.size:
        pair = (found[differ[0]], wanted[differ[0]])
        yield f"{what}: {differ.size} of {found.size}, such as {pair[0]!r}, not {pair[1]!r}"
