"""The exact sum of squares, which does not depend on how numbers are cut, ordered or summed.

Rounded sums depend on their order, so a norm of shards would differ from that of the whole in
its last bits.  Here nothing is rounded before the end.  A finite float is M 2^e, M an integer
of 24 digits (float32 and narrower) or 53 (float64), so its square is an integer of units

    x^2 = M^2 2^(2 (e - least)) units,     unit = (2^least)^2,    2^least: the least subnormal

Squares of one exponent are added up as integers below 2^53, which float64 holds exactly (by
``np.bincount``); all exponents together are one Python integer.  Between ranks it travels in
words of 32 bits, each in an int64, whose sums over up to 2^31 ranks are exact in any order.

float64: M = H 2^27 + L, and M^2 = H^2 2^54 + H L 2^28 + L^2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, isqrt, ldexp, nan
from typing import Any

import numpy as np

from refcoll.operators import Array

_BLOCK = 1 << 16
"""Elements at a time: they stay in a cache, and sums of 2^27 each stay below 2^53."""
_HALF = 27
_WORD = 32


@dataclass(frozen=True)
class Format:
    """What the floats are that are squared."""

    digits: int
    least: int
    """2^least is the least number above 0."""
    most: int
    """All are below 2^most."""

    @property
    def words(self) -> int:
        """Of 32 bits, for the sum of up to 2^64 squares."""
        return -(-(2 * (self.most - self.least) + 64) // _WORD)


SINGLE, DOUBLE = Format(24, -149, 128), Format(53, -1074, 1024)


def format_of(dtypes: Iterable[np.dtype[Any]]) -> Format:
    """The narrower that holds all of them.  What is wider than float64 is rounded to it."""
    return SINGLE if all(each.itemsize <= 4 for each in dtypes) else DOUBLE


class Squares:
    """A sum of squares, of floats of one format."""

    def __init__(self, of: Format) -> None:
        self.format = of
        self.units = 0
        """The sum over what is finite, exact."""
        self.infinities = self.nans = 0

    def add(self, values: Array) -> None:
        """Add the square of every element."""
        flat = values.reshape(-1)
        for start in range(0, flat.size, _BLOCK):
            with np.errstate(all="ignore"):  # signalling NaNs; what only a wider float holds
                block = flat[start : start + _BLOCK].astype(np.float64)
            finite = np.isfinite(block)
            if not finite.all():
                self.nans += int(np.isnan(block).sum())
                self.infinities += int(np.isinf(block).sum())
                block = block[finite]
            if block.size:
                self.units += self._sum(block)

    def _sum(self, block: Array) -> int:
        """Of finite float64 values, in units."""
        digits, least = self.format.digits, self.format.least
        mantissas, exponents = np.frexp(block)
        integers = np.abs(ldexp(1.0, digits) * mantissas).astype(np.int64)
        lowest = int(exponents.min())
        places = exponents - lowest
        high, low = integers >> _HALF, integers & ((1 << _HALF) - 1)
        total = _binned(low * low, places)
        if high.any():
            total += _binned(high * low, places) << (_HALF + 1)
            total += _binned(high * high, places) << (2 * _HALF)
        shift = 2 * (lowest - digits - least)
        return total << shift if shift >= 0 else total >> -shift  # only zeros are shifted out

    def words(self) -> Array:
        """To be added up over ranks: how many NaNs, infinities, and the sum, low words first."""
        words = self.format.words
        data = self.units.to_bytes(words * _WORD // 8, "little")
        numbers = np.frombuffer(data, "<u4").astype(np.int64)
        return np.concatenate([np.array([self.nans, self.infinities]), numbers])

    def take(self, words: Array) -> None:
        """Become what the words of several ranks, added up, say."""
        self.nans, self.infinities, *numbers = words.tolist()
        self.units = sum(each << (_WORD * place) for place, each in enumerate(numbers))

    def root(self) -> float:
        """The float64 nearest to the exact square root; NaN or infinity where one was added."""
        if self.nans or self.infinities:
            return nan if self.nans else inf
        root = isqrt(self.units << 128)
        sticky = root * root != self.units << 128  # below all digits: rounds as the rest would
        try:
            return (root | sticky) / (1 << 64 - self.format.least)
        except OverflowError:
            return inf


def _binned(terms: Array, places: Array) -> int:
    """The sum of terms 4^place, of integers below 2^54."""
    total = 0
    for part, shift in ((terms & ((1 << _HALF) - 1), 0), (terms >> _HALF, _HALF)):
        sums = np.bincount(places, part)
        for place in np.flatnonzero(sums).tolist():
            total += int(sums[place]) << (2 * place + shift)
    return total
