"""A run in which chunks hold expressions: who merged what with what, and who heard of whom."""

from __future__ import annotations

from refcoll.interpreters.delivery import Place, Started
from refcoll.interpreters.expression import Expression
from refcoll.interpreters.legality import Failure
from refcoll.interpreters.replay import Symbols, replay
from refcoll.programs import Program
from refcoll.schedule import Copy, Reduce, Send, indices


class SymbolicRun(Symbols):
    """One play of the program in which chunks hold expressions."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.failures: list[Failure] = []
        self.aligned = True
        self.in_rank_order = True
        self.heard = [1 << rank for rank in range(program.ranks)]
        self.told: dict[tuple[int, int], int] = {}
        """Per node, whom its rank had heard of when it started."""

    def play(self, capacity: float) -> None:
        """Run it.  Raises DeadlockError and UnmatchedError."""
        for event in replay(self.program, self, capacity):
            if isinstance(event, Started):
                self.told[event.rank, event.node] = self.heard[event.rank]
            else:
                actions = self.program.graphs[event.rank][event.node].actions
                for action, origin in zip(actions, event.partners, strict=True):
                    if not isinstance(action, Send) and origin is not None:
                        self.heard[event.rank] |= self.told[origin[:2]]
                        self._compare_ends(event.rank, event.node, action, origin)

    def read(self, place: Place, chunk: int) -> Expression | None:
        value = super().read(place, chunk)
        if value is None:
            self._fail_at(place, "undefined", f"sends chunk {chunk}, still empty")
        return value

    def merge(self, place: Place, chunk: int, value: Expression | None, on_left: bool) -> None:
        if chunk not in self.memory[place[0]]:
            self._fail_at(place, "undefined", f"reduces into chunk {chunk}, still empty")
        super().merge(place, chunk, value, on_left)

    def _fail_at(self, place: Place, verdict: str, message: str) -> None:
        rank, index, position = place
        action = self.program.graphs[rank][index].actions[position]
        self._fail(verdict, rank, index, f"{action} {message}")

    def _compare_ends(self, rank: int, index: int, action: Copy | Reduce, origin: Place) -> None:
        source, node, position = origin
        other = self.program.graphs[source][node]
        sent = other.actions[position]
        c = 1 if self.program.collective.transposes else self.program.chunks
        if [i % c for i in indices(action.chunks)] != [i % c for i in indices(sent.chunks)]:
            self._fail(
                "matching",
                rank,
                index,
                f"{action} meets {sent} of rank {source} step {other.number + 1}, of other chunks",
            )
        self.aligned &= other.number == self.program.graphs[rank][index].number

    def _fail(self, verdict: str, rank: int, index: int, message: str) -> None:
        number = self.program.graphs[rank][index].number
        self.failures.append(Failure(verdict, f"rank {rank} step {number + 1}: {message}"))
