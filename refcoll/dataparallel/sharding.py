"""Who owns which elements of a bucket, and the reduction that leaves each owner its shard.

    size 4, 10 elements     balanced   0 0 0|1 1 1|2 2|3 3        as evenly as they go
                            padded     0 0 0|1 1 1|2 2 2|3 . .    alike: zeros follow the end
                            root       0 0 0 0 0 0 0 0 0 0|||     a parameter server

*balanced* moves no padding.  *padded* is what libraries want whose reduce-scatter takes equal
counts only (NCCL, ``MPI_Reduce_scatter_block``): each bucket, not only the whole, is padded to a
multiple of N, with zeros, which are cut off again (NVIDIA/Megatron-LM#561,
deepspeedai/DeepSpeed#3832).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from refcoll.chunks import balanced
from refcoll.communicator import Communicator
from refcoll.dataparallel.reductions import (
    DETERMINISTIC_SCATTER,
    Bound,
    Options,
    divide,
    shares,
    working,
)
from refcoll.dataparallel.setup import require_algorithm
from refcoll.dataparallel.tensors import Bucket
from refcoll.errors import ArgumentError
from refcoll.operators import Array

Ownership = Callable[[int, int], tuple[int, ...]]
"""(elements, ranks) -> how many elements each rank owns, padding included."""


def _balanced(count: int, size: int) -> tuple[int, ...]:
    layout = balanced(count, size)
    return tuple(layout.length(rank) for rank in range(size))


def _padded(count: int, size: int) -> tuple[int, ...]:
    return (-(-count // size),) * size


def _on_root(count: int, size: int) -> tuple[int, ...]:
    return (count, *[0] * (size - 1))


OWNERSHIPS: Mapping[str, Ownership] = {"balanced": _balanced, "padded": _padded, "root": _on_root}


class ReduceScatter(Options):
    """Each rank gets the mean of its shard, and no more: N - 1 of N parts of S are sent."""

    keeps_state = False

    def __init__(self, ownership: str, algorithm: str = "auto") -> None:
        self.ownership, self.algorithm = ownership, algorithm

    def counts(self, bucket: Bucket, size: int) -> tuple[int, ...]:
        """Elements that each rank owns of the bucket, padding included."""
        return OWNERSHIPS[self.ownership](bucket.count, size)

    def bind(self, comm: Communicator, bucket: Bucket) -> Bound:
        """Keeps the shard alone; the whole bucket is there while its gradients come."""
        return _Scattered(self, comm, bucket)


def scattering(
    ownership: str, known: Sequence[str], algorithm: str, deterministic: bool, size: int
) -> ReduceScatter:
    """The reduction by these options.  Raises ArgumentError for those that do not exist."""
    if ownership not in known:
        raise ArgumentError(f"ownership={ownership!r:.80} must be one of {', '.join(known)}")
    if deterministic and algorithm not in ("auto", DETERMINISTIC_SCATTER):
        raise ArgumentError(
            f"algorithm={algorithm!r:.80} with deterministic=True, which takes "
            f"{DETERMINISTIC_SCATTER}; leave one of them out"
        )
    chosen = DETERMINISTIC_SCATTER if deterministic else algorithm
    require_algorithm("reduce_scatter", chosen, size)
    return ReduceScatter(ownership, chosen)


class Shards:
    """This rank's part of what is laid out as buckets are: parameters, states."""

    def __init__(self, comm: Communicator, scatter: ReduceScatter, gather: str) -> None:
        self._comm, self._scatter, self._gather = comm, scatter, gather

    def cut(self, whole: Sequence[Array], bucket: Bucket) -> Array:
        """A copy of one's own elements of the arrays of its parameters, padded with zeros."""
        counts = self._scatter.counts(bucket, self._comm.size)
        flat = np.zeros(sum(counts), whole[0].dtype)
        for view, each in zip(bucket.views(flat).values(), whole, strict=True):
            view[...] = each
        start = sum(counts[: self._comm.rank])
        return flat[start : start + counts[self._comm.rank]].copy()

    def gathered(self, shard: Array, bucket: Bucket, root: int | None = None) -> dict[str, Array]:
        """All ranks' shards as the arrays of its parameters, by name; on ``root`` alone, {}
        elsewhere, if there is one.  Unchecked: ranks have agreed on the buckets.  Collective."""
        comm, algorithm = self._comm, self._gather
        counts = self._scatter.counts(bucket, comm.size)
        if root is None:
            flat = comm.all_gather(shard, counts=counts, algorithm=algorithm, check=False)
        else:
            flat = comm.gather(shard, root, counts=counts, check=False)
        return {} if flat is None else bucket.views(flat)


class _Scattered:
    def __init__(self, how: ReduceScatter, comm: Communicator, bucket: Bucket) -> None:
        self._comm, self._bucket, self._algorithm = comm, bucket, how.algorithm
        self._counts = how.counts(bucket, comm.size)
        self._whole: Array | None = None
        self._shard = np.zeros(self._counts[comm.rank], bucket.dtype)

    def memory(self) -> Array:
        whole = np.empty(sum(self._counts), working(self._bucket.dtype))
        whole[self._bucket.count :] = 0
        self._whole = whole
        return whole[: self._bucket.count]

    def run(self, divisor: float) -> Array:
        whole, self._whole = self._whole, None
        assert whole is not None  # it was filled
        narrow = whole.dtype != self._bucket.dtype
        self._comm.reduce_scatter(  # unchecked: the ranks have agreed on the buckets before
            shares(whole, divisor, self._bucket.dtype) if narrow else whole,
            counts=self._counts, out=self._shard, algorithm=self._algorithm, check=False,
        )  # fmt: skip
        if not narrow:
            divide(self._shard, divisor)
        return self._shard
