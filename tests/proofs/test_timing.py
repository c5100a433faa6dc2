"""The theorems on timing (proofs/Async.v) hold of all of refcoll's schedules: each is *orderly*.

Coq decides it by computation, on the schedules that Python emits; and refcoll's checker says
the same in its own verdicts, of these and of schedules with a fault.  That all algorithms are
so for every N up to 64, every root and many nodes, tests/interpreters/test_check.py shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

import coq
from coq_terms import head, named_numbers, program_term
from refcoll import Copy, Program, Send, algorithms, check, from_steps, node_shape, program
from refcoll.schedule import Step
from samples import ROOTED

Steps = list[list[Step]]
"""What every rank does."""


def steps_of(made: Program) -> Steps:
    return [list(made.steps(rank)) for rank in range(made.ranks)]


def all_programs(sizes) -> Iterator[Program]:
    """Every algorithm, on two nodes, and with the last rank as root too."""
    for each in algorithms():
        for size in filter(each.sizes.holds, sizes):
            nodes = node_shape([size - size // 2, size // 2]) if size > 1 else ((0,),)
            for root in {0, size - 1 if each in ROOTED else 0}:
                yield program(each.collective, each.name, size, root=root, nodes=nodes, segments=2)


def orderly_in_coq(several: list[Steps]) -> list[bool]:
    """What the kernel's machine computes of Async.v's predicate."""
    asked = []
    for steps in several:
        rounds = max(len(each) for each in steps)
        asked.append(f"orderly_table {rounds} {named_numbers(program_term(map(iter, steps)))}")
    return [answer == "true" for answer in coq.computed(head(["Async", "AsyncCheck"]), asked)]


def orderly_in_python(made: Program) -> bool:
    """The same in the checker's words."""
    report = check(made)
    verdicts = ("bounds", "race", "matching", "deadlock")
    return report.aligned and not any(map(report.failed, verdicts))


def faulty() -> Iterator[Program]:
    """Schedules of one fault each: lost, late, sent elsewhere, or copied over what is sent."""
    for name in ("ring", "rabenseifner", "binomial"):
        made = program("all_reduce", name, 4)
        for rank, schedule in enumerate(steps_of(made)[:2]):
            for t, step in enumerate(schedule[:3]):
                for other in _faults(step):
                    steps = steps_of(made)
                    steps[rank][t : t + 1] = other
                    yield from_steps("all_reduce", steps, made.chunks, name=f"{name} {rank} {t}")


def _faults(step: Step) -> Iterator[list[Step]]:
    if not step:
        return
    first, last = step[0], step[-1]
    yield [step[1:]]
    yield [(), step]
    yield [(first,), step[1:]]
    if isinstance(first, Send):
        yield [(replace(first, to=(first.to + 1) % 4), *step[1:])]
        yield [(replace(first, to=4), *step[1:])]
        if len(step) > 1:
            yield [(first, Copy(first.chunks, last.source))]
            yield [(first, Copy(last.chunks, last.source))]


@pytest.mark.usefixtures("checked")
def test_all_schedules_are_orderly():
    made = list(all_programs(range(1, 6)))
    answers = orderly_in_coq([steps_of(each) for each in made])
    assert [each.title for each, answer in zip(made, answers, strict=True) if not answer] == []
    assert all(map(orderly_in_python, made))


@pytest.mark.usefixtures("checked")
def test_coq_and_the_checker_agree_on_faults():
    made = list(faulty())
    answers = orderly_in_coq([steps_of(each) for each in made])
    assert [orderly_in_python(each) for each in made] == answers
    assert {each.name for each, answer in zip(made, answers, strict=True) if answer}
    assert not all(answers)


def naive_ring(size: int) -> Steps:
    """The counterexample of AsyncCounterexamples.v: everyone sends before receiving."""
    return [[(Send(0, (rank + 1) % size),), (Copy(0, (rank - 1) % size),)] for rank in range(size)]


@pytest.mark.parametrize("size", [2, 3, 8])
def test_the_naive_ring_deadlocks_unless_a_channel_holds_a_message(size):
    made = from_steps("all_reduce", naive_ring(size), 1)
    assert not orderly_in_python(made)
    assert check(made).failed("deadlock")
    buffered = check(made, capacities=(1,))
    assert not buffered.failed("deadlock")
    assert not buffered.aligned


@pytest.mark.usefixtures("checked")
def test_it_is_the_naive_ring_of_the_proofs():
    (ring,) = coq.computed(
        head(["AsyncCounterexamples"]), ["everyone (fun rank => naive_ring rank 5) 5"]
    )
    assert ring == program_term(map(iter, naive_ring(5)))
