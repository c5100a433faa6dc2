"""One-line assertions for anybody's test-suite: about programs, and about results.

assert_steps(program, 2 * (n - 1))
assert_bandwidth_optimal(program, elements=1_000_000)
assert_correct(program)
assert_exact(results, inputs)            # what *your* all-reduce returned, rank by rank
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refcoll.interpreters.check import check
from refcoll.interpreters.count import count
from refcoll.operators import Array, Operator, kind, operator
from refcoll.programs import Program


def assert_correct(program: Program) -> None:
    """The checker proves it: every contribution once, no race, no deadlock, all inputs."""
    report = check(program)
    assert report.ok, "\n".join([f"{program.title} is wrong:", *map(str, report.failures)])


def assert_steps(program: Program, steps: int) -> None:
    """No rank takes more steps, and some rank takes that many."""
    counted = count(program, program.chunks).steps
    assert counted == steps, f"{program.title} takes {counted} steps, not {steps}"


def assert_bandwidth_optimal(program: Program, elements: int) -> None:
    """No rank sends or receives more than some rank must: 2(N-1)/N S for an all-reduce.

    ``elements`` should be divisible by the number of chunks: else the least is rounded up.
    """
    counts = count(program, elements)
    assert counts.bandwidth_optimal, (
        f"{program.title}: a rank sends {counts.sent} and a rank receives {counts.received} of "
        f"{elements} elements, where {float(counts.least):g} suffice"
    )


def assert_exact(
    results: Sequence[Array], inputs: Sequence[Array], op: str | Operator = "sum"
) -> None:
    """Every rank's result is every rank's input merged, to the bit, and alike on all ranks.

    Inputs must be such that every order of merging is exact: integers, or floats that hold
    small integers.
    """
    wanted = exact(inputs, op)
    assert len(results) == len(inputs), f"{len(results)} results for {len(inputs)} ranks"
    for rank, result in enumerate(results):
        assert isinstance(result, np.ndarray), f"rank {rank}'s result is no array: {result!r}"
        got, right = _described(result), _described(wanted)
        assert got == right, f"rank {rank}'s result is wrong: it has {got}, not {right}"
        if not same_bits(result, wanted):
            wrong = [i for i in np.ndindex(wanted.shape) if not same_bits(result[i], wanted[i])]
            note = "" if kind(wanted.dtype) in "bi" else _ORDER_MATTERS
            raise AssertionError(
                f"rank {rank}'s result is wrong in {len(wrong)} elements, first {wrong[0]}: "
                f"{result[wrong[0]]}, not {wanted[wrong[0]]}{note}"
            )


_ORDER_MATTERS = " (unless the inputs hold small integers, the order of merging alone may differ)"


def _described(array: Array) -> str:
    return f"shape {array.shape} and dtype {array.dtype.name}"


def exact(inputs: Sequence[Array], op: str | Operator) -> Array:
    """The inputs merged one after another in rank order, and finished."""
    op = operator(op)
    merged = inputs[0].copy()
    for each in inputs[1:]:
        op.merge(merged, each, merged)
    op.finish(merged, len(inputs))
    return merged


def same_bits(one: Array, other: Array) -> bool:
    """Whether two arrays hold the same values; zeros of either sign differ, NaNs do not."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind == "c":
        return same_bits(one.real, other.real) and same_bits(one.imag, other.imag)
    with np.errstate(all="ignore"):
        nans = (one != one) & (other != other)
        equal = one == other
        if kind(one.dtype) == "f":
            equal = equal & (np.signbit(one) == np.signbit(other))
    return bool(np.all(nans | equal))
