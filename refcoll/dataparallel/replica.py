"""One replica of a data-parallel run: what all kinds of them have in common.

A *step* is one or more backwards, the last of which is synchronised, and then what the kind
makes of the reduced buckets: mean gradients (``parallel``), or an update of this rank's shard
(``sharded``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import numpy as np

from refcoll.communicator import Communicator
from refcoll.dataparallel.counting import Counting, Totals
from refcoll.dataparallel.reducer import Reducer
from refcoll.dataparallel.setup import Setup, agreed
from refcoll.dataparallel.timeline import Timeline
from refcoll.errors import ArgumentError
from refcoll.inorder import Handle
from refcoll.operators import Array

Ready = Callable[[str, Array], None]
"""ready(name, gradient): the parameter's gradient of this micro-batch is there."""


class Replica:
    """One rank's replica.  It has a communicator of its own, whose thread reduces.

    Raises, on every rank, ArgumentError for what is wrong with what ``make`` makes, and
    DisagreementError for what differs between ranks.
    """

    def __init__(
        self, comm: Communicator, parameters: Mapping[str, Array], make: Callable[[], Setup]
    ) -> None:
        own = comm.split(0, comm.rank)
        assert own is not None  # every rank has a color
        self.comm, self.parameters = own, parameters
        try:
            self.setup = agreed(own, make, Setup.record)
            self._begin_training()
        except BaseException:
            own.close()
            raise

    def _begin_training(self) -> None:
        setup = self.setup
        for each in self.parameters.values():
            self.comm.broadcast(each, out=each)
        self._counting = Counting(self.comm) if setup.counts else None
        self._reducer = Reducer(self.comm, setup.first, setup.first_reduction, setup.overlap)
        self._provisional = setup.rule.warm_up_steps if setup.rebuilds else 0
        """Steps until buckets are built anew."""
        self._synchronised = True
        self._weight = 0.0
        self._totals: Handle[Totals] | None = None
        self.timeline: Timeline | None = None
        """Of the last step."""
        self._unfinished = False

    # ---- a step --------------------------------------------------------------------------

    @contextmanager
    def backward(self, weight: float | None = None) -> Iterator[Ready]:
        """One micro-batch of ``weight`` samples: ``with replica.backward(32) as ready: ...``.

        Buckets are reduced from within on, unless in ``no_sync``.  Raises ArgumentError for a
        wrong weight, and at the end for parameters without a gradient, unless unused="find".
        What is raised in it, on any rank, ends the run on all ranks.
        """
        try:
            averaging = self.setup.averaging
            number = averaging.weight(weight)
            self._begin(number, averaging.scale(number))
            yield self._reducer.add
            self._finish()
        except BaseException as error:
            self._fail(error)
            raise

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backwards in it are added up; the next one after it synchronises all of them."""
        before, self._synchronised = self._synchronised, False
        try:
            yield
        finally:
            self._synchronised = before

    def wait_for_buckets(self) -> list[Array]:
        """What the reduction has made of each of ``buckets_reduced``, flat."""
        if not self._unfinished:
            raise ArgumentError("wait() comes after a backward() that synchronises, once")
        self._unfinished = False
        if self._totals is not None:
            self._totals.wait()  # what went wrong there, first
        self._used = self._names_used()
        means = self._reducer.wait()
        self.buckets_reduced, self.timeline = self._reducer.buckets, self._reducer.timeline
        self._weight = 0.0
        if self._provisional:
            self._provisional -= 1
            if not self._provisional:
                self._rebuild()
        return means

    def join(self) -> Iterator[None]:
        """This rank has run out of batches: go on with the others until all have.

        Each time round is a step of theirs, to be ended like one's own, so that this replica
        stays like the others: ``for _ in replica.join(): optimizer.step(parameters,
        replica.wait())``.  It adds nothing to the means, save what it has accumulated in
        ``no_sync`` before.  All ranks call it; those that come last find nothing to do.
        Raises ArgumentError unless made with uneven=True.
        """
        if not self.setup.uneven:
            raise ArgumentError("uneven=False: pass uneven=True when making it, to join")
        while True:
            try:
                self._start_counting(active=bool(self._reducer.came))
                assert self._totals is not None
                if self._totals.wait()[1] == 0:
                    return  # no rank has anything left
                self._reducer.begin(0.0, self._divisor)
                self._reducer.finish()
                self._unfinished = True
            except BaseException as error:
                self._fail(error)
                raise
            yield

    def close(self) -> None:
        """Free its communicator.  Later calls raise PoisonedError."""
        self.comm.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.comm.__exit__(kind, error, trace)

    # ---- how it goes ---------------------------------------------------------------------

    def _begin(self, weight: float, scale: float) -> None:
        if self._unfinished:
            raise ArgumentError("wait() for the gradients of one step before the next backward()")
        self._weight += weight
        if self._synchronised:
            self._start_counting(active=True)
        self._reducer.begin(scale, self._divisor if self._synchronised else None)

    def _finish(self) -> None:
        if not self._synchronised:
            return
        absent = [t.name for t in self.setup.tensors if t.name not in self._reducer.came]
        if absent and self.setup.unused == "error":
            raise ArgumentError(
                f"no gradient has come for {', '.join(absent[:5])}{', ...' * (len(absent) > 5)}; "
                'where a rank may leave parameters unused, pass unused="find"'
            )
        self._reducer.finish()
        self._unfinished = True

    def _start_counting(self, active: bool) -> None:
        if self._counting is not None:
            self._totals = self._counting.start(self._weight, active)

    def _divisor(self) -> float:
        """On the communication thread, after the counting."""
        if self._totals is None:
            return self.comm.size
        return self.setup.averaging.divisor(*self._totals.wait(), self.comm.size)

    def _names_used(self) -> set[str]:
        """In this step, by any rank."""
        names = [each.name for each in self.setup.tensors]
        if self.setup.unused == "error":
            return set(names)
        came = np.array([name in self._reducer.came for name in names])
        used = self.comm.all_reduce(came, "max", algorithm="recursive_doubling")
        return {name for name, each in zip(names, used, strict=True) if each}

    def _rebuild(self) -> None:
        """Buckets from the order in which rank 0's gradients have come, once."""
        names = [each.name for each in self.setup.tensors]
        late = [name for name in reversed(names) if name not in self._reducer.arrivals]
        order = np.array([names.index(name) for name in [*self._reducer.arrivals, *late]])
        order = self.comm.broadcast(order)
        buckets = self.setup.rule.rebuilt(self.setup.tensors, [names[place] for place in order])
        assert buckets is not None  # the rule has said that it rebuilds
        self._reducer = Reducer(self.comm, buckets, self.setup.reduction, self.setup.overlap)

    def _fail(self, error: BaseException) -> None:
        """Let the others know."""
        self.comm.__exit__(type(error), error, error.__traceback__)
