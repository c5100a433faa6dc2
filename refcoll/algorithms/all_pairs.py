"""All pairs: everyone sends to everyone at once, whole vectors once or shares twice.

*One shot*: everyone gets all vectors, and merges them from rank 0 on, so that all round
alike (``multiplying``, with all ranks as one group).  One step, (N-1) S.

*Two shots*: a direct reduce-scatter, then a direct all-gather (``all_gather``): two steps.

        size 4, rank 1:   step 1: sends chunk q to rank q, gets chunk 1 of 0, 2 and 3
                          step 2: sends the merged chunk 1 to all, gets theirs

For nodes whose ranks are all connected, where N-1 messages at once cost little.  In two
shots each chunk is merged on one rank, outwards from its own, so operands meet in rank
order, as in one shot.  (The one-shot and two-shot kernels of MSCCL and TensorRT-LLM.)
"""

from __future__ import annotations

from refcoll.algorithms.all_gather import direct_all_gather, direct_reduce_scatter
from refcoll.algorithms.declaration import (
    ALWAYS,
    ONE,
    UP_TO_2,
    UP_TO_3,
    Algorithm,
    Lengths,
    chunk_per_rank,
    one_chunk,
)
from refcoll.algorithms.multiplying import merge_whole_vectors
from refcoll.algorithms.ring import all_but
from refcoll.algorithms.symbols import N, S, alpha, beta, gamma
from refcoll.schedule import Schedule, then


def one_shot_all_reduce(rank: int, size: int) -> Schedule:
    """Chunks: 1.  Steps: 1.  Sent and received: (N-1) S.  Scratch: N S."""
    return merge_whole_vectors(rank, range(size), 1)


def two_shot_all_reduce(rank: int, size: int) -> Schedule:
    """Chunks: N.  Steps: 2.  Sent and received: S - |c_r| + (N-1) |c_r|."""
    return then(direct_reduce_scatter(rank, size), direct_all_gather(rank, size))


def _two_shots(rank: int, size: int, lengths: Lengths) -> int:
    return all_but(rank, lengths) + (size - 1) * lengths[rank]


ALGORITHMS = (
    Algorithm(
        name="one_shot",
        collective="all_reduce",
        schedule=one_shot_all_reduce,
        chunks=one_chunk,
        areas=lambda size: 1 + size,
        steps=lambda rank, size: int(size > 1),
        depth=lambda size: int(size > 1),
        sent=lambda rank, size, c: (size - 1) * sum(c),
        received=lambda rank, size, c: (size - 1) * sum(c),
        time=alpha + (N - 1) * S * (beta + gamma),
        one_port=(N - 1) * (alpha + S * (beta + gamma)),
        in_rank_order=True,
        bandwidth_optimal=UP_TO_2,
        latency_optimal=UP_TO_3,
        source="TensorRT-LLM and MSCCL, one-shot all-reduce",
        also_known_as={"TensorRT-LLM": "ONESHOT"},
    ),
    Algorithm(
        name="two_shot",
        collective="all_reduce",
        schedule=two_shot_all_reduce,
        chunks=chunk_per_rank,
        steps=lambda rank, size: 2 * (size > 1),
        depth=lambda size: 2 * (size > 1),
        sent=_two_shots,
        received=_two_shots,
        time=2 * alpha + 2 * (N - 1) / N * S * beta + (N - 1) / N * S * gamma,
        one_port=2 * (N - 1) * (alpha + S / N * beta) + (N - 1) / N * S * gamma,
        in_rank_order=True,
        bandwidth_optimal=ALWAYS,
        latency_optimal=ONE,
        source="MSCCL all-pairs algorithms",
        also_known_as={"MSCCL": "allreduce_allpairs", "TensorRT-LLM": "TWOSHOT"},
    ),
)
