"""Lanes, tried in all ways that memory and scheduling allow, within bounds.

The lanes' own code runs here on a model of memory, a sender and a receiver as two threads of
which one runs at a time.  Before every access of either a *choice* is made: it goes on; the
other goes on; or a write that was made takes effect.  On an ordered processor (x86) writes
take effect in the order in which they were made; on a weak one in any order, and reads may
see what stood there before, unless a fence has come between.

Choices are enumerated: all ways that deviate at most so often from "go on" (most bugs need
two or three deviations; Musuvathi and Qadeer, PLDI 2007), and random ways beyond.
"""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest

from refcoll.transport import TransportError
from refcoll_mpi import taking
from refcoll_mpi.lanes import key
from refcoll_mpi.receiving import Inlet
from refcoll_mpi.sending import Outlet, Post
from refcoll_mpi.taking import Take

SENDER, RECEIVER = 0, 1
PLACE, PLACES = 8, 2
"""So that few messages fill a lane."""
CHANNELS = [key(0, 1), key(0, 2), key(3, 1)]


class Deadlock(AssertionError):
    pass


class Machine:
    """Memory, and who runs: ``choose(n)`` picks one of n ways to go on, 0 being "go on"."""

    def __init__(self, choose, weak):
        self.choose, self.weak = choose, weak
        self.now = {}
        self.before = ({}, {})
        """By process: what locations held since its last fence."""
        self.buffers = ([], [])
        self.turns = (threading.Semaphore(0), threading.Semaphore(0))
        self.over = [False, False]
        self.stuck = [0, 0]
        """How often each has waited since something changed."""
        self.failure = None

    def access(self, me):
        """Another may go on first, or writes take effect."""
        while True:
            ways = ["go on"] + (["other"] if not self.over[1 - me] else []) + self._drainable()
            way = ways[self.choose(len(ways))]
            if way == "go on":
                return
            if way == "other":
                self._switch(me)
            else:
                self._drain(*way)

    def wait(self, me):
        """Nothing to do for ``me``: the other must go on, or a write must take effect."""
        self.stuck[me] += 1
        if all(often > 1 or over for often, over in zip(self.stuck, self.over, strict=True)):
            if self._drainable():
                self._drain(*self._drainable()[0])
            elif any(self.before):  # what is new is seen in the end
                self.before = ({}, {})
                self.stuck = [0, 0]
            else:
                raise Deadlock("all wait, and nothing is under way")
        if not self.over[1 - me]:
            self._switch(me)

    def load(self, me, where):
        self.access(me)
        for place, value in reversed(self.buffers[me]):
            if place == where:
                return value
        seen = self.now.get(where, 0)
        if self.weak and where in self.before[me] and self.choose(2):
            return self.before[me][where]
        if self.before[me].pop(where, seen) != seen:
            self.stuck = [0, 0]
        return seen

    def store(self, me, where, value):
        self.access(me)
        self.stuck = [0, 0]
        self.buffers[me].append((where, value))

    def fence(self, me):
        while self.buffers[me]:
            self._drain(me, 0)
        if self.before[me]:
            self.before[me].clear()
            self.stuck = [0, 0]

    def _drainable(self):
        found = []
        for process, buffer in enumerate(self.buffers):
            places = [place for place, _ in buffer]
            firsts = [i for i, place in enumerate(places) if place not in places[:i]]
            found += [(process, i) for i in (firsts if self.weak else firsts[:1])]
        return found

    def _drain(self, process, index):
        self.stuck = [0, 0]
        where, value = self.buffers[process].pop(index)
        self.before[1 - process].setdefault(where, self.now.get(where, 0))
        self.now[where] = value

    def _switch(self, me):
        self.turns[1 - me].release()
        self.turns[me].acquire()
        if self.failure is not None:
            raise SystemExit

    def run(self, *bodies):
        def body(me):
            self.turns[me].acquire()
            try:
                if self.failure is None:
                    bodies[me](self)
            except SystemExit:
                pass
            except BaseException as error:
                self.failure = error
            self.over[me] = True
            self.turns[1 - me].release()

        threads = [threading.Thread(target=body, args=(me,)) for me in (0, 1)]
        for thread in threads:
            thread.start()
        self.turns[SENDER].release()
        for thread in threads:
            thread.join()
        if self.failure is not None:
            raise self.failure


class Words:
    def __init__(self, machine, me, name):
        self.machine, self.me, self.name = machine, me, name

    def __getitem__(self, index):
        return self.machine.load(self.me, (self.name, "word", index))

    def __setitem__(self, index, value):
        self.machine.store(self.me, (self.name, "word", index), value)


class Bytes:
    """Some bytes of memory: read when used, and written as one."""

    def __init__(self, memory, start, nbytes):
        self.memory, self.where, self.size = memory, (memory.name, "data", start), nbytes

    def __setitem__(self, index, value):
        self.memory.machine.store(self.memory.me, self.where, bytes(value))

    def copy(self):
        held = self.memory.machine.load(self.memory.me, self.where) or b""
        return np.frombuffer(held.ljust(self.size, b"\0")[: self.size], np.uint8)

    def __array__(self, dtype=None, copy=None):
        return self.copy()


class Landing:
    """A receive's own memory, of which only it knows."""

    def __init__(self, view):
        self.view = view

    def __setitem__(self, index, piece):
        self.view[index] = piece.copy()


class Memory:
    def __init__(self, machine, me, name):
        self.machine, self.me, self.name = machine, me, name
        self.words = Words(machine, me, name)

    def piece(self, start, nbytes):
        return Bytes(self, start, nbytes)

    def array(self, start, nbytes, dtype):
        return Bytes(self, start, nbytes)


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
