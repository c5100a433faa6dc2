"""Which gradients of a bucket are worth a low-rank approximation, and where their factors lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refcoll.dataparallel.tensors import Bucket, Tensor
from refcoll.operators import Array


@dataclass(frozen=True)
class Matrix:
    """A gradient as an n x m matrix, of which a rank r approximation travels."""

    span: slice
    """Its elements in the bucket."""
    rows: int
    columns: int
    rank: int

    def view(self, flat: Array) -> Array:
        """It, in the bucket's elements."""
        return flat[self.span].reshape(self.rows, self.columns)


def matrices(bucket: Bucket, rank: int, min_compression_rate: float) -> tuple[Matrix, ...]:
    """Those whose factors are that many times smaller than they are themselves."""
    found = ((each, _matrix(each, bucket.spans[each.name], rank)) for each in bucket.tensors)
    return tuple(
        matrix
        for tensor, matrix in found
        if matrix is not None
        and (matrix.rows + matrix.columns) * matrix.rank * min_compression_rate < tensor.count
    )


def _matrix(tensor: Tensor, span: slice, rank: int) -> Matrix | None:
    """Its first dimension by all others; None for scalars, vectors and what is empty."""
    if len(tensor.shape) < 2 or not tensor.count:
        return None
    rows = tensor.shape[0]
    columns = tensor.count // rows
    return Matrix(span, rows, columns, min(rank, rows, columns))


def area(shapes: Sequence[tuple[int, int]]) -> int:
    """Elements of all together."""
    return sum(rows * columns for rows, columns in shapes)


def cut(flat: Array, shapes: Sequence[tuple[int, int]]) -> list[Array]:
    """Views of the shapes, one after another."""
    views, start = [], 0
    for rows, columns in shapes:
        views.append(flat[start : start + rows * columns].reshape(rows, columns))
        start += rows * columns
    return views
