"""Play a program on values of any kind: arrays, expressions, whatever a store holds."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Protocol, TypeVar

from refcoll.interpreters.delivery import Finished, Place, Started, deliver
from refcoll.interpreters.expression import Expression, Expressions
from refcoll.programs import Program
from refcoll.schedule import Copy, Send, incoming_goes_left, indices

V = TypeVar("V")


class Store(Protocol[V]):
    """What all ranks' chunks hold.  A place says which action asks."""

    def read(self, place: Place, chunk: int) -> V:
        """The value that the rank sends now; later writes must not change it."""

    def write(self, place: Place, chunk: int, value: V) -> None:
        """The chunk becomes ``value``."""

    def merge(self, place: Place, chunk: int, value: V, on_left: bool) -> None:
        """The chunk becomes ``value`` op itself, or itself op ``value``."""


def replay(
    program: Program, store: Store[V], capacity: float = inf
) -> Iterator[Started | Finished]:
    """Play ``program`` on ``store``; yields each event once the store reflects it."""
    flying: dict[Place, list[V]] = {}
    for event in deliver(program.graphs, capacity):
        actions = program.graphs[event.rank][event.node].actions
        if isinstance(event, Started):
            for position, action in enumerate(actions):
                place = (event.rank, event.node, position)
                if isinstance(action, Send):
                    flying[place] = [store.read(place, i) for i in indices(action.chunks)]
        else:
            for position, origin in enumerate(event.partners):
                action, place = actions[position], (event.rank, event.node, position)
                if isinstance(action, Send) or origin is None:
                    continue
                for chunk, value in zip(indices(action.chunks), flying.pop(origin), strict=False):
                    if isinstance(action, Copy):
                        store.write(place, chunk, value)
                    else:
                        left = incoming_goes_left(action, event.rank)
                        store.merge(place, chunk, value, left)
        yield event


class Symbols:
    """A store of expressions, or None for a chunk that holds nothing yet."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.make = Expressions()
        self.memory = [self._initial(rank) for rank in range(program.ranks)]

    def _initial(self, rank: int) -> dict[int, Expression]:
        held = ((c, self.program.before(rank, c)) for c in range(self.program.chunks))
        return {c: self.make.leaf(who, c) for c, who in held if who is not None}

    def read(self, place: Place, chunk: int) -> Expression | None:
        return self.memory[place[0]].get(chunk)

    def write(self, place: Place, chunk: int, value: Expression | None) -> None:
        if value is not None:
            self.memory[place[0]][chunk] = value

    def merge(self, place: Place, chunk: int, value: Expression | None, on_left: bool) -> None:
        memory = self.memory[place[0]]
        mine = memory.get(chunk)
        if value is not None and mine is not None:
            pair = (value, mine) if on_left else (mine, value)
            memory[chunk] = self.make.merge(*pair)
