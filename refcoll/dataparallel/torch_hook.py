"""Any reduction of refcoll in PyTorch's DistributedDataParallel, as a communication hook.

    model = torch.nn.parallel.DistributedDataParallel(network)
    model.register_comm_hook(CommHook(comm, AllReduce("rabenseifner")), reduce_bucket)

DDP fills the buckets, in its order, and waits for them; refcoll reduces them, on a thread of
its own.  The ranks of ``comm`` must be those of DDP's process group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.dataparallel.compression import reduction as reducing
from refcoll.dataparallel.reductions import Bound, Reduction
from refcoll.dataparallel.tensors import Bucket, Tensor
from refcoll.dataparallel.torch_arrays import as_array, torch


class CommHook:
    """What ``reduce_bucket`` keeps: a communicator of its own, and what is bound to buckets.

    Collective.  ``reduction`` is one, or a name of ``compression``; ``algorithm`` is for names.
    ``listener`` hears of each bucket, once it is reduced.
    Raises ArgumentError for what does not exist, DisagreementError where ranks differ.
    """

    def __init__(
        self,
        comm: Communicator,
        reduction: str | Reduction | None = None,
        algorithm: str = "auto",
        listener: Callable[[Bucket], None] | None = None,
    ) -> None:
        self.reduction = reducing(reduction, algorithm)
        own = comm.split(0, comm.rank)
        assert own is not None  # every rank has a color
        self.comm = own
        record = {"collective": "CommHook", "reduction": repr(self.reduction)}
        own.agreement.require(record, None, own.timeout)
        self._bound: dict[int, tuple[Bucket, Bound]] = {}
        self._listener = listener

    def reduce(self, bucket: Bucket, values: Any) -> None:
        """In place; on the communication thread of every rank."""
        known = self._bound.get(bucket.index)
        if known is None or known[0] != bucket:  # DDP builds its buckets anew, once
            known = self._bound[bucket.index] = bucket, self.reduction.bind(self.comm, bucket)
        bound = known[1]
        bound.memory()[...] = values
        values[...] = bound.run(self.comm.size)
        if self._listener is not None:
            self._listener(bucket)

    def close(self) -> None:
        """Free its communicator."""
        self.comm.close()


def reduce_bucket(state: CommHook, bucket: Any) -> Any:
    """The hook: a torch Future of the bucket's mean over all ranks."""
    buffer = bucket.buffer()
    name = f"bucket {bucket.index()}"
    values = as_array(buffer, f"the gradient in {name} of DDP")
    shapes = [tuple(each.shape) for each in bucket.parameters()]
    tensors = [
        Tensor(f"{name}, parameter {place}", shape, np.dtype(values.dtype))
        for place, shape in enumerate(shapes)
    ]
    described = Bucket(bucket.index(), tuple(tensors))
    outcome = torch().futures.Future()

    def work() -> None:
        try:
            state.reduce(described, values)
        except BaseException as error:
            outcome.set_result(error)
            raise
        outcome.set_result(buffer)

    state.comm.submit(work).ignore()  # the future has its error
    return outcome.then(_required)


def _required(outcome: Any) -> Any:
    """The tensor; or raise the error in its place.

    Of what ``set_exception`` sets, DDP would only say that it is no tensor.
    """
    value = outcome.value()
    if isinstance(value, BaseException):
        raise value
    return value


reduce_bucket.__annotations__.clear()  # DDP takes its own types there, or none
