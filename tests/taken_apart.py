"""Programs taken apart into what every rank does, as a list of lists of steps, and put together."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from refcoll import Copy, Reduce, Send, node_shape, program
from refcoll.schedule import indices


@cache
def right(each, size):
    """A program without fault, hierarchical ones on two switches with a node each."""
    nodes = [[list(node)] for node in two_nodes(size)]
    return program(
        each.collective, each.name, size, nodes=nodes, segments=2, radix=2 + size % 2, shards=2
    )


def two_nodes(size):
    return node_shape([size - size // 2, size // 2]) if size > 1 else ((0,),)


def steps_of(made):
    """Per rank, its steps, idle ones included, as lists."""
    last = max((graph[-1].number for graph in made.graphs if graph), default=-1)
    steps = [[()] * (last + 1) for _ in made.graphs]
    for rank, graph in enumerate(made.graphs):
        for node in graph:
            steps[rank][node.number] = node.actions
    return steps


def rebuilt(made, steps):
    return replace(made, steps=steps.__getitem__)


def places(steps, kind):
    """(rank, step, position) of all actions of a kind."""
    return [
        (rank, number, position)
        for rank, mine in enumerate(steps)
        for number, step in enumerate(mine)
        for position, action in enumerate(step)
        if isinstance(action, kind)
    ]


def at(steps, place):
    rank, number, position = place
    return steps[rank][number][position]


def changed(steps, *changes):
    """The steps with the action at each place replaced by others: none, one or more."""
    result = [list(mine) for mine in steps]
    for (rank, number, position), actions in sorted(changes, reverse=True):
        step = result[rank][number]
        result[rank][number] = (*step[:position], *actions, *step[position + 1 :])
    return result


def send_of(steps, receive):
    """Where the message received at a place is sent: in aligned schedules, in the same step."""
    rank, number, _ = receive
    source = at(steps, receive).source
    before = [p for p in places(steps, (Copy, Reduce)) if p[:2] == (rank, number) and p < receive]
    nth = sum(at(steps, p).source == source for p in before)
    sends = [p for p in places(steps, Send)
             if p[:2] == (source, number) and at(steps, p).to == rank]  # fmt: skip
    return sends[nth]


def shifted(action, chunks):
    """The same with every chunk one too high, modulo their number, in the same area."""
    wrong = tuple(i // chunks * chunks + (i + 1) % chunks for i in indices(action.chunks))
    return replace(action, chunks=wrong)
