"""Transports that break one promise of the contract each, and which check must notice it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from broken_exchanges import (
    BlamesNoSilence,
    Broken,
    CallsDeadlinesFailures,
    Corrupts,
    LendsOneScratch,
    Miscounts,
    NamesNobody,
    NamesNobodyInARelease,
    Overruns,
    ReleasesLate,
    ReleasesTooSoon,
    SendsOneAfterAnother,
    SwallowsDeadlines,
    Truncates,
)
from refcoll.transport import BYTE


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


class NoticesNothing(Broken):
    def unclaimed(self, channel):
        return 0


class FailsAlone(Broken):
    def abort(self, reason, culprit=None):
        pass


class BlamesNobody(Broken):
    def abort(self, reason, culprit=None):
        self.inner.abort(reason)


class SaysNothingOfThreads(Broken):
    @property
    def threads(self):
        return None


class DoesNothingInWords(Broken):
    @property
    def doing(self):
        return lambda: None


class FailsAsAWhole(Broken):
    """A part that gives up takes the whole with it."""

    def subgroup(self, ranks, channel):
        part = Broken(self.inner.subgroup(ranks, channel))
        part.abort = self.inner.abort
        return part


BROKEN = [
    (SaysNothingOfThreads, "describes_itself"),
    (DoesNothingInWords, "describes_itself"),
    (FailsAsAWhole, "tells_parts_of_a_failure"),
    (FailsAlone, "tells_parts_of_a_failure"),
    (CallsDeadlinesFailures, "blames_who_keeps_silent"),
    (BlamesNoSilence, "blames_who_keeps_silent"),
    (ReleasesLate, "ends_a_release_in_time"),
    (NamesNobodyInARelease, "ends_a_release_in_time"),
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
