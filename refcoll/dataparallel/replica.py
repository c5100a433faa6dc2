"""One replica of a data-parallel run: what all kinds of them have in common.

A *step* is one or more backwards, the last of which is synchronised, and then what the kind
makes of the reduced buckets: mean gradients (``parallel``), or an update of this rank's shard
(``sharded``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from refcoll.communicator import Communicator
from refcoll.dataparallel.reducer import Divisor, Reducer
from refcoll.dataparallel.rollcall import Roll, RollCall, arrival_on_rank_0, names_used
from refcoll.dataparallel.setup import Setup, agreed
from refcoll.dataparallel.tensors import Bucket
from refcoll.dataparallel.timeline import Timeline
from refcoll.errors import ArgumentError
from refcoll.inorder import Handle
from refcoll.operators import Array
from refcoll.words import listed

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
        try:
            self.setup = agreed(own, make)
            self._begin_training()
        except BaseException:
            own.close()
            raise

    def _begin_training(self) -> None:
        setup = self.setup
        for each in self.parameters.values():
            self.comm.broadcast(each, out=each)
        self._roll_call = RollCall(self.comm)
        self._reducer = Reducer(self.comm, setup.first, setup.first_reduction, setup.overlap)
        self._provisional = setup.rule.warm_up_steps if setup.rebuilds else 0
        """Steps until buckets are built anew."""
        self._synchronised = True
        """Whether the next backward is to be."""
        self._synchronising = False
        """Whether the one under way is."""
        self._weight = 0.0
        self._roll: Handle[Roll] | None = None
        self._use: Handle[set[str]] | None = None
        self.buckets_reduced: Sequence[Bucket] = ()
        """Those of the last step."""
        self.timeline: Timeline | None = None
        """Of the last step."""
        self._unfinished = False

    @property
    def buckets(self) -> Sequence[Bucket]:
        """As they are now; the rule "ddp" builds them anew after the first step."""
        return self._reducer.buckets

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
            raise ArgumentError(
                f"{self.ends_step} comes once, after a `with replica.backward(...)` outside of "
                "no_sync()"
            )
        self._unfinished = False
        assert self._roll is not None
        self._reducer.waiting()
        self._roll.wait()  # what went wrong there, first
        means = self._reducer.wait()
        self._used = {t.name for t in self.setup.tensors} if self._use is None else self._use.wait()
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
        while self._others_go_on():
            yield

    def _others_go_on(self) -> bool:
        """Whether there is another step; if so, take part in it."""
        try:
            self._require_finished()
            self._roll = self._roll_call.start(self._weight, self._weight > 0)
            if self._roll.wait().active == 0:
                self._reducer.forget()
                self._weight = 0.0
                return False
            self._reducer.begin(0.0, self._divisor())
            self._launch_rest()
        except BaseException as error:
            self._fail(error)
            raise
        return True

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
            self._leave()
        else:
            self._reducer.give_up()
        self.comm.__exit__(kind, error, trace)

    def _leave(self) -> None:
        try:
            self._require_finished()
            if self._weight:
                raise ArgumentError(
                    "gradients accumulated in no_sync() since the last step would be lost: end "
                    f"with a backward() outside of it, and {self.ends_step}"
                )
            self._roll_call.start(0.0, False, leaves=True).wait()
        except BaseException as error:
            self._fail(error)
            raise

    # ---- how it goes ---------------------------------------------------------------------

    def _require_finished(self) -> None:
        if self._unfinished:
            raise ArgumentError(
                f"the last backward() was never waited for: {self.ends_step} comes after it, "
                "before the next step"
            )
        if self._reducer.open:
            raise ArgumentError("a backward() is under way; leave its `with` first")

    def _begin(self, weight: float, scale: float) -> None:
        self._require_finished()
        self._weight += weight
        self._synchronising = self._synchronised
        if self._synchronising:
            self._roll = self._roll_call.start(self._weight, self._weight > 0)
        self._reducer.begin(scale, self._divisor() if self._synchronising else None)

    def _finish(self) -> None:
        if not self._synchronising:
            self._reducer.finish()
            return
        if self.setup.unused == "error":
            self._require_all_gradients()
        self._launch_rest()

    def _launch_rest(self) -> None:
        self._reducer.finish()
        self._unfinished = True
        if self.setup.unused == "find":
            names, came = [each.name for each in self.setup.tensors], self._reducer.came
            self._use = self.comm.submit(lambda: names_used(self.comm, names, came))

    def _require_all_gradients(self) -> None:
        absent = [t.name for t in self.setup.tensors if t.name not in self._reducer.came]
        if absent:
            remedy = self.setup.remedy_for_unused
            raise ArgumentError(f"no gradient has come for {listed(absent)}; {remedy}")

    def _divisor(self) -> Divisor:
        """Asked on the communication thread, after this step's roll call."""
        roll, averaging, size = self._roll, self.setup.averaging, self.comm.size
        assert roll is not None

        def divisor() -> float:
            return averaging.divisor(roll.wait().weight, roll.wait().active, size)

        return divisor

    def _rebuild(self) -> None:
        """Buckets from the order in which rank 0's gradients have come, once."""
        names = [each.name for each in self.setup.tensors]
        order = arrival_on_rank_0(self.comm, names, self._reducer.arrivals)
        buckets = self.setup.rule.rebuilt(self.setup.tensors, order)
        assert buckets is not None  # the rule has said that it rebuilds
        self._reducer = Reducer(self.comm, buckets, self.setup.reduction, self.setup.overlap)

    def _fail(self, error: BaseException) -> None:
        """Let the others know."""
        self._reducer.give_up()
        self.comm.fail(error)
