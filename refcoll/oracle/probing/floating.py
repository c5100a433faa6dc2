"""Floats: of many magnitudes, without numbers, next to zero, and at the end of the range.

Complex numbers have such values in both of their parts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from refcoll.operators import Array
from refcoll.oracle import floats
from refcoll.oracle.probing.asked import Asked

Make = Callable[[Asked], Array]


def _in_parts(make: Make) -> Make:
    """Of complex numbers the real parts first, then the imaginary ones."""

    def made(asked: Asked) -> Array:
        if asked.kind != "c":
            return make(asked)
        real, imaginary = make(asked.part), make(asked.part)
        return floats.complexes(real, imaginary[::-1], asked.dtype)

    made.__doc__ = make.__doc__
    return made


@_in_parts
def rough(asked: Asked) -> Array:
    """Of magnitudes that differ by up to the precision; products stay in range."""
    wide = asked.generator.standard_normal(asked.length)
    if asked.call.op == "prod":
        most = min(0.5, _RANGE.get(asked.dtype.name, 120) / asked.size)
        powers = asked.generator.uniform(-most, most, asked.length)
        if asked.call.dtype.startswith("complex"):
            powers -= 0.5  # of both parts: so it is the absolute value that is near 1
        return (np.sign(wide) * 2.0**powers).astype(asked.dtype)
    span = {"float16": 5, "bfloat16": 8, "float32": 20}.get(asked.dtype.name, 40)
    exponents = asked.generator.integers(-span // 2, span // 2 + 1, asked.length)
    return (wide * 2.0**exponents).astype(asked.dtype)


_RANGE = {"float16": 12}
"""Powers of two within which a product and all its parts stay normal."""


@_in_parts
def special(asked: Asked) -> Array:
    """Element i has pattern i mod 6, whose odd value is on rank (i // 6) mod N.

    In place the zeros come first, so that vectors of one or two elements have them, too.
    """
    exact = 2**asked.digits // asked.size
    most = 1 if asked.call.op == "prod" else max(1, min(3, exact))  # no sum of others rounds
    values = asked.few(asked.whole(-most, most), 2**asked.digits).astype(np.float64)
    pattern, holder = (asked.place + 5 * asked.call.in_place) % 6, asked.place // 6 % asked.size
    mine, next_to = holder == asked.rank, (holder + 1) % asked.size == asked.rank
    values[(pattern == 0) & mine] = np.nan
    values[(pattern == 1) & mine] = np.inf
    values[(pattern == 2) & mine] = -np.inf
    values[(pattern == 3) & mine] = np.inf
    if asked.size > 1:
        values[(pattern == 3) & next_to] = -np.inf
    values[pattern == 4] = -0.0
    zeros = pattern == 5
    values[zeros] = np.where(mine[zeros], -0.0, 0.0)
    return values.astype(asked.dtype)


@_in_parts
def tiny(asked: Asked) -> Array:
    """Multiples of the least subnormal, all sums of which are subnormal and exact.

    Of a product only one rank has such a factor, and the others 1 or -1.
    """
    least = floats.least(asked.dtype)
    most = max(1, min(7, (2 ** (asked.digits - 1) - 1) // asked.size))
    values = asked.whole(1, most)
    if asked.call.op == "prod":
        return np.where(_alone(asked), values * least, _signs(asked)).astype(asked.dtype)
    return (asked.few(values, 2 ** (asked.digits - 1) - 1) * least).astype(asked.dtype)


def _alone(asked: Asked) -> Array:
    """Of each element one rank."""
    return np.asarray(asked.place % asked.size == asked.rank)


def _signs(asked: Asked) -> Array:
    return asked.whole(0, 1) * 2.0 - 1


@_in_parts
def huge(asked: Asked) -> Array:
    """Element i has pattern i mod 3: half of the greatest number everywhere, of one sign; the
    greatest on one rank; the greatest and its opposite on two.

    Of a product, whose other factors are 1 and -1: the greatest number; that and 2; the
    greatest and the least power of two.
    """
    info, place = floats.info(asked.dtype), asked.place
    greatest = float(info.max)
    pattern, holder = place % 3, place // 3 % asked.size
    mine, next_to = holder == asked.rank, (holder + 1) % asked.size == asked.rank
    if asked.call.op == "prod":
        values = np.where(mine, np.where(pattern == 2, 2.0 ** (info.maxexp - 1), greatest),
                          _signs(asked))  # fmt: skip
        partner = np.where(pattern == 2, float(info.smallest_normal), 2.0)
        return np.where((pattern > 0) & next_to & ~mine, partner, values).astype(asked.dtype)
    signs = np.where(place // 3 % 2, 1.0, -1.0)
    values = np.where(pattern == 0, signs * greatest / 2, 0.0)
    values[(pattern != 0) & mine] = greatest
    values[(pattern == 2) & next_to & ~mine] = -greatest
    return values.astype(asked.dtype)
