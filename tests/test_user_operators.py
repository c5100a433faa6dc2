"""Operators of one's own: applied in rank order, and refused where they do not merge."""

from __future__ import annotations

import time

import numpy as np
import pytest

import refcoll
from affine_maps import COMPOSE, composed
from on_threads import SIZES, for_any_size, spawn
from refcoll import ArgumentError, PeerFailedError, algorithms, user_operator


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("collective", ["all_reduce", "reduce"])
def test_an_operator_that_does_not_commute_is_applied_in_rank_order(collective, size):
    maps = [(rank + 2, 3 * rank + 1) for rank in range(size)]
    a, b = composed(*maps)
    names = [each.name for each in algorithms(collective) if each.in_rank_order]
    for name in ["auto", *(name for name in names if name in for_any_size(collective))]:

        def body(comm, name=name):
            x = np.full(5, complex(*maps[comm.rank]))
            return comm.plan(collective, x, COMPOSE, algorithm=name).run()

        for result in spawn(size, body)[: 1 if collective == "reduce" else size]:
            assert np.array_equal(result, np.full(5, complex(a, b))), name


def test_an_operator_that_commutes_works_with_any_algorithm():
    """The greatest common divisor of 30, 42 and 70 is 2."""
    gcd = refcoll.user_operator(np.gcd, "gcd", commutative=True)
    x = np.array([[30], [42], [70]])
    for name in for_any_size("all_reduce"):
        for result in spawn(3, lambda c, n=name: c.all_reduce(x[c.rank], gcd, algorithm=n)):
            assert result.tolist() == [2]


@pytest.mark.parametrize(
    "function", [lambda a, b: (a + b).sum(), lambda a, b: (a + b) / 2, lambda a, b: None]
)
def test_a_user_operator_must_keep_shape_and_dtype(function):
    op = user_operator(function, "odd", commutative=True)
    with pytest.raises(ArgumentError, match="op='odd' must return an array of shape"):
        spawn(2, lambda comm: comm.all_reduce(np.arange(4), op), timeout=5)


def test_a_user_operator_cannot_write_into_another_ranks_memory():
    op = user_operator(lambda a, b: np.add(a, b, out=a), "greedy", commutative=True)
    with pytest.raises(ValueError, match="read-only"):
        spawn(3, lambda comm: comm.all_reduce(np.arange(9), op, algorithm="ring"), timeout=5)


def test_an_operator_that_fails_on_one_rank_leaves_nobody_waiting():
    """The rank catches its own error and lives on; the others hear of it at once."""

    def body(comm):
        def merge(left, right):
            return (left + right).astype(float) if comm.rank == 1 else left + right

        started = time.monotonic()
        with pytest.raises(ArgumentError if comm.rank == 1 else PeerFailedError):
            comm.all_reduce(
                np.arange(9), user_operator(merge, "odd", commutative=True), algorithm="ring"
            )
        took = time.monotonic() - started
        time.sleep(4 * (comm.rank == 1))  # it lives on: that it ended is not what they hear
        return took

    assert max(refcoll.spawn(3, body, timeout=60)) < 3
