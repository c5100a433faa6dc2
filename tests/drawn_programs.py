"""Programs that hypothesis draws, and what each must come to by the meaning of its collective."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from refcoll import algorithms, program
from refcoll.collectives import COLLECTIVES
from samples import ROOTED


@st.composite
def programs(draw, among=None, roots=True):
    """Any algorithm, on any ranks, from any root, on any nodes."""
    each = draw(st.sampled_from(algorithms() if among is None else among))
    size = draw(st.integers(1, 9).filter(each.sizes.holds))
    rooted = each in ROOTED
    root = draw(st.integers(0, size - 1)) if rooted and roots else 0
    nodes = None
    if "nodes" in each.options:
        order = draw(st.permutations(range(size)))
        cuts = sorted(draw(st.sets(st.integers(1, size - 1)))) if size > 1 else []
        ends = [0, *cuts, size]
        nodes = [order[a:b] for a, b in pairwise(ends)]
    return program(
        each.collective, each.name, size,
        root=root, nodes=nodes, segments=draw(st.integers(1, 4)),
        radix=draw(st.integers(2, 5)), shards=draw(st.integers(1, 4)),
    )  # fmt: skip


def reductions():
    return programs([each for each in algorithms() if COLLECTIVES[each.collective].reduces])


def lengths_of(made, count):
    """Where each chunk lies, added up here rather than asked of the layout."""
    ends = np.cumsum([0, *made.layout(count).lengths])
    assert ends[-1] == count
    return [slice(a, b) for a, b in pairwise(ends)]


def defined(made, count):
    """(rank, slice, who must be in it) of every chunk that the collective speaks of.

    Written from the meaning of each collective, not from refcoll.collectives.
    """
    everyone = list(range(made.size))
    for rank in range(made.size):
        for chunk, where in enumerate(lengths_of(made, count)):
            match made.collective.name:
                case "all_reduce":
                    yield rank, chunk, where, everyone
                case "reduce" if rank == made.root:
                    yield rank, chunk, where, everyone
                case "reduce_scatter" if rank == chunk:
                    yield rank, chunk, where, everyone
                case "all_gather":
                    yield rank, chunk, where, [chunk]
                case "broadcast":
                    yield rank, chunk, where, [made.root]
                case "gather" if rank == made.root:
                    yield rank, chunk, where, [chunk]
                case "scatter" if rank == chunk:
                    yield rank, chunk, where, [made.root]
                case "scan":
                    yield rank, chunk, where, everyone[: rank + 1]
                case "exscan" if rank > 0:
                    yield rank, chunk, where, everyone[:rank]
                case "all_to_all":
                    yield rank, chunk, where, [chunk]


def origin(made, count, rank, where):
    """Where, in the inputs, the elements of a place of a result come from."""
    if made.collective.name != "all_to_all":
        return where
    return lengths_of(made, count)[rank]
