"""Ring all-reduces with a fault, to be put in the place of the right one (``change_ring``)."""

from __future__ import annotations

from dataclasses import replace

from refcoll import registry
from refcoll.schedule import Copy, Reduce, Send

RING = registry.ALGORITHMS["all_reduce", "ring"]


def without_last_step(rank, size):
    yield from list(RING.schedule(rank, size))[:-1]


def wrong_chunk(rank, size):
    """In its first step every rank sends, and merges, one chunk further on."""
    (send, reduce), *others = RING.schedule(rank, size)
    yield replace(send, chunks=(send.chunks + 1) % size), reduce
    yield from others


def twice(rank, size):
    """Exchange with the neighbour twice: for 2 ranks 2(x0 + x1), which booleans call right."""
    for _ in range(2):
        yield Send(range(size), (rank + 1) % size), Reduce(range(size), (rank - 1) % size)


def copies_instead(rank, size):
    """The last reduction replaces instead of merging."""
    steps = list(RING.schedule(rank, size))
    send, reduce = steps[size - 2]
    steps[size - 2] = send, Copy(reduce.chunks, reduce.source)
    yield from steps


def waits_for_nobody(rank, size):
    """Rank 0 leaves a message unsent."""
    for number, step in enumerate(RING.schedule(rank, size)):
        yield step[1:] if (rank, number) == (0, 0) else step
