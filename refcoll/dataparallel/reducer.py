"""Buckets that are reduced as soon as they are full, in order, while backward goes on.

    compute thread          add(g5) add(g4) | add(g3) add(g2) | add(g1) finish   wait
                                            v bucket 0 is full v bucket 1 ...      ^
    communication thread                    [ reduce bucket 0 ][ reduce bucket 1 ]-+

A bucket is launched once it and all before it are full, so that every rank launches in the
order of the indices, in whatever order its gradients come; ``finish``, the end of
backward, launches those that no last gradient has filled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from refcoll.communicator import Communicator
from refcoll.dataparallel.reductions import Bound, Reduction
from refcoll.dataparallel.tensors import Bucket
from refcoll.dataparallel.timeline import BucketTimes, Timeline
from refcoll.errors import ArgumentError
from refcoll.inorder import Handle
from refcoll.operators import Array

Divisor = Callable[[], float]
"""Asked on the communication thread, before each bucket."""


class Reducer:
    """One rank's buckets.  All ranks make one, with the same buckets, and use it alike.

    A *step* is one or more *backwards*, the last of which is synchronised, and ``wait``.
    Without ``overlap`` nothing is launched before backward has ended.
    """

    def __init__(
        self,
        comm: Communicator,
        buckets: Sequence[Bucket],
        reduction: Reduction,
        overlap: bool = True,
    ) -> None:
        self._comm, self._overlap = comm, overlap
        self.buckets = tuple(buckets)
        self._filling = [_Filling(each, reduction.bind(comm, each)) for each in self.buckets]
        self._of = {t.name: each for each in self._filling for t in each.bucket.tensors}
        self._handles: list[Handle[Array]] = []
        self._divisor: Divisor | None = None
        self._scale = 1.0
        self.arrivals: list[str] = []
        """Names in the order in which this backward's gradients have come."""
        self._begin = self._backward_end = 0.0

    @property
    def came(self) -> set[str]:
        """Whose gradients have come in any backward of this step."""
        return {name for each in self._filling for name in each.came}

    def begin(self, scale: float, divisor: Divisor | None) -> None:
        """Start a backward whose gradients count ``scale`` times; synchronised by a divisor."""
        self._scale, self._divisor = scale, divisor
        self.arrivals = []
        for each in self._filling:
            each.begin()
        self._begin = time.monotonic()

    def add(self, name: str, gradient: Array) -> None:
        """Take in a gradient; it is not looked at again.

        Raises ArgumentError for one that is not known, does not fit, or came before.
        """
        filling = self._require(name, gradient)
        filling.take(name, gradient, self._scale)
        self.arrivals.append(name)
        if self._divisor is not None and self._overlap and not filling.missing:
            self._launch()

    def finish(self) -> None:
        """Backward has ended: what has not come will not."""
        self._backward_end = time.monotonic()
        if self._divisor is not None:
            for each in self._filling:
                each.missing.clear()
            self._launch()

    def wait(self) -> list[Array]:
        """Wait for all buckets; what has become of each.  Ends the step."""
        began, handles = time.monotonic(), self._handles
        errors: list[Exception] = []
        results: list[Array] = []
        for handle in handles:
            try:
                results.append(handle.wait())
            except Exception as error:  # the first one says why; the others that it was first
                errors.append(error)
        if errors:
            raise errors[0]
        self._handles = []
        self.timeline = self._timed(began)
        for each in self._filling:
            each.forget()
        return results

    def _require(self, name: str, gradient: Array) -> _Filling:
        filling = self._of.get(name)
        if filling is None:
            known = ", ".join([*self._of][:5])
            raise ArgumentError(f"name={name!r:.80} is no parameter's; there are {known}, ...")
        if name not in filling.missing:
            raise ArgumentError(
                f"name={name!r}: its gradient came before in this backward; add up what a "
                "parameter gets in several places, and hand it over once"
            )
        tensor = filling.tensors[name]
        found = getattr(gradient, "shape", None), getattr(gradient, "dtype", None)
        if not isinstance(gradient, np.ndarray) or found != (tensor.shape, tensor.dtype):
            raise ArgumentError(
                f"gradient of {name!r} must be a numpy array of shape {tensor.shape} and dtype "
                f"{tensor.dtype}, as its parameter is; got shape {found[0]} and dtype {found[1]}"
            )
        return filling

    def _launch(self) -> None:
        """Hand over the next buckets that are full, in order."""
        while len(self._handles) < len(self._filling):
            filling = self._filling[len(self._handles)]
            if filling.missing:
                return
            filling.fill_up()
            filling.ready = time.monotonic()
            self._handles.append(self._comm.submit(self._reducing(filling)))

    def _reducing(self, filling: _Filling) -> Callable[[], Array]:
        divisor = self._divisor
        assert divisor is not None

        def reduce() -> Array:
            by = divisor()
            filling.start = time.monotonic()
            result = filling.bound.run(by)
            filling.end = time.monotonic()
            return result

        return reduce

    def _timed(self, wait_begin: float) -> Timeline:
        times = tuple(
            BucketTimes(f.bucket.index, f.bucket.nbytes, f.ready, f.start, f.end)
            for f in self._filling
        )
        wait_end = time.monotonic()
        return Timeline(
            self._comm.rank, self._begin, self._backward_end, wait_begin, wait_end, times
        )


class _Filling:
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

    def fill_up(self) -> None:
        """Zeros for those from whom nothing has come."""
        for name in self.tensors.keys() - self.touched:
            self._view(name)[...] = 0

    def _view(self, name: str) -> Array:
        if not self.views:
            self.views = self.bucket.views(self.bound.memory())
        return self.views[name]


def _scaled(gradient: Array, scale: float, out: Array, add: bool) -> None:
    """out = scale * gradient, or out += that; in float32 where narrower, and rounded once."""
    with np.errstate(all="ignore"):
        if scale == 1 and not add:
            out[...] = gradient
            return
        wide = np.dtype(np.float32) if out.dtype.itemsize < 4 else out.dtype
        product = gradient.astype(wide) if scale == 1 else gradient * wide.type(scale)
        if add:
            product = product + out.astype(wide)
        out[...] = product.astype(out.dtype)
