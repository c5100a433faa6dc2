"""Inputs by design: each kind makes another kind of fault show.

    coded      small whole numbers, another for each rank and element: every order of adding
               is exact, so a wrong rank, element, factor or operator shows
    rough      floats of many magnitudes: a partial sum kept in too little precision shows
    special    NaN, infinities and zeros of both signs, on each rank in turn
    tiny       subnormal floats: flushing to zero shows
    huge       floats at the end of the range: sums that overflow, or cancel
    extremes   integers around the sign bit: the wrong signedness shows
    bits       any bits at all, for what is only moved

All but rough inputs are exact in any order, for up to 128 ranks.  Inputs follow from (seed,
probe, call, rank), so that every rank knows all ranks' inputs.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.calls import Call
from refcoll.testing.values import dtype_named

PROBES = ("coded", "rough", "special", "tiny", "huge", "extremes", "bits")


def probes_for(call: Call) -> list[str]:
    """Those that say something about the call."""
    if call.op is None:
        return ["bits"]
    of = kind(dtype_named(call.dtype))
    found = ["coded"]
    if of == "f":
        found += ["rough"] if call.op in ("sum", "avg", "prod") else []
        found += ["special"]
        found += ["tiny", "huge"] if call.op in ("sum", "min", "max") else []
    if of == "i" and call.op in ("min", "max", "sum"):
        found.append("extremes")
    return found


def inputs(probe: str, call: Call, size: int, seed: int) -> list[Array]:
    """All ranks' inputs, by rank."""
    lengths = [call.input_length(rank, size) for rank in range(size)]
    dtype = dtype_named(call.dtype)
    make = {
        "coded": _coded, "rough": _rough, "special": _special, "tiny": _tiny, "huge": _huge,
        "extremes": _extremes, "bits": _bits,
    }[probe]  # fmt: skip
    generators = [np.random.default_rng(_key(seed, probe, call, rank)) for rank in range(size)]
    return [make(call, dtype, lengths[rank], rank, size, generators[rank]) for rank in range(size)]


def _key(seed: int, probe: str, call: Call, rank: int) -> Sequence[int]:
    return seed, zlib.crc32(f"{probe} {call}".encode()), rank


Generator = np.random.Generator


def _coded(
    call: Call, dtype: np.dtype[Any], length: int, rank: int, size: int, generator: Generator
) -> Array:  # fmt: skip
    """So small that no order of merging rounds or overflows; differs by rank and element."""
    of = kind(dtype)
    if of == "b":
        return generator.integers(0, 2, length).astype(dtype)
    if call.op == "prod":
        return _factors(dtype, length, rank, size, generator)
    if call.op is not None and call.op.startswith("bitwise"):
        whole = np.frombuffer(generator.bytes(length * dtype.itemsize), dtype)
        return np.asarray(whole * generator.integers(0, 2, length).astype(dtype))
    if call.op is not None and call.op.startswith("logical"):
        truths = np.array([0, 0, 1, 2, 1 << 8 * dtype.itemsize - 2], dtype)
        return np.asarray(truths[generator.integers(0, len(truths), length)])
    most = _most(dtype, size)
    least = 0 if dtype.kind == "u" else -most
    values = generator.integers(least, most + 1, length)
    if of == "c":
        return (values + 1j * generator.integers(-most, most + 1, length)).astype(dtype)
    return values.astype(dtype)


def _factors(
    dtype: np.dtype[Any], length: int, rank: int, size: int, generator: Generator
) -> Array:  # fmt: skip
    """Units, but of each element one rank has a whole number of all digits."""
    units = np.array(_UNITS["u" if dtype.kind == "u" else kind(dtype)])
    signs = units[generator.integers(0, len(units), length)].astype(dtype)
    most = _most(dtype, 2) if kind(dtype) != "c" else 3
    large = generator.integers(1, most + 1, length).astype(dtype)
    alone = np.arange(length) % size == rank
    return np.asarray(signs * np.where(alone, large, np.ones(1, dtype)), dtype)


_UNITS: dict[str, list[complex]] = {"i": [1, -1], "u": [1], "f": [1.0, -1.0], "c": [1, -1, 1j, -1j]}


def _most(dtype: np.dtype[Any], size: int) -> int:
    """The largest magnitude of which ``size`` may be added, or averaged, exactly."""
    digits = {"i": 8 * dtype.itemsize - 1, "f": 0, "c": 0}.get(kind(dtype), 0)
    if not digits:
        part = np.zeros(1, dtype).real.dtype
        digits = _DIGITS.get(part.name, 53)
    most = 2**20 if digits <= 24 else 2**digits  # float32 might be kept in less: let that show
    return int(max(1, min(2**digits // size - 1, most)))


def _rough(
    call: Call, dtype: np.dtype[Any], length: int, rank: int, size: int, generator: Generator
) -> Array:  # fmt: skip
    """Of magnitudes that differ by up to the precision; products stay in range."""
    wide = generator.standard_normal(length)
    if call.op == "prod":
        return (np.sign(wide) * 2.0 ** generator.uniform(-0.5, 0.5, length)).astype(dtype)
    span = {"float16": 5, "bfloat16": 8, "float32": 20}.get(dtype.name, 40)
    return (wide * 2.0 ** generator.integers(-span // 2, span // 2 + 1, length)).astype(dtype)


def _special(
    call: Call, dtype: np.dtype[Any], length: int, rank: int, size: int, generator: Generator
) -> Array:  # fmt: skip
    """Element i has pattern i mod 6, whose odd value is on rank (i // 6) mod N.

    In place the zeros come first, so that vectors of one or two elements have them, too.
    """
    most = 1 if call.op == "prod" else 3  # so that the product of the others does not round
    values = generator.integers(-most, most + 1, length).astype(np.float64)
    place = np.arange(length)
    pattern, holder = (place + 5 * call.in_place) % 6, place // 6 % size
    mine, next_to = holder == rank, (holder + 1) % size == rank
    values[(pattern == 0) & mine] = np.nan
    values[(pattern == 1) & mine] = np.inf
    values[(pattern == 2) & mine] = -np.inf
    values[(pattern == 3) & mine] = np.inf
    if size > 1:
        values[(pattern == 3) & next_to] = -np.inf
    values[pattern == 4] = -0.0
    zeros = pattern == 5
    values[zeros] = np.where(mine[zeros], -0.0, 0.0)
    return values.astype(dtype)


def _tiny(
    call: Call, dtype: np.dtype[Any], length: int, rank: int, size: int, generator: Generator
) -> Array:  # fmt: skip
    """Multiples of the least subnormal, all sums of which are subnormal and exact."""
    least = np.array(1, _INTEGERS[dtype.itemsize]).view(dtype).astype(np.float64)
    most = max(1, min(7, 2 ** (_DIGITS.get(dtype.name, 53) - 1) // size))
    return (generator.integers(1, most + 1, length) * least).astype(dtype)


def _huge(
    call: Call, dtype: np.dtype[Any], length: int, rank: int, size: int, generator: Generator
) -> Array:  # fmt: skip
    """Element i has pattern i mod 3: half of the greatest number everywhere, of one sign; the
    greatest on one rank; the greatest and its opposite on two."""
    import ml_dtypes

    greatest = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
    place = np.arange(length)
    pattern, holder = place % 3, place // 3 % size
    signs = np.where(place // 3 % 2, 1.0, -1.0)
    values = np.where(pattern == 0, signs * greatest / 2, 0.0)
    values[(pattern != 0) & (holder == rank)] = greatest
    if size > 1:
        values[(pattern == 2) & ((holder + 1) % size == rank)] = -greatest
    return values.astype(dtype)


_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24}
_INTEGERS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def _extremes(
    call: Call, dtype: np.dtype[Any], length: int, rank: int, size: int, generator: Generator
) -> Array:  # fmt: skip
    """Around the sign bit; of a sum only one rank has a large value, so that it fits."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    half = int(high) // 2 + 1 if dtype.kind == "u" else 0
    if call.op == "sum":
        large = [v for v in (half, int(high) - size, int(low) if low else half - 1) if v >= low]
        alone = np.arange(length) % size == rank
        chosen = np.array(large, object)[generator.integers(0, len(large), length)]
        return np.where(alone, chosen, 0).astype(dtype)
    values = np.array([int(low), 0, 1, half, max(half - 1, 0), int(high)], object)
    return values[generator.integers(0, len(values), length)].astype(dtype)


def _bits(
    call: Call, dtype: np.dtype[Any], length: int, rank: int, size: int, generator: Generator
) -> Array:  # fmt: skip
    """Any bits, NaNs with payloads included; of bools 0 and 1; of floats some -0.0, too."""
    if dtype.kind == "b":
        return generator.integers(0, 2, length).astype(dtype)
    values = np.frombuffer(generator.bytes(length * dtype.itemsize), dtype).copy()
    if kind(dtype) == "f":
        chosen = generator.integers(0, 24, length)
        for number, special in enumerate((-0.0, 0.0, np.inf)):
            values[chosen == number] = special
        subnormal = chosen == 3
        values[subnormal] = _tiny(call, dtype, int(subnormal.sum()), rank, size, generator)
    return values
