"""Lanes, tried in all ways that memory and scheduling allow, within bounds.

The lanes' own code runs here on a model of memory (``memory_model``), a sender and a receiver as
two threads of which one runs at a time.

Choices are enumerated: all ways that deviate at most so often from "go on" (most bugs need
two or three deviations; Musuvathi and Qadeer, PLDI 2007), and random ways beyond.
"""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest

from memory_model import RECEIVER, SENDER, Landing, Machine, Memory
from refcoll.transport import TransportError
from refcoll_mpi import taking
from refcoll_mpi.lanes import key
from refcoll_mpi.receiving import Inlet
from refcoll_mpi.sending import Outlet, Post
from refcoll_mpi.taking import Take

PLACE, PLACES = 8, 2
"""So that few messages fill a lane."""
CHANNELS = [key(0, 1), key(0, 2), key(3, 1)]
MESSAGES = [
    # (channel, bytes, how)
    (0, b"aaaa", "plain"),
    (1, b"bbbbbb", "plain"),
    (0, b"cccccccccc", "long"),
    (2, b"dddd", "changes"),
    (1, b"eeeeee", "lent"),
    (0, b"ffff", "plain"),
    (1, b"gggg", "lent"),
]
ORDER = [0, 2, 1, 3, 5, 4, 6]
"""In which the receiver asks for them: in order on each channel."""


def until(machine, me):
    def wait(done, timeout, awaited, source):
        while not done():
            machine.wait(me)

    return wait


def sender(machine, fenced=True):
    heap = Memory(machine, SENDER, "heap")
    fence = (lambda: machine.fence(SENDER)) if fenced else None
    outlet = Outlet(Memory(machine, SENDER, "lane"), 0, PLACE, fence, places=PLACES)
    sent = []
    for at, (channel, data, how) in enumerate(MESSAGES):
        octets, lent = bytearray(data), None
        if how == "lent":
            heap.piece(64 * at, len(data))[:] = data
            lent = 64 * at
        parts = [octets[i : i + PLACE] for i in range(0, len(data), PLACE)]
        posts = [
            Post(outlet, part, len(data), CHANNELS[channel], how == "changes", lent)
            for part in (parts if lent is None else [octets])
        ]
        for post in posts:
            post.start()
        if how == "changes":
            parts[0][:] = b"????"
        if how == "lent":
            while not post.done():
                outlet.push()
                machine.wait(SENDER)
            heap.piece(64 * at, len(data))[:] = b"????"
        sent += posts
    while not all(post.number for post in sent):
        outlet.push()
        machine.wait(SENDER)


def receiver(machine, fenced=True):
    heap = Memory(machine, RECEIVER, "heap")
    fence = (lambda: machine.fence(RECEIVER)) if fenced else None
    inlet, last = (
        Inlet(Memory(machine, RECEIVER, "lane"), 0, PLACE, heap, fence, places=PLACES),
        None,
    )
    for number in ORDER:
        channel, data, _ = MESSAGES[number]
        wait = until(machine, RECEIVER)
        take = Take(inlet, len(data), CHANNELS[channel], None, np.uint8, wait, 0)
        if take._octets is not None:
            take._octets = Landing(take.view)
        if last is not None:
            last.give_back()
        came, last = bytes(np.asarray(take.wait(1.0))), take
        assert came == data, (number, came)
    last.give_back()


@pytest.fixture(autouse=True)
def some_are_copied_and_some_lent(monkeypatch):
    monkeypatch.setattr(taking, "_SMALL", 5)


def enumerated(deviations, weak, fenced, most):
    """Run all choices with so many deviations, at most ``most`` of them; how many ran."""
    pending, ran = [()], 0
    while pending and ran < most:
        forced = dict(pending.pop())
        widths = []

        def choose(n, forced=forced, widths=widths):
            widths.append(n)
            return forced.get(len(widths) - 1, 0)

        Machine(choose, weak).run(lambda m: sender(m, fenced), lambda m: receiver(m, fenced))
        ran += 1
        if len(forced) < deviations:
            last = max(forced, default=-1)
            pending += [
                (*forced.items(), (at, way))
                for at in range(last + 1, len(widths))
                for way in range(1, widths[at])
            ]
    return ran


def at_random(seeds, weak, fenced):
    for seed in seeds:
        draw = random.Random(seed)
        rate = draw.choice([0.05, 0.3, 0.6])

        def choose(n, draw=draw, rate=rate):
            return draw.randrange(n) if draw.random() < rate else 0

        Machine(choose, weak).run(lambda m: sender(m, fenced), lambda m: receiver(m, fenced))


def test_all_ways_with_one_deviation_deliver():
    """On a weak processor too; every one is tried: the limit is not reached."""
    for weak in (False, True):
        assert 100 < enumerated(1, weak, weak, 10_000) < 10_000


@pytest.mark.long
def test_ways_with_two_deviations_deliver():
    enumerated(2, weak=False, fenced=False, most=1500)
    enumerated(2, weak=True, fenced=True, most=1500)


@pytest.mark.parametrize("ways", [300, pytest.param(3000, marks=pytest.mark.long)])
def test_random_ways_deliver(ways):
    """Each fault below shows in at least four of the first 150."""
    at_random(range(ways), weak=False, fenced=False)
    at_random(range(ways), weak=True, fenced=True)


# ---- the model finds what is wrong ----------------------------------------------------------


def found():
    with pytest.raises((AssertionError, TypeError, ValueError, TransportError)):
        at_random(range(3000), weak=False, fenced=False)


def test_a_weak_processor_needs_the_fences():
    with pytest.raises((AssertionError, TypeError, ValueError, TransportError)):
        at_random(range(3000), weak=True, fenced=False)


def test_a_number_written_before_the_data_is_found(monkeypatch):
    put = Post.put

    def early(self, octets):
        outlet, number = self.outlet, self.outlet.sent + 1
        outlet.words[outlet.number_at[number & outlet.mask]] = number
        put(self, octets)

    monkeypatch.setattr(Post, "put", early)
    found()


def test_a_place_used_too_soon_is_found(monkeypatch):
    def room(self):
        self.taken = self.words[self.taken_at]
        return self.sent - self.taken < self.places + 1

    monkeypatch.setattr(Outlet, "room", room)
    found()


def test_a_place_given_back_too_soon_is_found(monkeypatch):
    monkeypatch.setattr(taking, "_SMALL", 0)  # all are lent
    wait = Take.wait

    def hasty(self, timeout):
        came = wait(self, timeout)
        self.give_back()
        return came

    monkeypatch.setattr(Take, "wait", hasty)
    found()


def test_lent_memory_written_too_soon_is_found(monkeypatch):
    monkeypatch.setattr(Post, "done", lambda self: self.number > 0)
    found()


def test_what_is_held_must_be_kept(monkeypatch):
    start = Post.start

    def careless(self):
        self.changes = False
        start(self)

    monkeypatch.setattr(Post, "start", careless)
    found()


def test_a_message_that_is_forgotten_is_a_deadlock(monkeypatch):
    monkeypatch.setattr(Outlet, "push", lambda self: self.held.clear())
    found()


def test_what_two_threads_give_back_at_once_is_given_back_once():
    """One abandons the exchange while the other is about to go on to its next receive."""

    class Overtaken:
        """A lock that another thread gets first."""

        def __enter__(self):
            inlet.lock = threading.Lock()
            take.give_back()

        def __exit__(self, *_):
            pass

    inlet = Inlet(Memory(Machine(lambda n: 0, False), RECEIVER, "lane"), 0, PLACE, places=PLACES)
    take = Take(inlet, PLACE, CHANNELS[0], None, np.uint8, lambda *_: None, 0)
    inlet.received, inlet.lent, take._number = 2, [1], 1
    inlet.lock = Overtaken()
    take.give_back()
    assert inlet.lent == []
    assert inlet.taken == 2
