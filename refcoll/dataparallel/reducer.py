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

from refcoll.communicator import Communicator
from refcoll.dataparallel.filling import Filling
from refcoll.dataparallel.reductions import Reduction
from refcoll.dataparallel.tensors import Bucket
from refcoll.dataparallel.timeline import BucketTimes, Timeline
from refcoll.errors import ArgumentError
from refcoll.inorder import Handle
from refcoll.operators import Array
from refcoll.words import listed

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
        self._filling = [Filling(each, reduction.bind(comm, each)) for each in self.buckets]
        self._of = {t.name: each for each in self._filling for t in each.bucket.tensors}
        self._handles: list[Handle[Array]] = []
        self._divisor: Divisor | None = None
        self._scale = 1.0
        self.arrivals: list[str] = []
        """Names in the order in which this backward's gradients have come."""
        self.open = False
        """Whether a backward is under way."""
        self._begin = self._backward_end = self._wait_begin = 0.0

    @property
    def came(self) -> set[str]:
        """Whose gradients have come in any backward of this step."""
        return {name for each in self._filling for name in each.came}

    def begin(self, scale: float, divisor: Divisor | None) -> None:
        """Start a backward whose gradients count ``scale`` times; synchronised by a divisor."""
        self._scale, self._divisor = scale, divisor
        self.arrivals, self.open = [], True
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
        self._backward_end, self.open = time.monotonic(), False
        if self._divisor is not None:
            for each in self._filling:
                each.missing.clear()
            self._launch()

    def give_up(self) -> None:
        """Something has failed: nobody will wait for what is under way."""
        self.open = False
        for each in self._handles:
            each.ignore()

    def waiting(self) -> None:
        """The rank begins to wait."""
        self._wait_begin = time.monotonic()

    def wait(self) -> tuple[list[Array], Timeline]:
        """Wait for all buckets; what has become of each, and when.  Ends the step."""
        handles = self._handles
        errors: list[Exception] = []
        results: list[Array] = []
        for handle in handles:
            try:
                results.append(handle.wait())
            except Exception as error:  # the first one says why; the others that it was first
                errors.append(error)
        if errors:
            raise errors[0]
        timeline = self._timed()
        self.forget()
        return results, timeline

    def forget(self) -> None:
        """What has come since the last step is over, or is not wanted."""
        self._handles = []
        for each in self._filling:
            each.forget()

    def _require(self, name: str, gradient: Array) -> Filling:
        if not self.open:
            raise ArgumentError(f"name={name!r}: gradients come within the `with` of a backward()")
        filling = self._of.get(name)
        if filling is None:
            known = listed([*self._of])
            raise ArgumentError(f"name={name!r:.80} is no parameter's; there are {known}")
        if name not in filling.missing:
            raise ArgumentError(
                f"name={name!r}: its gradient came before in this backward; add up what a "
                "parameter gets in several places, and hand it over once"
            )
        filling.require(name, gradient)
        return filling

    def _launch(self) -> None:
        """Hand over the next buckets that are full, in order."""
        while len(self._handles) < len(self._filling):
            filling = self._filling[len(self._handles)]
            if filling.missing:
                return
            filling.complete()
            filling.ready = time.monotonic()
            self._handles.append(self._comm.submit(self._reducing(filling)))

    def _reducing(self, filling: Filling) -> Callable[[], Array]:
        divisor = self._divisor
        assert divisor is not None

        def reduce() -> Array:
            by = divisor()
            filling.start = time.monotonic()
            result = filling.bound.run(by)
            filling.end = time.monotonic()
            return result

        return reduce

    def _timed(self) -> Timeline:
        times = tuple(
            BucketTimes(f.bucket.index, f.bucket.nbytes, f.ready, f.start, f.end)
            for f in self._filling
        )
        return Timeline(
            self._comm.rank, self._begin, self._backward_end, self._wait_begin,
            time.monotonic(), times,
        )  # fmt: skip
