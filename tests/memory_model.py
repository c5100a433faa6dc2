"""Memory as two processes share it, and who of them runs.

A sender and a receiver are two threads of which one runs at a time.  Before every access of either
a *choice* is made: it goes on; the other goes on; or a write that was made takes effect.  On an
ordered processor (x86) writes take effect in the order in which they were made; on a weak one in
any order, and reads may see what stood there before, unless a fence has come between.
"""

from __future__ import annotations

import threading

import numpy as np

SENDER, RECEIVER = 0, 1


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
