"""What is right: exact values, rigorous bounds, and the freedom that standards leave.

    coded, tiny, extremes    the exact value: no order of merging rounds
    avg of those             exact sum over N, with N + 1 roundings allowed in any order
    rough sums               |got - exact| <= ((1+u)^(N-1) - 1) sum |x|, for any order of adding
    rough products           |got - exact| <= ((1+u)^(N-1) - 1) |exact|
    special                  IEEE 754: NaN if any is NaN, or +inf meets -inf; min and max may
                             propagate a NaN or ignore it, but by one rule in all elements
    zeros                    of either sign, where something is merged
    moved                    the same bits

u is half of the distance from 1 to the next number.  The bounds are Higham's (Accuracy and
Stability of Numerical Algorithms, 2nd ed., section 4.2); exact sums are ``math.fsum``'s, which
round once, and that rounding is allowed for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.calls import Call
from refcoll.testing.values import MERGES, dtype_named


@dataclass(frozen=True)
class Truth:
    """What one rank should get, and how far from it is right."""

    wanted: Array
    """In the call's dtype, rounded if need be."""
    check: Callable[[Array], Array]
    """check(got): which elements are wrong."""


def truth(probe: str, call: Call, inputs: Sequence[Array], rank: int) -> Truth | None:
    """For one rank; None where it gets nothing."""
    size = len(inputs)
    if call.output_length(rank, size) is None:
        return None
    if call.op is None:
        return _moved(call, inputs, rank)
    parts = merging(call, inputs, rank)
    dtype = dtype_named(call.dtype)
    if probe == "rough":
        return _bounded(call.op, parts, dtype)
    if probe == "special":
        return _special(call.op, parts)
    if probe == "huge":
        with np.errstate(over="ignore"):
            return _exact(merged(call.op, parts).astype(dtype))
    if call.op == "avg":
        return _whole_mean(parts) if kind(dtype) == "i" else _averaged(parts, dtype)
    if call.op.startswith("logical") and len(parts) == 1:
        return _unmerged(parts[0])
    return _exact(np.asarray(merged(call.op, parts), dtype))


def _unmerged(alone: Array) -> Truth:
    """A logical operator over one rank: as it is (MPI, where nothing is merged), or 0 or 1."""
    truth = np.asarray(alone != 0, alone.dtype)
    return Truth(truth, lambda got: np.asarray((got != truth) & (got != alone)))


def merging(call: Call, inputs: Sequence[Array], rank: int) -> Array:
    """What is merged into the rank's result, a row a rank."""
    if call.collective == "scan":
        return np.stack(inputs[: rank + 1])
    if call.collective == "exscan":
        return np.stack(inputs[:rank])
    whole = np.stack(inputs)
    if call.collective == "reduce_scatter":
        return whole[:, rank * call.count : (rank + 1) * call.count]
    return whole


def _moved(call: Call, inputs: Sequence[Array], rank: int) -> Truth:
    mine = slice(rank * call.count, (rank + 1) * call.count)
    match call.collective:
        case "broadcast":
            wanted = inputs[call.root]
        case "scatter":
            wanted = inputs[call.root][mine]
        case "all_to_all":
            wanted = np.concatenate([each[mine] for each in inputs])
        case _:
            wanted = np.concatenate(inputs)
    return Truth(wanted, lambda got: _other_bits(got, wanted))


def _other_bits(got: Array, wanted: Array) -> Array:
    """Elements of which any byte differs."""
    width = wanted.dtype.itemsize
    one, other = (np.ascontiguousarray(x).view(np.uint8).reshape(-1, width) for x in (got, wanted))
    differs: Array = (one != other).any(axis=1)
    return differs


def merged(op: str, parts: Array) -> Array:
    """The rows merged, exactly for all but rough values, in a wide dtype."""
    of = kind(parts.dtype)
    if of == "f":
        parts = parts.astype(np.float64)
    elif of == "c":
        parts = parts.astype(np.complex128)
    with np.errstate(all="ignore"):
        return np.asarray(MERGES[op](parts))


def _exact(wanted: Array) -> Truth:
    """Equal, zeros of either sign; NaN equals NaN."""

    def check(got: Array) -> Array:
        if got.dtype.kind == "b":  # a bool is a byte, and that of True is 1
            return _other_bits(got, wanted)
        with np.errstate(invalid="ignore"):
            differs: Array = (got != wanted) & ~(_is_nan(got) & _is_nan(wanted))
            return differs

    return Truth(wanted, check)


def _is_nan(x: Array) -> Array:
    unequal: Array = x != x
    return unequal


def roundings(dtype: np.dtype[Any], times: int) -> float:
    """(1+u)^times - 1, a little more for the rounding of this function and of ``fsum``."""
    import ml_dtypes

    unit = float(ml_dtypes.finfo(dtype).eps) / 2  # type: ignore[no-untyped-call]
    return ((1 + unit) ** times - 1) * (1 + 1e-6) + 2.0**-52 * times


def exact_sums(parts: Array) -> tuple[Array, Array]:
    """The sum of each column, and of its absolute values, each rounded once to float64."""
    columns = parts.astype(np.float64).T
    sums = np.array([fsum(column) for column in columns])
    return sums, np.array([fsum(np.abs(column)) for column in columns])


def _bounded(op: str, parts: Array, dtype: np.dtype[Any]) -> Truth:
    size = len(parts)
    if op == "prod":
        wide = np.longdouble if dtype.itemsize > 4 else np.float64
        exact = np.multiply.reduce(parts.astype(wide), axis=0)
        return _near(exact, roundings(dtype, size - 1) * np.abs(exact), dtype)
    exact, absolute = exact_sums(parts)
    times = size - 1
    if op == "avg":
        exact, absolute, times = exact / size, absolute / size, size + 1
    return _near(exact, roundings(dtype, times) * absolute, dtype)


def _averaged(parts: Array, dtype: np.dtype[Any]) -> Truth:
    """Of exact sums: dividing first or last, or by a reciprocal, is within N + 1 roundings."""
    if kind(dtype) == "c":
        halves = [_averaged(half, half.dtype) for half in (parts.real, parts.imag)]
        wanted = (halves[0].wanted + 1j * halves[1].wanted).astype(dtype)
        return Truth(wanted, lambda got: halves[0].check(got.real) | halves[1].check(got.imag))
    exact, absolute = exact_sums(parts)
    size = len(parts)
    return _near(exact / size, roundings(dtype, size + 1) * absolute / size, dtype)


def _whole_mean(parts: Array) -> Truth:
    """Of integers, not a dtype of ``avg`` here: the exact mean, rounded up or down."""
    total = np.add.reduce(parts.astype(object), axis=0)
    size = len(parts)
    down = np.array([each // size for each in total]).astype(parts.dtype)
    up = np.array([-(-each // size) for each in total]).astype(parts.dtype)
    return Truth(down, lambda got: (got != down) & (got != up))


def _near(exact: Array, bound: Array, dtype: np.dtype[Any]) -> Truth:
    with np.errstate(over="ignore"):
        wanted = exact.astype(dtype)

    def check(got: Array) -> Array:
        with np.errstate(all="ignore"):
            beyond: Array = ~(np.abs(got.astype(exact.dtype) - exact) <= bound)
            return beyond

    return Truth(wanted, check)


def _special(op: str, parts: Array) -> Truth:
    if op == "avg":
        return _special_mean(parts)
    wanted = merged(op, parts).astype(parts.dtype)
    if op in ("sum", "prod"):
        return _exact(wanted)
    ignoring = ignoring_nan(op, parts)
    some = _is_nan(parts).any(axis=0) & ~_is_nan(parts).all(axis=0)

    def check(got: Array) -> Array:
        propagated, ignored = _exact(wanted).check(got), _exact(ignoring).check(got)
        # One rule or the other, but not now this, now that.
        rules = [propagated, ignored]
        return min(rules, key=lambda wrong: int((wrong & some).sum()))

    return Truth(wanted, check)


def _special_mean(parts: Array) -> Truth:
    """NaN and infinities as in the sum; what is finite, rounded."""
    sums = merged("sum", parts)
    finite = np.isfinite(sums)
    mean = _averaged(np.where(finite, parts, parts.dtype.type(0)), parts.dtype)
    odd = _exact(sums.astype(parts.dtype))
    wanted = np.where(finite, mean.wanted, odd.wanted)
    return Truth(wanted, lambda got: np.where(finite, mean.check(got), odd.check(got)))


def ignoring_nan(op: str, parts: Array) -> Array:
    """min or max of what is no NaN; NaN where all are."""
    wide = parts.astype(np.float64)
    with np.errstate(all="ignore"):
        found: Array = (np.fmin if op == "min" else np.fmax).reduce(wide, axis=0)
    return np.asarray(found, parts.dtype)
