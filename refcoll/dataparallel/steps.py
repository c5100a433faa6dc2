"""The steps that all ranks of a replica make together.

    begin ... finish     a backward of this rank's alone, which is added up
    begin ... finish     the last of a step: beside it the roll call and the buckets, after it
                         which parameters were used, and the buckets to come where they change
    wait                 what has come of it all

What needs the other ranks goes through the communication thread, in one order on all of them,
and ``wait`` merely waits: several replicas may be waited for in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refcoll.communicator import Communicator
from refcoll.dataparallel.reducer import Divisor, Reducer
from refcoll.dataparallel.rollcall import Roll, RollCall, arrival_on_rank_0, names_used
from refcoll.dataparallel.setup import Setup
from refcoll.dataparallel.tensors import Bucket
from refcoll.dataparallel.timeline import Timeline
from refcoll.errors import ArgumentError
from refcoll.inorder import Handle
from refcoll.operators import Array
from refcoll.words import listed


@dataclass(frozen=True)
class Reduced:
    """What has come of a step."""

    buckets: Sequence[Bucket]
    values: Sequence[Array]
    """What the reduction has made of each bucket, flat; until the next step."""
    used: set[str]
    """Parameters with a gradient on some rank; all of them where that is not asked for."""
    timeline: Timeline


class Steps:
    """One rank's part in them.  Making one is collective."""

    def __init__(self, comm: Communicator, setup: Setup, ends_step: str) -> None:
        self._comm, self._setup, self._ends_step = comm, setup, ends_step
        self._names = [each.name for each in setup.tensors]
        self._roll_call = RollCall(comm, "optimizer" in setup.others)
        self._reducer = Reducer(comm, setup.first, setup.first_reduction, setup.overlap)
        self._provisional = setup.rule.warm_up_steps if setup.rebuilds else 0
        """Steps until buckets are built anew."""
        self._weight = 0.0
        """Of this step's backwards so far."""
        self._together = False
        """Whether the backward under way is the last of a step."""
        self._unfinished = False
        """Whether ``wait`` is to come."""
        self._roll: Handle[Roll] | None = None
        self._use: Handle[set[str]] | None = None
        self._next: Handle[Reducer] | None = None
        self.reduced: Reduced | None = None
        """Of the last step, from ``wait`` until it is taken or the next backward."""
        self.made_with = ""  # what the last step was, in words, where ranks compare that

    @property
    def buckets(self) -> Sequence[Bucket]:
        """Those of the next step."""
        return self._reducer.buckets

    def begin(self, weight: float | None, together: bool) -> None:
        """A backward of so many samples; ``together`` with all ranks, the last of a step."""
        number = self._setup.averaging.weight(weight)
        self._require_finished()
        self.reduced = None
        self._weight += number
        self._together = together
        if together:
            self._call_the_roll()
        scale = self._setup.averaging.scale(number)
        self._reducer.begin(scale, self._divisor() if together else None)

    def add(self, name: str, gradient: Array) -> None:
        """A gradient of the backward under way; buckets that it fills are reduced."""
        self._reducer.add(name, gradient)

    def finish(self) -> None:
        """The backward has ended.  Raises ArgumentError where gradients are missing."""
        if not self._together:
            self._reducer.finish()
            return
        if self._setup.unused == "error":
            self._require_all_gradients()
        self._launch_rest()

    def wait(self) -> Reduced:
        """Wait for all that the step has set going.  Ends it."""
        if not self._unfinished:
            raise ArgumentError(
                f"{self._ends_step} comes once, after a `with replica.backward(...)` outside of "
                "no_sync()"
            )
        self._unfinished = False
        assert self._roll is not None
        reducer = self._reducer
        reducer.waiting()
        self._roll.wait()  # what went wrong there, first
        values, timeline = reducer.wait()
        used = {*self._names} if self._use is None else self._use.wait()
        if self._next is not None:
            self._reducer, self._next = self._next.wait(), None
        self._weight = 0.0
        self.reduced = Reduced(reducer.buckets, values, used, timeline)
        return self.reduced

    def take(self) -> Reduced:
        """What ``wait`` has given, once."""
        taken, self.reduced = self.reduced, None
        assert taken is not None  # it was waited for
        return taken

    def join(self) -> bool:
        """Take part in a step without a batch, if any rank has one; whether there is a step."""
        self._require_finished()
        self.reduced = None
        if self._call_the_roll().wait().active == 0:
            self._reducer.forget()  # what came in batches of no samples
            return False
        self._reducer.begin(0.0, self._divisor())
        self._launch_rest()
        return True

    def leave(self) -> None:
        """No more steps.  Raises ArgumentError for what would be lost, DisagreementError where
        other ranks go on, PoisonedError where something has failed before."""
        self._comm.submit(lambda: None).ignore()  # refused if it has: that is why the rest is so
        self.require_between()
        self._roll_call.start(0.0, False, leaves=True, made_with=self.made_with).wait()

    def require_between(self) -> None:
        """Raise ArgumentError within a step: for gradients that would be lost."""
        self._require_finished()
        if self._weight:
            raise ArgumentError(
                "gradients accumulated in no_sync() since the last step would be lost: end "
                f"with a backward() outside of it, and {self._ends_step}"
            )

    def give_up(self) -> None:
        """Something has failed: nobody will wait for what is under way."""
        self._reducer.give_up()

    def _require_finished(self) -> None:
        if self._unfinished:
            raise ArgumentError(
                f"the last backward() was never waited for: {self._ends_step} comes after it, "
                "before the next step"
            )
        if self._reducer.open:
            raise ArgumentError("a backward() is under way; leave its `with` first")

    def _call_the_roll(self) -> Handle[Roll]:
        active = self._weight > 0
        self._roll = self._roll_call.start(self._weight, active, made_with=self.made_with)
        return self._roll

    def _divisor(self) -> Divisor:
        """Asked on the communication thread, after this step's roll call."""
        roll, averaging, size = self._roll, self._setup.averaging, self._comm.size
        assert roll is not None

        def divisor() -> float:
            return averaging.divisor(roll.wait().weight, roll.wait().active, size)

        return divisor

    def _require_all_gradients(self) -> None:
        absent = [name for name in self._names if name not in self._reducer.came]
        if absent:
            remedy = self._setup.remedy_for_unused
            raise ArgumentError(f"no gradient has come for {listed(absent)}; {remedy}")

    def _launch_rest(self) -> None:
        """The last buckets, and what follows them."""
        self._reducer.finish()
        self._unfinished = True
        if self._setup.unused == "find":
            came = self._reducer.came
            self._use = self._comm.submit(lambda: names_used(self._comm, self._names, came))
        if self._provisional:
            self._provisional -= 1
            if not self._provisional:
                arrivals = self._reducer.arrivals
                self._next = self._comm.submit(lambda: self._rebuilt(arrivals))

    def _rebuilt(self, arrivals: Sequence[str]) -> Reducer:
        """With buckets by the order in which rank 0's gradients have come."""
        setup = self._setup
        order = arrival_on_rank_0(self._comm, self._names, arrivals)
        buckets = setup.rule.rebuilt(setup.tensors, order)
        assert buckets is not None  # the rule has said that it rebuilds
        return Reducer(self._comm, buckets, setup.reduction, setup.overlap)
