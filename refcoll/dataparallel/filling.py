"""A bucket of one step, and the gradients that have come for it."""

from __future__ import annotations

import numpy as np

from refcoll.dataparallel.reductions import Bound
from refcoll.dataparallel.tensors import Bucket
from refcoll.errors import ArgumentError
from refcoll.operators import Array


class Filling:
    """A bucket, and what has come for it."""

    def __init__(self, bucket: Bucket, bound: Bound) -> None:
        self.bucket, self.bound = bucket, bound
        self.tensors = {each.name: each for each in bucket.tensors}
        self.missing: set[str] = set()
        """Whose gradients have not come in this backward."""
        self.ready = self.start = self.end = 0.0
        self.forget()

    def forget(self) -> None:
        """The step is over."""
        self.came: set[str] = set()
        self.touched: set[str] = set()
        """Those of them whose places hold something of this step."""
        self.views: dict[str, Array] = {}

    def begin(self) -> None:
        """A backward begins."""
        self.missing = set(self.tensors)

    def require(self, name: str, gradient: Array) -> None:
        """Raise ArgumentError for a gradient that does not fit its parameter."""
        tensor, fits = self.tensors[name], False
        got = f"a {type(gradient).__name__}"
        if isinstance(gradient, np.ndarray):
            fits = (gradient.shape, gradient.dtype) == (tensor.shape, tensor.dtype)
            got = f"shape {gradient.shape} and dtype {gradient.dtype}"
        if not fits:
            raise ArgumentError(
                f"gradient of {name!r} must be a numpy array of shape {tensor.shape} and dtype "
                f"{tensor.dtype}, as its parameter is; got {got}"
            )

    def take(self, name: str, gradient: Array, scale: float) -> None:
        """Put it in its place, or add it to what earlier backwards of the step have left."""
        self.missing.discard(name)
        self.came.add(name)
        if scale == 0:
            return
        view = self._view(name)
        if name in self.touched:
            _scaled(gradient, scale, view, add=True)
        else:
            _scaled(gradient, scale, view, add=False)
        self.touched.add(name)

    def complete(self) -> None:
        """Zeros for those from whom nothing has come; from now on it is the reduction's."""
        for name in self.tensors.keys() - self.touched:
            self._view(name)[...] = 0
        self.views = {}  # or they would keep the whole of a bucket that is to be sharded

    def _view(self, name: str) -> Array:
        if not self.views:
            self.views = self.bucket.views(self.bound.memory())
        return self.views[name]


def _scaled(gradient: Array, scale: float, out: Array, add: bool) -> None:
    """out = scale * gradient, or out += that, in ``out``'s dtype."""
    with np.errstate(all="ignore"):
        if scale == 1 and not add:
            out[...] = gradient
            return
        product = gradient.astype(out.dtype, copy=False)
        if scale != 1:
            product = product * out.dtype.type(scale)
        if add:
            np.add(out, product, out=out)
        else:
            out[...] = product
