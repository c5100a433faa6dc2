"""The conformance kit holds for our transports, and finds what is wrong with broken ones."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from refcoll import DeadlineError, RefcollError, TransportError, spawn
from refcoll.testing import conformance
from refcoll.testing.conformance import CHECKS, SPARE_CHECKS
from refcoll.testing.counting import Counting
from refcoll.testing.faults import Faulty
from refcoll.transport import BYTE

SOUND = {
    "in-process": lambda end: end,
    "counting": Counting,
    "faulty, without faults": lambda end: Faulty(end, []),
}


PLACES = [
    pytest.param(wrap, size, id=f"{name}-{size}", marks=() if quick else pytest.mark.long)
    for name, wrap in SOUND.items()
    for size in (1, 2, 3, 5)
    for quick in [size in (1, 2, 5) if name == "in-process" else size == 2]
]
"""A wrapper passes everything on alike on any number of ranks: two will do for every day."""


@pytest.mark.parametrize("check", [*CHECKS, *SPARE_CHECKS], ids=lambda check: check.__name__)
@pytest.mark.parametrize(("wrap", "size"), PLACES)
def test_sound_transports_keep_every_promise(wrap, size, check):
    spawn(size, lambda comm: check(wrap(comm.transport)))


# ---- the kit is tested on transports that are broken on purpose --------------------------


class Broken:
    """All that ``inner`` does; subclasses do one thing wrong."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)


class BrokenExchanges(Broken):
    """A transport whose exchanges are wrapped in ``exchange``."""

    exchange = Broken

    def prepare(self, sends, receives, channel):
        made = self.exchange(self.inner.prepare(sends, receives, channel))
        made.rank, made.receives = self.inner.rank, receives
        return made


class MistakesItsRank(Broken):
    @property
    def nodes(self):
        return tuple((rank,) for rank in range(self.inner.size + 1))


class Reorders(Broken):
    def prepare(self, sends, receives, channel):
        return self.inner.prepare(sends[::-1], receives, channel)


class Drops(Broken):
    def prepare(self, sends, receives, channel):
        return self.inner.prepare(sends[:-1], receives, channel)


class Duplicates(Broken):
    """Sends once more, and does not care whether that is received."""

    def prepare(self, sends, receives, channel):
        again = self.inner.prepare(sends, [], channel)
        exchange = self.inner.prepare(sends, receives, channel)
        start = exchange.start
        exchange.start = lambda: (start(), again.start())
        return exchange


class MixesChannels(Broken):
    def prepare(self, sends, receives, channel):
        return self.inner.prepare(sends, receives, 1)


class ReadsAtPreparation(Broken):
    """Sends what the views held when the exchange was prepared."""

    def prepare(self, sends, receives, channel):
        frozen = [replace(send, view=send.view.copy()) for send in sends]
        return self.inner.prepare(frozen, receives, channel)


class IgnoresViews(Broken):
    """Lends data that should have landed in a view."""

    def prepare(self, sends, receives, channel):
        lent = [replace(receive, view=None) for receive in receives]
        return self.inner.prepare(sends, lent, channel)


class ReadsWhatChanges(Broken):
    """Does not look at ``changes``."""

    def prepare(self, sends, receives, channel):
        sends = [replace(send, changes=False) for send in sends]
        return self.inner.prepare(sends, receives, channel)


class LendsBytes(Broken):
    def prepare(self, sends, receives, channel):
        receives = [replace(receive, dtype=BYTE) for receive in receives]
        return self.inner.prepare(sends, receives, channel)


class TakesInOrder(Broken):
    """A message is taken only when its receive is waited for."""

    def prepare(self, sends, receives, channel):
        made = self.inner.prepare(sends, receives, channel)
        made._waiting._early = list
        return made


class Corrupts(BrokenExchanges):
    class exchange(Broken):  # noqa: N801
        def wait(self, index, timeout):
            came = self.inner.wait(index, timeout).copy()
            came.view(np.uint8)[came.nbytes // 2 :][:1] ^= 1
            return came


class Overruns(BrokenExchanges):
    """Writes a byte too many where a view has room behind it."""

    class exchange(Broken):  # noqa: N801
        def wait(self, index, timeout):
            came = self.inner.wait(index, timeout)
            view = self.receives[index].view
            if view is not None and view.base is not None and view.size < view.base.size:
                view.base[110] = 0
            return came


class ReleasesTooSoon(BrokenExchanges):
    """Sent views are read lazily, after release has returned; odd ranks read late."""

    class exchange(Broken):  # noqa: N801
        def wait(self, index, timeout):
            came = self.inner.wait(index, timeout)
            time.sleep(0.1 * (self.rank % 2))
            return came

        def release(self, timeout):
            for letter in self.inner._arrived:
                self.inner._take(letter)


class SendsOneAfterAnother(BrokenExchanges):
    """Start waits until what it sends is received."""

    class exchange(Broken):  # noqa: N801
        def start(self):
            self.inner.start()
            self.inner.release(0.3)


class Truncates(BrokenExchanges):
    """Makes any message fit its receive."""

    class exchange(Broken):  # noqa: N801
        def wait(self, index, timeout):
            try:
                return self.inner.wait(index, timeout)
            except DeadlineError:
                raise
            except TransportError:
                return np.zeros(self.receives[index].nbytes, np.uint8)


class SwallowsDeadlines(BrokenExchanges):
    class exchange(Broken):  # noqa: N801
        def wait(self, index, timeout):
            try:
                return self.inner.wait(index, timeout)
            except DeadlineError:
                return np.zeros(self.receives[index].nbytes, np.uint8)


class NamesNobody(BrokenExchanges):
    class exchange(Broken):  # noqa: N801
        def wait(self, index, timeout):
            try:
                return self.inner.wait(index, timeout)
            except DeadlineError:
                raise DeadlineError("it took too long") from None


class Miscounts(BrokenExchanges):
    class exchange(Broken):  # noqa: N801
        def received(self, index):
            return self.inner.received(index) + 1


class SharesMemory(Broken):
    def empty(self, nbytes):
        if "room" not in vars(self):
            self.room = np.empty(1 << 22, np.uint8)
        return self.room[:nbytes]


class LeavesSubgroupsOut(Broken):
    def subgroup(self, ranks, channel):
        return self


class SeesOtherNodes(Broken):
    """Every rank believes that it stands alone and the rest together."""

    def __init__(self, inner):
        super().__init__(inner)
        others = tuple(rank for rank in range(inner.size) if rank != inner.rank)
        self.nodes = ((inner.rank,), others)


class LendsOneScratch(BrokenExchanges):
    """All ranks' data is lent in the same place."""

    class exchange(Broken):  # noqa: N801
        scratch = np.empty(1 << 22, np.uint8)

        def wait(self, index, timeout):
            came = self.inner.wait(index, timeout)
            if self.receives[index].view is not None:
                return came
            self.scratch[: came.size] = came
            return self.scratch[: came.size]


class NoticesNothing(Broken):
    def unclaimed(self, channel):
        return 0


class FailsAlone(Broken):
    def abort(self, reason, culprit=None):
        pass


class BlamesNobody(Broken):
    def abort(self, reason, culprit=None):
        self.inner.abort(reason)


BROKEN = [
    (FailsAlone, "tells_all_of_a_failure"),
    (BlamesNobody, "tells_all_of_a_failure"),
    (MistakesItsRank, "describes_itself"),
    (SeesOtherNodes, "agrees_on_nodes"),
    (LendsOneScratch, "lends_until_the_next_call"),
    (NoticesNothing, "notices_unclaimed_messages"),
    (Reorders, "keeps_order"),
    (Drops, "delivers_to_everyone"),
    (Duplicates, "counts_what_came"),
    (MixesChannels, "keeps_channels_apart"),
    (ReadsAtPreparation, "restarts"),
    (ReadsAtPreparation, "lends_until_the_next_call"),
    (ReadsWhatChanges, "keeps_what_changes"),
    (LendsBytes, "lends_in_a_dtype"),
    (Reorders, "passes_many_at_once"),
    (MixesChannels, "holds_back_other_channels"),
    (SharesMemory, "moves_its_own_memory"),
    (TakesInOrder, "takes_what_it_is_not_waiting_for"),
    (IgnoresViews, "lands_in_views"),
    (Corrupts, "delivers_to_everyone"),
    (Overruns, "lands_in_views"),
    (ReleasesTooSoon, "lends_until_the_next_call"),
    (SendsOneAfterAnother, "moves_large_messages_both_ways"),
    (Truncates, "reports_wrong_sizes"),
    (SwallowsDeadlines, "reports_silence"),
    (NamesNobody, "reports_silence"),
    (Miscounts, "counts_what_came"),
    (SharesMemory, "gives_memory"),
    (LeavesSubgroupsOut, "makes_subgroups"),
]
KIT = {check.__name__: check for check in (*CHECKS, *SPARE_CHECKS)}


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize(("broken", "check"), BROKEN)
def test_broken_transports_are_found(broken, check, size, monkeypatch):
    monkeypatch.setattr(conformance.talking, "PATIENCE", 1.0)
    size = 3 if check == "takes_what_it_is_not_waiting_for" else size  # it takes three
    with pytest.raises((AssertionError, RefcollError)):
        spawn(size, lambda comm: KIT[check](broken(comm.transport)))


@pytest.mark.parametrize("name", KIT)
def test_the_wrapper_itself_breaks_nothing(name):
    for wrap in (Broken, BrokenExchanges):
        spawn(3, lambda comm, wrap=wrap: KIT[name](wrap(comm.transport)))


def test_every_check_finds_something():
    assert {check for _, check in BROKEN} == set(KIT)
