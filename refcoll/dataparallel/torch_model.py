"""A torch module as a data-parallel replica, over any transport of refcoll.

    with TorchReplica(comm, network) as replica:
        for x, y in batches:
            replica.backward(loss(network(x), y), weight=len(x))    # buckets go while it runs
            replica.wait()                                          # p.grad holds the mean
            optimizer.step()

Parameters are dense and on the CPU.  There is no need for ``zero_grad``: a gradient is taken
out of ``p.grad`` as it comes, and the mean put there.  Rank 0's parameters and buffers are
copied into the others' to begin with; buffers (running means of batch norm, say) also in every
step, by ``wait``, as DistributedDataParallel does before it goes forward.

``loss.backward()`` in place of ``replica.backward(loss)`` averages nothing.  It may be meant (of
another replica's loss, whose backward passes through this module), so it is an error only where
it was so in all of the ``with``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Self

from refcoll.communicator import Communicator
from refcoll.dataparallel.parallel import DataParallel
from refcoll.dataparallel.replica import Ready
from refcoll.dataparallel.timeline import Timeline
from refcoll.dataparallel.torch_arrays import as_array
from refcoll.dataparallel.torch_buffers import Kept
from refcoll.errors import ArgumentError
from refcoll.words import listed


class TorchReplica:
    """``module`` on this rank; all ranks make one together.  Options are DataParallel's.

    ``broadcast_buffers=False`` leaves each rank its own buffers once training has begun.
    """

    def __init__(
        self, comm: Communicator, module: Any, *, broadcast_buffers: bool = True, **options: Any
    ) -> None:
        self._module, self._parameters = module, _trained(module)
        if not self._parameters:
            raise ArgumentError(f"module={module!r:.80} has no parameter that requires a gradient")
        arrays = {name: as_array(each, name) for name, each in self._parameters.items()}
        self.replica = DataParallel(comm, arrays, **options)
        try:
            uneven = self.replica.setup.uneven
            self._kept = Kept(self.replica.comm, module, broadcast_buffers, uneven)
        except BaseException:
            self.replica.close()
            raise
        self._ready: Ready | None = None
        self._ours = self._others = 0
        """Backwards of this replica's; gradients that came in any other."""
        self._hooks = [
            each.register_post_accumulate_grad_hook(self._hook(name))
            for name, each in self._parameters.items()
        ]

    def backward(self, loss: Any, weight: float | None = None) -> None:
        """``loss.backward()``, whose gradients are reduced as they come.

        Raises ArgumentError for parameters that were frozen, or not there, when it was made.
        """
        self._ours += 1
        new = [name for name in _trained(self._module) if name not in self._parameters]
        if new:
            raise ArgumentError(
                f"module: {listed(new)} did not require a gradient when the replica was made, and "
                "would not be averaged: make a new replica, on all ranks, once that has changed"
            )
        for each in self._parameters.values():
            each.grad = None
        with self.replica.backward(weight) as ready:
            self._ready = ready
            try:
                loss.backward()
            finally:
                self._ready = None
        if self.replica.synchronised:
            self._kept.start()

    def no_sync(self) -> AbstractContextManager[None]:
        """Backwards in it are added up; the next one after it synchronises all of them."""
        return self.replica.no_sync()

    def wait(self) -> None:
        """Put the mean gradients into ``p.grad``; None where no rank used the parameter."""
        means = self.replica.wait()
        self._kept.wait()
        for name, parameter in self._parameters.items():
            if name not in means:
                parameter.grad = None
                continue
            parameter.grad = parameter.detach().clone()
            as_array(parameter.grad)[...] = means[name]

    def join(self) -> Iterator[None]:
        """As ``Replica.join``: ``for _ in replica.join(): replica.wait(); optimizer.step()``."""
        for _ in self.replica.join():
            self._kept.start(has_batch=False)
            yield

    @property
    def timeline(self) -> Timeline | None:
        """Of the last step."""
        return self.replica.timeline

    def close(self) -> None:
        """Leave the module as it was, and free the communicator."""
        self._unhook()
        self.replica.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave, all ranks together, as ``Replica.__exit__`` does.

        Raises ArgumentError where gradients came, and none by ``backward``.
        """
        self._unhook()
        if error is None and self._others and not self._ours:
            error = ArgumentError(
                "gradients came by loss.backward(), which averages nothing, so replicas have "
                "parted: call replica.backward(loss)"
            )
            self.replica.__exit__(ArgumentError, error, trace)
            raise error
        self.replica.__exit__(kind, error, trace)

    def _unhook(self) -> None:
        for each in self._hooks:
            each.remove()

    def _hook(self, name: str) -> Any:
        def came(parameter: Any) -> None:
            if self._ready is None:
                self._others += 1
                return
            self._ready(name, as_array(parameter.grad, f"the gradient of {name!r}"))
            parameter.grad = None  # taken in: what is accumulated is so in the buckets

        return came


def _trained(module: Any) -> dict[str, Any]:
    """Parameters that require a gradient, by name; tied ones once."""
    return {name: each for name, each in module.named_parameters() if each.requires_grad}
