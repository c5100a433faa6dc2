"""A torch module as a data-parallel replica, over any transport of refcoll.

    replica = TorchReplica(comm, network)
    for x, y in batches:
        replica.backward(loss(network(x), y), weight=len(x))    # buckets go while it runs
        replica.wait()                                          # p.grad holds the mean
        optimizer.step()
        optimizer.zero_grad()

Parameters are dense and on the CPU.  Buffers (running means of batch norm, say) stay local.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from refcoll.communicator import Communicator
from refcoll.dataparallel.parallel import DataParallel
from refcoll.dataparallel.replica import Ready
from refcoll.dataparallel.torch_arrays import as_array


class TorchReplica:
    """``module`` on this rank; all ranks make one together.  Options are DataParallel's.

    Rank 0's parameters are copied into the others'.
    """

    def __init__(self, comm: Communicator, module: Any, **options: Any) -> None:
        self._parameters = {n: p for n, p in module.named_parameters() if p.requires_grad}
        arrays = {name: as_array(each) for name, each in self._parameters.items()}
        self.replica = DataParallel(comm, arrays, **options)
        self._ready: Ready | None = None
        self._hooks = [
            each.register_post_accumulate_grad_hook(self._hook(name))
            for name, each in self._parameters.items()
        ]

    def backward(self, loss: Any, weight: float | None = None) -> None:
        """``loss.backward()``, whose gradients are reduced as they come."""
        with self.replica.backward(weight) as ready:
            self._ready = ready
            try:
                loss.backward()
            finally:
                self._ready = None

    def no_sync(self) -> AbstractContextManager[None]:
        """Backwards in it are added up; the next one after it synchronises all of them."""
        return self.replica.no_sync()

    def wait(self) -> None:
        """Put the mean gradients into ``p.grad``; None where no rank used the parameter."""
        means = self.replica.wait()
        for name, parameter in self._parameters.items():
            if name not in means:
                parameter.grad = None
                continue
            parameter.grad = parameter.detach().clone()
            as_array(parameter.grad)[...] = means[name]

    def close(self) -> None:
        """Leave the module as it was, and free the communicator."""
        for each in self._hooks:
            each.remove()
        self.replica.close()

    def _hook(self, name: str) -> Any:
        def came(parameter: Any) -> None:
            if self._ready is None:
                return  # a backward that is not ours
            self._ready(name, as_array(parameter.grad))
            parameter.grad = None  # taken in: what is accumulated is so in the buckets

        return came
