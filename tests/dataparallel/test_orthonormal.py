"""Gram-Schmidt: orthonormal columns whatever comes in, and sums in the order that is written."""

from __future__ import annotations

import numpy as np
import pytest

from refcoll.dataparallel.orthonormal import orthonormalise, total

each = pytest.mark.parametrize


def never(count):
    raise AssertionError("no column should be drawn")


def drawing(seed=0):
    return np.random.default_rng(seed).standard_normal


def assert_orthonormal(matrix):
    product = matrix.T.astype(np.float64) @ matrix
    eps = np.finfo(matrix.dtype).eps
    np.testing.assert_allclose(product, np.eye(matrix.shape[1]), atol=8 * eps)


@each("dtype", ["float32", "float64"])
@each("scale", [1, 1e-30, 1e30])
@each("shape", [(1, 1), (5, 5), (300, 4)])
def test_columns_become_orthonormal_and_span_the_same(shape, scale, dtype):
    matrix = (drawing()(shape) * scale).astype(dtype)
    before = matrix.astype(np.float64) / scale
    orthonormalise(matrix, never)
    assert_orthonormal(matrix)
    inside = matrix.astype(np.float64) @ (matrix.T.astype(np.float64) @ before)
    np.testing.assert_allclose(inside, before, atol=1e-5 * np.abs(before).max() * len(before))


def test_three_four_five():
    matrix = np.array([[3.0, 1.0], [4.0, 0.0]])
    orthonormalise(matrix, never)
    np.testing.assert_allclose(matrix, [[0.6, 0.8], [0.8, -0.6]], rtol=1e-15)


def test_almost_parallel_columns_are_orthogonal_too():
    """One pass would leave 1e-7 of the first in the second for every 1e-5 that they differ."""
    matrix = np.ones((200, 2), np.float32)
    matrix[0, 1] += np.float32(1e-3)
    matrix[:, 0] += np.linspace(0, 1, 200, dtype=np.float32)
    matrix[:, 1] += np.linspace(0, 1, 200, dtype=np.float32)
    orthonormalise(matrix, never)
    assert_orthonormal(matrix)


@each("columns", [[0, 0], [1, 1], [0, 1, 2], [3, 6, 3]])
def test_zero_and_dependent_columns_are_drawn_anew(columns):
    """Column i is ``columns[i]`` times one and the same vector."""
    matrix = np.outer(drawing(1)(50), columns).astype(np.float32)
    orthonormalise(matrix, drawing(2))
    assert_orthonormal(matrix)


def test_sums_go_by_halves():
    """In float32, 1e8 + 1 is 1e8: from the left 1, by halves (1e8 - 1e8) + (1 + 1) = 2."""
    assert total(np.array([1e8, 1, -1e8, 1], np.float32)) == 2
    # Of five, from the left again 1, by halves ((1 - 1e8) + 1) + (1e8 + 1) = 0.
    assert total(np.array([1, 1e8, 1, -1e8, 1], np.float32)) == 0
    for count in range(1, 40):
        assert total(np.arange(float(count))) == count * (count - 1) / 2
