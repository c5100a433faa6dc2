"""What is right for NaN, infinities and zeros.

sum, prod    IEEE 754: NaN if any is NaN, or +inf meets -inf, or 0 meets inf
avg          as the sum; what is finite, within its bound
min, max     either propagates a NaN (IEEE 754-2019 minimum) or ignores it (minimumNumber),
             but by one rule in all elements
"""

from __future__ import annotations

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.comparing import Truth, bounded, exactly
from refcoll.oracle.merging import ignoring_nan, is_nan, merged

PROPAGATED, IGNORED = "comes through", "is ignored"
"""What becomes of a NaN, by either rule."""


def special(op: str, parts: Array) -> Truth:
    """Of all ranks' special values, a row each."""
    if op == "avg":
        return _mean(parts)
    wanted = merged(op, parts).astype(parts.dtype)
    return exactly(wanted) if op in ("sum", "prod") else _extremum(op, parts, wanted)


def _extremum(op: str, parts: Array, propagated: Array) -> Truth:
    rules = {
        PROPAGATED: exactly(propagated).check,
        IGNORED: exactly(ignoring_nan(op, parts)).check,
    }
    some = is_nan(parts).any(axis=0) & ~is_nan(parts).all(axis=0)

    def check(got: Array) -> Array:
        wrong = [rule(got) for rule in rules.values()]
        return min(wrong, key=lambda each: int((each & some).sum()))

    return Truth(propagated, check, rules)


def _mean(parts: Array) -> Truth:
    """NaN and infinities as in the sum; what is finite, rounded."""
    sums = merged("sum", parts)
    finite = np.isfinite(sums)
    mean = bounded("avg", np.where(finite, parts, parts.dtype.type(0)))
    odd = exactly(sums.astype(parts.dtype))
    wanted = np.where(finite, mean.wanted, odd.wanted)
    return Truth(wanted, lambda got: np.where(finite, mean.check(got), odd.check(got)))
