"""ZeRO-2: each rank holds the mean gradients and the optimizer's states of its shard only.

    with Zero2(comm, parameters, Adam(1e-3)) as replica:
        for batch in batches:
            with replica.backward(weight=len(batch)) as ready:
                ...                     # reduce-scatter of each bucket, beside backward
            replica.step()              # update one's shard, all-gather the parameters

A reduce-scatter sends (N-1)/N S, and so does the all-gather of parameters: together no more than
one all-reduce, while gradients and states take 1/N of the memory (``memory``).  (Rajbhandari et
al., ZeRO: Memory Optimizations Toward Training Trillion Parameter Models, 2020.)

A parameter server is the same with one owner of everything: rank 0 receives (N-1) S and sends
as much, over one link.  (Li et al. 2014)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from refcoll.communicator import Communicator
from refcoll.dataparallel.averaging import Averaging
from refcoll.dataparallel.optimizers import Optimizer
from refcoll.dataparallel.reductions import DETERMINISTIC_SCATTER, AllReduce
from refcoll.dataparallel.replica import Replica
from refcoll.dataparallel.setup import Settled, Setup, require_algorithm, rule_of
from refcoll.dataparallel.sharding import OWNERSHIPS, ReduceScatter
from refcoll.dataparallel.tensors import Bucket, described
from refcoll.errors import ArgumentError, flag
from refcoll.operators import Array


class Sharded(Replica):
    """A replica that updates the shard that it owns, and gets the others' from their owners.

    Buckets stay as they are: states belong to shards.  With ``no_sync`` the local gradients of
    all buckets are kept whole until the step ends (as in PyTorch's FSDP).
    """

    ends_step = "step()"
    ownerships = tuple(OWNERSHIPS)

    def __init__(
        self,
        comm: Communicator,
        parameters: Mapping[str, Array],
        optimizer: Optimizer,
        *,
        ownership: str = "balanced",
        buckets: Any = "ddp",
        bucket_cap_mb: float | None = None,
        average: str = "samples",
        gradients: str = "mean",
        algorithm: str = "auto",
        gather: str = "auto",
        deterministic: bool = False,
        uneven: bool = False,
        divide_by: str = "active",
        overlap: bool = True,
    ) -> None:
        def make() -> Setup:
            if not isinstance(optimizer, Optimizer):
                raise ArgumentError(f"optimizer={optimizer!r:.80} must be an Optimizer: Sgd, Adam")
            if ownership not in self.ownerships:
                raise ArgumentError(
                    f"ownership={ownership!r:.80} must be one of {', '.join(self.ownerships)}"
                )
            fixed = flag(deterministic, "deterministic")
            scatter = DETERMINISTIC_SCATTER if fixed else algorithm
            require_algorithm("reduce_scatter", scatter, comm.size)
            require_algorithm("all_gather", gather, comm.size)
            return Setup(
                type(self).__name__,
                described(parameters),
                Settled(rule_of(buckets, bucket_cap_mb, "error")),
                Averaging(average, gradients, divide_by),
                AllReduce(),
                ReduceScatter(ownership, scatter),
                "error",
                flag(uneven, "uneven"),
                flag(overlap, "overlap"),
                {"optimizer": repr(optimizer), "gather": gather},
            )

        super().__init__(comm, parameters, make)
        self.optimizer, self._gather = optimizer, gather
        self._key = object()
        self.shards: Sequence[Array] = ()
        """The mean gradients of one's shards, by bucket, of the last step."""

    def step(self) -> None:
        """Wait for the shards' mean gradients, update, and gather the parameters.  Collective."""
        reduced = self.wait_for_buckets()
        self.shards = reduced.values
        for bucket, gradient in zip(reduced.buckets, reduced.values, strict=True):
            self._update(bucket, gradient)

    def wait(self) -> NoReturn:
        """Raises ArgumentError: no rank has all the mean gradients."""
        raise ArgumentError("gradients are sharded here: step() waits for them, and updates")

    def _update(self, bucket: Bucket, gradient: Array) -> None:
        reduction = self.setup.reduction
        assert isinstance(reduction, ReduceScatter)
        counts = reduction.counts(bucket, self.comm.size)
        flat = np.zeros(sum(counts), bucket.dtype)
        views = bucket.views(flat[: bucket.count])
        for name, view in views.items():
            view[...] = self.parameters[name]
        start = sum(counts[: self.comm.rank])
        mine = flat[start : start + counts[self.comm.rank]].copy()
        self.optimizer.update((self._key, bucket.index), mine, gradient)
        self.comm.all_gather(mine, counts=counts, out=flat, algorithm=self._gather, check=False)
        for name, view in views.items():
            self.parameters[name][...] = view


class Zero2(Sharded):
    """Shards alike on all ranks: ``ownership`` is "balanced" or "padded"."""

    ownerships = ("balanced", "padded")


class ParameterServer(Sharded):
    """Rank 0 owns everything.  The baseline that all-reduce was made to beat."""

    def __init__(
        self,
        comm: Communicator,
        parameters: Mapping[str, Array],
        optimizer: Optimizer,
        **options: Any,
    ) -> None:
        options = {"algorithm": "direct", "gather": "direct", **options, "ownership": "root"}
        super().__init__(comm, parameters, optimizer, **options)
