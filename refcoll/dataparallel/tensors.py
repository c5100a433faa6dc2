"""What is known of gradients before there are any: names, shapes, dtypes, and their buckets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from refcoll.errors import ArgumentError
from refcoll.operators import Array, kind


@dataclass(frozen=True)
class Tensor:
    """A parameter's gradient, as a bucket rule sees it."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any] = np.dtype(np.float32)  # noqa: RUF009  (it is immutable)
    device: str = "cpu"

    @property
    def count(self) -> int:
        """Elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes."""
        return self.count * self.dtype.itemsize


@dataclass(frozen=True)
class Bucket:
    """Gradients of one dtype that travel together, flattened, one after another."""

    index: int
    """Buckets are reduced in the order of their indices, on every rank."""
    tensors: tuple[Tensor, ...]
    limit: int | None = None
    """Bytes at which the rule would close it, if it has such a limit."""
    closed: str = ""
    """Why the rule closed it, in words."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of all its tensors."""
        return self.tensors[0].dtype

    @property
    def count(self) -> int:
        """Elements."""
        return sum(each.count for each in self.tensors)

    @property
    def nbytes(self) -> int:
        """Bytes."""
        return self.count * self.dtype.itemsize

    @cached_property
    def spans(self) -> Mapping[str, slice]:
        """Which elements of the bucket are whose gradient, by name."""
        spans, start = {}, 0
        for each in self.tensors:
            spans[each.name] = slice(start, start + each.count)
            start += each.count
        return spans

    def views(self, flat: Array) -> dict[str, Array]:
        """``flat``, the bucket's elements, as the gradients: views by name, in their shapes."""
        return {t.name: flat[self.spans[t.name]].reshape(t.shape) for t in self.tensors}


def described(parameters: Mapping[str, Array]) -> tuple[Tensor, ...]:
    """The tensors of named arrays, in the order given.

    Raises ArgumentError where they are not a dict of numpy arrays of a float dtype.
    """
    if not isinstance(parameters, Mapping) or not parameters:
        raise ArgumentError(
            f"parameters={parameters!r:.80} must be a dict of numpy arrays by name, not empty"
        )
    for name, array in parameters.items():
        if not isinstance(name, str):
            raise ArgumentError(f"parameters: the name {name!r:.80} must be a string")
        require_floats(array, f"parameters[{name!r}]")
    _require_apart(parameters)
    return tuple(Tensor(name, x.shape, x.dtype) for name, x in parameters.items())


def require_floats(array: object, where: str) -> None:
    """Raise ArgumentError unless it is a numpy array, of a float dtype, that can be changed."""
    if not isinstance(array, np.ndarray):
        raise ArgumentError(
            f"{where}={array!r:.80} must be a numpy array; of a torch tensor pass "
            "tensor.detach().numpy(), or see refcoll.dataparallel.torch_model"
        )
    if not array.flags.writeable:
        raise ArgumentError(f"{where} is read-only; it is updated in place")
    if kind(array.dtype) != "f":
        raise ArgumentError(f"{where} has dtype={array.dtype}; gradients are of float dtypes")


def _require_apart(parameters: Mapping[str, Array]) -> None:
    """Raise ArgumentError where two parameters share memory."""
    bounds = {name: np.lib.array_utils.byte_bounds(x) for name, x in parameters.items() if x.size}
    ordered = sorted(bounds, key=lambda name: bounds[name])
    for one, other in pairwise(ordered):
        if bounds[other][0] < bounds[one][1] and np.shares_memory(
            parameters[one], parameters[other]
        ):
            raise ArgumentError(
                f"parameters {one!r} and {other!r} share memory: name tied parameters once, and "
                "hand over the sum of their gradients"
            )


def numbered(buckets: Iterable[Bucket]) -> tuple[Bucket, ...]:
    """The buckets, to be reduced in the order given."""
    return tuple(replace(each, index=index) for index, each in enumerate(buckets))


def bucketed(groups: Sequence[Sequence[Tensor]]) -> tuple[Bucket, ...]:
    """Buckets of the groups, numbered in the order given."""
    return tuple(Bucket(index, tuple(group)) for index, group in enumerate(groups))
