"""One replica of a data-parallel run: what all kinds of them have in common.

A *step* is one or more backwards, the last of which is synchronised, and then what the kind
makes of the reduced buckets: mean gradients (``parallel``), or an update of this rank's shard
(``sharded``).  ``steps`` has what ranks do together in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from refcoll.communicator import Communicator
from refcoll.dataparallel.setup import Setup, agreed
from refcoll.dataparallel.steps import Reduced, Steps
from refcoll.dataparallel.tensors import Bucket
from refcoll.dataparallel.timeline import Timeline
from refcoll.errors import ArgumentError
from refcoll.operators import Array

Ready = Callable[[str, Array], None]
"""ready(name, gradient): the parameter's gradient of this micro-batch is there."""


class Replica:
    """One rank's replica.  It has a communicator of its own, whose thread reduces.

    Raises, on every rank, ArgumentError for what is wrong with what ``make`` makes, and
    DisagreementError for what differs between ranks.
    """

    ends_step = "wait()"
    """By which call a step ends, for messages."""

    def __init__(
        self, comm: Communicator, parameters: Mapping[str, Array], make: Callable[[], Setup]
    ) -> None:
        own = comm.split(0, comm.rank)
        assert own is not None  # every rank has a color
        self.comm, self.parameters = own, parameters
        self.synchronised = True
        """Whether the next backward ends a step: not in ``no_sync``."""
        self._reduced: Reduced | None = None
        try:
            self.setup = agreed(own, make)
            for each in parameters.values():
                own.broadcast(each, out=each)
            self._steps = Steps(own, self.setup, self.ends_step)
        except BaseException:
            own.close()
            raise

    @property
    def buckets(self) -> Sequence[Bucket]:
        """As they are now; the rule "ddp" builds them anew after the first step."""
        return self._steps.buckets

    @property
    def buckets_reduced(self) -> Sequence[Bucket]:
        """Those of the last step."""
        return () if self._reduced is None else self._reduced.buckets

    @property
    def timeline(self) -> Timeline | None:
        """Of the last step."""
        return None if self._reduced is None else self._reduced.timeline

    @contextmanager
    def backward(self, weight: float | None = None) -> Iterator[Ready]:
        """One micro-batch of ``weight`` samples: ``with replica.backward(32) as ready: ...``.

        Buckets are reduced from within on, unless in ``no_sync``.  Raises ArgumentError for a
        wrong weight, and at the end for parameters without a gradient, unless unused="find".
        What is raised in it, on any rank, ends the run on all ranks.
        """
        with self._told_to_all():
            self._steps.begin(weight, self.synchronised)
            yield self._steps.add
            self._steps.finish()

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backwards in it are added up; the next one after it synchronises all of them."""
        before, self.synchronised = self.synchronised, False
        try:
            yield
        finally:
            self.synchronised = before

    def wait_for_buckets(self) -> Reduced:
        """What the reduction has made of each bucket.  Ends the communication of the step."""
        self._reduced = self._steps.wait()
        return self._reduced

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
        while self._others_go_on():
            yield

    def _others_go_on(self) -> bool:
        """Whether there is another step; if so, take part in it."""
        with self._told_to_all():
            return self._steps.join()

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
        """Leave, all ranks together, and close.

        Raises ArgumentError where gradients were never waited for, DisagreementError where
        other ranks go on.
        """
        if error is None:
            with self._told_to_all():
                self._steps.leave()
        else:
            self._steps.give_up()
        self.comm.__exit__(kind, error, trace)

    @contextmanager
    def _told_to_all(self) -> Iterator[None]:
        """What is raised in it ends the run on all ranks."""
        try:
            yield
        except BaseException as error:
            self._steps.give_up()
            self.comm.fail(error)
            raise
