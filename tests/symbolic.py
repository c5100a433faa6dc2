"""Run Python's own functions on symbols: one turn of a loop, for every rank and every N.

A schedule is a loop, ``for t in range(1, size): yield ...``.  Called with ``range`` and the
like replaced, the very function yields the step of *one* turn, t, in which rank, size and t
are z3's integers or bit vectors; where it branches, each branch in turn.  What z3 then says of
the step it says of every rank, N and t.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, NamedTuple

import z3

from refcoll.schedule import Step

MILLISECONDS = 20_000


class UndecidedError(Exception):
    """z3 cannot tell whether a claim holds."""


class Turn(NamedTuple):
    """One turn of a loop, on one of the paths through it."""

    when: z3.BoolRef
    """The conditions of the path, and that the loop gets to this turn."""
    step: Step
    loop: Loop


class Loop:
    """Stands in for ``range``: remembers its bounds, and takes one turn."""

    def __init__(self, turn: Any) -> None:
        self.turn = turn
        self.start: Any = 0
        self.stop: Any = 0

    def __call__(self, *bounds: Any) -> Iterator[Any]:
        self.start, self.stop = bounds if len(bounds) == 2 else (0, *bounds)
        yield self.turn

    @property
    def reached(self) -> z3.BoolRef:
        """That the loop has this turn."""
        return z3.And(self.start <= self.turn, self.turn < self.stop)


def turns(
    function: Callable[..., Any], rank: Any, size: Any, turn: Any, **names: Any
) -> list[Turn]:
    """Every path through turn ``turn`` of ``function(rank, size)``, a generator of steps.

    ``names`` are other globals of the function that are replaced, like ``range`` is.
    """
    assert isinstance(function, FunctionType)
    found: list[Turn] = []
    todo: list[list[bool]] = [[]]
    while todo:
        loop, decisions = Loop(turn), _Decisions(todo.pop())
        copied = FunctionType(function.__code__, function.__globals__ | {"range": loop} | names)
        with decisions:
            (step,) = copied(rank, size)
        todo += decisions.others
        found.append(Turn(z3.And(loop.reached, *decisions.conditions), step, loop))
    return found


class Exponent:
    """The number k of a turn, of which nothing is used but 2^k: any positive number here."""

    def __init__(self, number: z3.ArithRef, power: z3.ArithRef) -> None:
        self.number, self.power = number, power

    def __rlshift__(self, factor: int) -> z3.ArithRef:
        return factor * self.power

    def __ge__(self, other: Any) -> Any:
        return self.number >= other

    def __lt__(self, other: Any) -> Any:
        return self.number < other


class _Decisions:
    """Lets conditions on symbols decide branches: as told, then true, noting what else."""

    def __init__(self, told: list[bool]) -> None:
        self.told, self.taken = told, list[bool]()
        self.conditions: list[z3.BoolRef] = []
        self.others: list[list[bool]] = []

    def __enter__(self) -> None:
        self.asked = z3.BoolRef.__bool__
        z3.BoolRef.__bool__ = lambda condition: self._decide(condition)

    def __exit__(self, *error: object) -> None:
        z3.BoolRef.__bool__ = self.asked

    def _decide(self, condition: z3.BoolRef) -> bool:
        number = len(self.taken)
        if number == len(self.told):
            self.told = [*self.told, True]
            self.others.append([*self.taken, False])
        self.taken.append(self.told[number])
        self.conditions.append(condition if self.told[number] else z3.Not(condition))
        return self.told[number]


def holds(claim: z3.BoolRef | bool, *given: z3.BoolRef | bool) -> bool:
    """Whether the claim holds for all values that are given to be so."""
    solver = z3.Solver()
    solver.set("timeout", MILLISECONDS)
    solver.add(*given, z3.Not(claim))
    answer = solver.check()
    if answer == z3.unknown:
        raise UndecidedError(f"{claim} from {given}: {solver.reason_unknown()}")
    return answer == z3.unsat
