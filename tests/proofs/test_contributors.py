"""What a schedule does in Coq is what refcoll's interpreters do: on lists of contributions.

Coq runs every bound program on such lists, merged by appending (proofs/Executable.v), and
prints what every rank ends with in every chunk (proofs/golden/contributors.txt).  Here the
interpreters run the same programs on *names* of lists: an element is the number of a list,
and the operator appends the lists that two numbers stand for.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

from coq_golden import SIZES_RUN, contributors, golden, kept
from coq_terms import BOUND, Bound, instances, several
from refcoll import Program, check, simulate, spawn, user_operator
from refcoll.chunks import Layout
from refcoll.interpreters.execute import Plan

bound = pytest.mark.parametrize("bound", BOUND, ids="{0.collective}-{0.algorithm}".format)
TIMEOUT = 20


class Lists:
    """Lists of contributions (rank, chunk), by number."""

    def __init__(self) -> None:
        self.lists: list[tuple[tuple[int, int], ...]] = []
        self.numbers: dict[tuple[tuple[int, int], ...], int] = {}
        self.lock = threading.Lock()
        # It does not commute, and so shows in which order operands meet.
        self.append = user_operator(np.vectorize(self._appended, [int]), "append", commutative=True)

    def number(self, contributions: tuple[tuple[int, int], ...]) -> int:
        with self.lock:
            if contributions not in self.numbers:
                self.numbers[contributions] = len(self.lists)
                self.lists.append(contributions)
            return self.numbers[contributions]

    def _appended(self, left: int, right: int) -> int:
        return self.number(self.lists[left] + self.lists[right])

    def inputs(self, made: Program) -> list[np.ndarray]:
        """One element a chunk: the list of the rank's own contribution."""
        own = [[self.number(((r, c),)) for c in range(made.chunks)] for r in range(made.size)]
        return list(np.array(own, np.int64))

    def term(self, vectors) -> str:
        """What all ranks hold, as Coq prints it."""
        return several(
            several(several(map(str, self.lists[number])) for number in vector)
            for vector in vectors
        )


def executed(made: Program, lists: Lists) -> list[np.ndarray]:
    """What every rank's vector holds after the program ran over the in-process transport."""
    inputs, layout = lists.inputs(made), Layout((1,) * made.chunks)

    def body(comm):
        memory = inputs[comm.rank].copy()
        Plan(made, comm.transport, memory, layout, lists.append, 0).run(TIMEOUT)
        return memory

    return spawn(made.size, body, timeout=TIMEOUT)


@bound
def test_simulate_does_what_coq_does(bound: Bound):
    for each in instances(SIZES_RUN, [bound]):
        made, lists = each.program, Lists()
        layout = Layout((1,) * made.chunks)
        held = lists.term(simulate(made, lists.inputs(made), lists.append, layout))
        assert kept(held) == golden("contributors.txt")[each.schedule], each.schedule


@bound
def test_execute_does_what_coq_does(bound: Bound):
    for each in instances(range(1, 8), [bound]):
        made, lists = each.program, Lists()
        held = lists.term(executed(made, lists))
        assert kept(held) == golden("contributors.txt")[each.schedule], each.schedule


@bound
def test_the_checker_sees_what_coq_sees(bound: Bound):
    """In all chunks that the collective asks for: others the checker may not look at."""
    for each in instances(range(1, 8), [bound]):
        made, lists = each.program, Lists()
        ran = simulate(made, lists.inputs(made), lists.append, Layout((1,) * made.chunks))
        for rank, values in enumerate(check(made).values):
            for chunk, value in values.items():
                seen = value.evaluate(lambda who, c: ((who, c),), lambda a, b: a + b)
                if made.after(rank, chunk) is not None:
                    assert seen == lists.lists[ran[rank][chunk]]


@pytest.mark.usefixtures("checked")
def test_what_was_printed_is_what_coq_computes():
    which = instances(range(1, 7))
    printed = golden("contributors.txt")
    for each, answer in zip(which, contributors(which), strict=True):
        assert kept(answer) == printed[each.schedule], each.schedule
