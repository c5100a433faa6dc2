"""All pairs: everyone sends its share to everyone at once, twice.

A direct reduce-scatter, then a direct all-gather (``all_gather``): two steps whatever N.

        size 4, rank 1:   step 1: sends chunk q to rank q, gets chunk 1 of 0, 2 and 3
                          step 2: sends the merged chunk 1 to all, gets theirs

For nodes whose ranks are all connected, where N-1 messages at once cost little.  Each chunk
is merged on one rank, outwards from that rank's own, so operands meet in rank order.
(The two-shot, or two-pass, kernels of MSCCL's all-pairs algorithms.)
"""

from __future__ import annotations

from refcoll.algorithms.all_gather import direct_all_gather, direct_reduce_scatter
from refcoll.algorithms.declaration import Algorithm, Lengths, chunk_per_rank
from refcoll.algorithms.ring import all_but
from refcoll.schedule import Schedule, then


def two_shot_all_reduce(rank: int, size: int) -> Schedule:
    """Chunks: N.  Steps: 2.  Sent and received: S - |c_r| + (N-1) |c_r|."""
    return then(direct_reduce_scatter(rank, size), direct_all_gather(rank, size))


def _two_shots(rank: int, size: int, lengths: Lengths) -> int:
    return all_but(rank, lengths) + (size - 1) * lengths[rank]


ALGORITHMS = (
    Algorithm(
        name="two_shot",
        collective="all_reduce",
        schedule=two_shot_all_reduce,
        chunks=chunk_per_rank,
        steps=lambda rank, size: 2 * (size > 1),
        depth=lambda size: 2 * (size > 1),
        sent=_two_shots,
        received=_two_shots,
        in_rank_order=True,
        bandwidth_optimal="always",
        source="MSCCL all-pairs algorithms",
        also_known_as={"MSCCL": "allreduce_allpairs"},
    ),
)
