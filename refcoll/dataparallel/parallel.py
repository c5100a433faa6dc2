"""Data-parallel training: every replica gets the mean gradients, and updates itself alike.

    with DataParallel(comm, parameters) as replica:         # parameters: arrays by name
        for batch in batches:
            with replica.backward(weight=len(batch)) as ready:
                for name, gradient in gradients_of(parameters, batch):    # last layer first
                    ready(name, gradient)                   # reduced while backward goes on
            optimizer.step(parameters, replica.wait())      # the same means on every rank

Replicas that start alike and update alike stay alike, to the bit: every rank computes with the
same means.  ``averaging`` says which means these are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refcoll.communicator import Communicator
from refcoll.dataparallel.averaging import Averaging
from refcoll.dataparallel.compression import reduction as reducing
from refcoll.dataparallel.reductions import Reduction
from refcoll.dataparallel.replica import Replica
from refcoll.dataparallel.setup import Setup, require_algorithm, rule_of
from refcoll.dataparallel.tensors import described
from refcoll.errors import flag
from refcoll.operators import Array


class DataParallel(Replica):
    """One rank's replica, as in PyTorch's DistributedDataParallel.  Making one is collective.

    parameters   arrays by name, alike on all ranks; rank 0's values are copied into the others'
    buckets      "ddp" or another rule of ``buckets``, a function, or lists of names
    bucket_cap_mb   MiB at which a bucket is closed, for rules that have such a cap
    average      over "samples" (each ``backward`` has a weight) or "ranks" (see ``averaging``)
    gradients    that are handed over are those of the "mean" or the "sum" of losses
    reduction    "fp16", "bf16", "powersgd", "onebit", or a Reduction; None for an all-reduce
    algorithm    of the all-reduce; deterministic=True chooses one in which every element is
                 merged by the same tree, so that bits do not depend on buckets or arrival
    unused       parameters without a gradient are an "error"; "find" finds out which no rank used
    uneven       ranks may run out of batches at different times, and then ``join``
    divide_by    for average="ranks", uneven: the "active" ranks or the "initial" number
    overlap      False to reduce only after backward, to see what overlapping is worth

    Raises, on every rank, ArgumentError for what is wrong and DisagreementError for what
    differs between ranks.
    """

    def __init__(
        self,
        comm: Communicator,
        parameters: Mapping[str, Array],
        *,
        buckets: Any = "ddp",
        bucket_cap_mb: float | None = None,
        average: str = "samples",
        gradients: str = "mean",
        reduction: str | Reduction | None = None,
        algorithm: str = "auto",
        deterministic: bool = False,
        unused: str = "error",
        uneven: bool = False,
        divide_by: str = "active",
        overlap: bool = True,
    ) -> None:
        def make() -> Setup:
            tensors = described(parameters)
            fixed = flag(deterministic, "deterministic")
            require_algorithm("all_reduce", algorithm, comm.size)
            return Setup(
                "DataParallel",
                tensors,
                rule_of(buckets, bucket_cap_mb, unused),
                Averaging(average, gradients, divide_by),
                reducing(None, algorithm, fixed),
                reducing(reduction, algorithm, fixed),
                unused,
                flag(uneven, "uneven"),
                flag(overlap, "overlap"),
            )

        super().__init__(comm, parameters, make)

    def wait(self) -> dict[str, Array]:
        """The mean gradients by name, once they are there; views, until the next ``backward``.

        With unused="find", those that some rank has used in the step.
        """
        reduced = self.wait_for_buckets()
        return {
            name: view
            for bucket, flat in zip(reduced.buckets, reduced.values, strict=True)
            for name, view in bucket.views(flat).items()
            if name in reduced.used
        }
