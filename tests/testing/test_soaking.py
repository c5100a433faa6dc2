"""A soak does what it says: everything is tried, and what must not be is found."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from refcoll import checksums, spawn
from refcoll.algorithms.declaration import Algorithm
from refcoll.registry import algorithms
from refcoll.testing import soaking
from refcoll.testing.faults import KINDS
from refcoll.testing.soaking import Outcome, operation
from refcoll.testing.tallying import HANG, Plan, Tally, soak
from refcoll.wrapping import Wrapper

SIZE = 3


def soaked(wrap=lambda end: end, size=SIZE, **plan):
    return spawn(size, lambda comm: soak(wrap(comm.transport), Plan(**plan)))[0]


def runnable(each: Algorithm, size: int) -> bool:
    return each.sizes.holds(size) and not each.needs_helpers


# ---- what is tried ------------------------------------------------------------------------


def test_an_operation_follows_from_its_seed_and_number():
    assert operation(1, 7, SIZE, 0.5, 0.2) == operation(1, 7, SIZE, 0.5, 0.2)
    assert operation(1, 7, SIZE, 0.5, 0.2) != operation(2, 7, SIZE, 0.5, 0.2)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_everything_is_tried(size):
    done = [operation(0, number, size, 0.5, 0.2) for number in range(3000)]
    tried = {(each.case.collective, each.case.algorithm) for each in done}
    assert tried == {(a.collective, a.name) for a in algorithms() if runnable(a, size)}
    assert {fault.kind for each in done for _, fault in each.faults} == set(KINDS)
    assert {rank for each in done for rank, _ in each.faults} == set(range(size))
    assert {each.way for each in done} == {"plan", "once", "background"}
    assert {each.checksums for each in done} == {True, False}
    assert 0.4 < sum(bool(each.faults) for each in done) / len(done) < 0.6


# ---- what comes of it ---------------------------------------------------------------------


def test_a_soak_holds_and_counts():
    tally = soaked(seed=1, operations=120, faulty=0.3)
    assert tally.holds, tally.broken
    assert tally.operations == 120
    assert tally.nbytes > 0
    assert tally.fates.total() >= 5
    assert not any(fate == "let through" for sums, _, fate in tally.fates if sums)


def test_it_ends_when_its_time_is_up():
    started = time.monotonic()
    tally = soaked(seconds=1.0, faulty=0)
    assert tally.operations >= 1
    assert time.monotonic() - started < 20


class Flips(Wrapper):
    """Its parts flip a bit of every long message, of which nobody was told."""

    def subgroup(self, ranks, channel):
        return Flipping(self.inner.subgroup(ranks, channel))


class Flipping(Wrapper):
    def prepare(self, sends, receives, channel):
        wrong = [(send, send.view.copy()) for send in sends]
        injured = [replace(send, view=view) for send, view in wrong]
        made = self.inner.prepare(injured, receives, channel)
        start = made.start

        def started():
            for send, view in wrong:
                view[:] = send.view
                if view.size > 64:
                    view[view.size // 2] ^= 1
            start()

        made.start = started
        return made


def test_what_is_wrong_without_a_fault_is_found():
    tally = soaked(Flips, seed=1, operations=40, faulty=0)
    assert not tally.holds
    assert any("wrong" in each.split(":")[0] for each in tally.broken)
    assert any("CorruptionError" in each.split(":")[0] for each in tally.broken)
    assert all("operation " in each for each in tally.broken)


def test_what_passes_in_spite_of_checksums_is_found(monkeypatch):
    monkeypatch.setattr(checksums._Exchange, "_require_right", lambda self, came, index: None)
    tally = soaked(seed=3, operations=150, faulty=1, patience=0.1)
    assert not tally.holds
    assert any(each.startswith("wrong on ranks") for each in tally.broken)
    assert all("with checksums" in each for each in tally.broken)


def test_a_rank_that_does_not_come_back_is_a_hang(monkeypatch):
    monkeypatch.setattr(soaking, "MEETING", 0.5)
    perform = soaking.Soak.perform

    def late(self, wanted, over, patience=None):
        if wanted.number == 3 and self.comm.rank == 1:
            time.sleep(2)
        return perform(self, wanted, over, patience)

    monkeypatch.setattr(soaking.Soak, "perform", late)
    tally = soaked(operations=10, faulty=0)
    assert tally.hangs == 1
    assert tally.operations == 3
    assert "did not come back: operation 3: " in tally.broken[0]


# ---- how it is judged ---------------------------------------------------------------------


def outcomes(*verdicts, injected=(), seconds=0.1):
    first = Outcome(verdicts[0], "", seconds, 10, list(injected))
    return [first, *(Outcome(each, "", seconds, 10, []) for each in verdicts[1:])]


def tallied(checksums, *verdicts, injected=(), seconds=0.1):
    number = next(n for n in range(100) if operation(0, n, 2, 0, 1).checksums == checksums)
    tally = Tally()
    done = outcomes(*verdicts, injected=injected, seconds=seconds)
    tally.add(operation(0, number, 2, 0, 1), 2, done, 0.2)
    return tally


def again(*verdicts):
    """What comes of an operation that was late, when it is done again with more patience."""
    tally = tallied(True, "DeadlineError", "right")
    tally.add_again(operation(0, 0, 2, 0, 1), 2, outcomes(*verdicts))
    return tally


@pytest.mark.parametrize("sums", [True, False])
def test_fates(sums):
    for verdicts, fate in [
        (("PeerFailedError", "CorruptionError"), "detected"),
        (("right", "DeadlineError"), "detected"),
        (("wrong", "right"), "let through"),
        (("wrong", "DeadlineError"), "let through"),
    ]:
        assert tallied(sums, *verdicts, injected=["corrupt"]).fates == {(sums, "corrupt", fate): 1}


@pytest.mark.parametrize(
    ("sums", "kind", "holds"),
    [(True, "corrupt", False), (False, "corrupt", True), (False, "reorder", True),
     (False, "truncate", False), (False, "die", False), (False, "delay", False)],
)  # fmt: skip
def test_only_what_is_documented_may_get_through(sums, kind, holds):
    assert tallied(sums, "wrong", "right", injected=[kind]).holds == holds


def test_without_a_fault_nothing_but_lateness_is_forgiven():
    assert tallied(True, "DeadlineError", "PeerFailedError").broken == []
    assert not tallied(True, "DeadlineError", "CorruptionError").holds
    assert not tallied(True, "right", "wrong").holds
    assert not tallied(True, "PoisonedError", "right").holds
    assert tallied(True, "right", "right").holds


def test_lateness_is_forgiven_once():
    assert (again("right", "right").late, again("right", "right").broken) == (1, [])
    assert not again("right", "DeadlineError").holds
    assert again("PeerFailedError", "DeadlineError").broken


@pytest.mark.parametrize("kind", ["corrupt", "truncate", "drop", "reorder", "die"])
def test_with_checksums_what_must_be_noticed_is(kind):
    assert not tallied(True, "right", "right", injected=[kind]).holds
    assert tallied(False, "right", "right", injected=[kind]).holds


class LosesOnOneRank(Wrapper):
    """On rank 1 of its parts, no message of a call ever leaves: a deadlock without a fault."""

    def subgroup(self, ranks, channel):
        part = self.inner.subgroup(ranks, channel)
        return Losing(part) if part.rank == 1 else part


class Losing(Wrapper):
    def prepare(self, sends, receives, channel):
        return self.inner.prepare(sends if channel == 0 else [], receives, channel)


def test_a_deadlock_is_not_lateness(monkeypatch):
    perform = soaking.Soak.perform
    monkeypatch.setattr(
        soaking.Soak, "perform",
        lambda self, wanted, over, patience=None: perform(self, wanted, over, patience and 0.3),
    )  # fmt: skip
    tally = soaked(LosesOnOneRank, seed=1, operations=4, faulty=0, patience=0.1)
    assert not tally.holds
    assert any("DeadlineError" in each for each in tally.broken)


def test_what_takes_too_long_is_a_hang():
    assert not tallied(True, "right", "right", seconds=HANG + 1).holds


def test_a_soak_in_which_most_waits_were_too_short_does_not_hold():
    tally = again("right", "right")
    assert tally.too_late
    assert not tally.holds
    for _ in range(4):
        tally.add(operation(0, 0, 2, 0, 1), 2, outcomes("right", "right"), 0.2)
    assert tally.holds
