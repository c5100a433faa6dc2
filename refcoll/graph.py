"""The form beneath: per rank, a graph of steps.

A native schedule is the simplest graph, a chain.  A foreign program, where several
threads of one rank advance side by side, is a general one.  ``refcoll.interpreters`` read
graphs, so there is one checker for both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from refcoll.schedule import Step


class Node(NamedTuple):
    """One step, started when the nodes in ``after`` have ended."""

    actions: Step
    after: tuple[int, ...]
    number: int
    """The step's number as its author counts, idle steps included, from 0; people are told
    numbers from 1."""
    channel: int = 0
    """Messages match within a channel; native schedules use one."""


Graph: TypeAlias = tuple[Node, ...]


def is_chain(graph: Graph) -> bool:
    """Whether its steps follow one another, as those of a native schedule do."""
    return all(node.after == ((i - 1,) if i else ()) for i, node in enumerate(graph))


def chained(steps: Iterable[Step]) -> Graph:
    """The graph of a native schedule: each step that is not idle after the one before."""
    nodes: list[Node] = []
    for number, step in enumerate(steps):
        if step:
            after = (len(nodes) - 1,) if nodes else ()
            nodes.append(Node(step, after, number))
    return tuple(nodes)
