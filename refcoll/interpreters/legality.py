"""What is illegal in a program by itself, before any value moves: bounds and races."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from refcoll.graph import is_chain
from refcoll.programs import Program
from refcoll.schedule import Copy, Send, Step, indices, peer


@dataclass(frozen=True)
class Failure:
    """One verdict that does not hold, with a counterexample in words."""

    verdict: str
    message: str

    def __str__(self) -> str:
        return f"{self.verdict}: {self.message}"


def illegalities(program: Program) -> Iterator[Failure]:
    """Actions that name what does not exist, and steps that write what they must not."""
    yield from out_of_bounds(program)
    for where, step in _steps(program):
        yield from _races(where, step)
    yield from _races_between_steps(program)


def out_of_bounds(program: Program) -> Iterator[Failure]:
    """Actions that name a rank or a chunk that does not exist."""
    for where, step in _steps(program):
        yield from _bounds(program, where, step)


def _steps(program: Program) -> Iterator[tuple[str, Step]]:
    """Every step, and where it stands, in words."""
    for rank, graph in enumerate(program.graphs):
        for node in graph:
            yield f"rank {rank} step {node.number + 1}", node.actions


def _bounds(program: Program, where: str, step: Step) -> Iterator[Failure]:
    for action in step:
        if not 0 <= peer(action) < program.ranks:
            ranks = f"0..{program.ranks - 1}"
            yield Failure("bounds", f"{where}: {action} names a rank outside {ranks}")
        for chunk in indices(action.chunks):
            if not 0 <= chunk < program.areas * program.chunks:
                areas = f" in {program.areas} areas" if program.areas > 1 else ""
                named = f"chunk {chunk} of {program.chunks}{areas}"
                yield Failure("bounds", f"{where}: {action} names {named}")


def _races(where: str, step: Step) -> Iterator[Failure]:
    sent = {i for action in step if isinstance(action, Send) for i in indices(action.chunks)}
    written: set[int] = set()
    for action in step:
        if isinstance(action, Send):
            continue
        named = list(indices(action.chunks))
        if len(set(named)) < len(named):
            yield Failure("race", f"{where}: {action} names a chunk twice")
        if isinstance(action, Copy):
            for chunk in sorted(sent.intersection(named)):
                said = f"overwrites chunk {chunk}, which the step sends"
                yield Failure("race", f"{where}: {action} {said}")
            for chunk in sorted(written.intersection(named)):
                said = f"overwrites chunk {chunk}, just received"
                yield Failure("race", f"{where}: {action} {said}")
        written.update(named)


def _races_between_steps(program: Program) -> Iterator[Failure]:
    """Steps side by side, in the general graph of a foreign program, that touch one chunk."""
    for rank, graph in enumerate(program.graphs):
        if is_chain(graph):
            continue
        earlier: list[set[int]] = []
        for index, node in enumerate(graph):
            before = set(node.after).union(*(earlier[i] for i in node.after))
            earlier.append(before)
            for other in set(range(index)) - before:
                for chunk in sorted(_conflicts(graph[other].actions, node.actions)):
                    numbers = f"steps {graph[other].number + 1} and {node.number + 1}"
                    yield Failure("race", f"rank {rank} {numbers} both touch chunk {chunk}")


def _conflicts(one: Step, other: Step) -> set[int]:
    """The chunks that both steps name and at least one of them writes."""

    def named(step: Step, written: bool) -> set[int]:
        actions = (a for a in step if not (written and isinstance(a, Send)))
        return {i for action in actions for i in indices(action.chunks)}

    touched = named(one, False) & named(other, False)
    return touched & (named(one, True) | named(other, True))
