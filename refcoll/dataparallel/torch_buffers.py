"""What a torch module keeps beside what is trained: buffers, and frozen parameters.

Running means of batch norm, for one, follow from a rank's own samples.  So that replicas stay
alike, all ranks take over those of one rank in every step, as in DistributedDataParallel: of
rank 0, and where ranks may run out of batches, of the highest that still has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.dataparallel.torch_arrays import as_array
from refcoll.errors import ArgumentError, flag
from refcoll.inorder import Handle
from refcoll.operators import Array


class Kept:
    """Those of ``module`` on this rank.  Making one is collective, and copies rank 0's.

    ``shared`` is whether buffers are then taken over in every step, ``uneven`` whether ranks may
    run out of batches.  Raises ArgumentError for a flag that is none, DisagreementError where
    ranks differ in it, or in names, shapes and dtypes.
    """

    def __init__(self, comm: Communicator, module: Any, shared: object, uneven: bool) -> None:
        self._comm, self._module, self._uneven = comm, module, uneven
        error: ArgumentError | None = None
        frozen = {n: p for n, p in module.named_parameters() if not p.requires_grad}
        kept = {**frozen, **dict(module.named_buffers())}
        record = {name: f"{list(each.shape)} {each.dtype}" for name, each in kept.items()}
        try:
            self._shared = flag(shared, "broadcast_buffers")
        except ArgumentError as wrong:
            error = wrong
        said = {"collective": "TorchReplica", "broadcast_buffers": shared, **record}
        comm.agreement.require(said, error, comm.timeout)
        arrays = [as_array(each, name) for name, each in kept.items()]
        _unpack(comm.broadcast(_packed(arrays)), arrays)
        self._coming: Handle[tuple[int, Array]] | None = None

    def start(self, has_batch: bool = True) -> None:
        """The step's last backward has ended on this rank, which may have had no batch for it."""
        mine = self._buffers()
        if self._shared and mine:
            packed = _packed(mine)
            self._coming = self._comm.submit(lambda: self._taken(packed, has_batch))

    def wait(self) -> None:
        """Take over what ``start`` has set going."""
        if self._coming is not None:
            root, packed = self._coming.wait()
            self._coming = None
            if root != self._comm.rank:
                _unpack(packed, self._buffers())

    def _buffers(self) -> list[Array]:
        """As they are now: a module may have put others in their place."""
        return [as_array(each, name) for name, each in self._module.named_buffers()]

    def _taken(self, packed: Array, has_batch: bool) -> tuple[int, Array]:
        root = 0
        if self._uneven:
            mine = np.array(self._comm.rank if has_batch else -1)
            root = int(self._comm.all_reduce(mine, "max", algorithm="recursive_doubling"))
        return root, self._comm.broadcast(packed, root)


def _packed(arrays: Sequence[Array]) -> Array:
    """Their bytes, one after another: one message."""
    return np.frombuffer(b"".join(each.tobytes() for each in arrays), np.uint8)


def _unpack(packed: Array, arrays: Sequence[Array]) -> None:
    start = 0
    for each in arrays:
        part = packed[start : start + each.nbytes]
        each[...] = np.frombuffer(part.tobytes(), each.dtype).reshape(each.shape)
        start += each.nbytes
