"""The bucket rules of PyTorch, DeepSpeed and Horovod, with their defaults.

Sources: PyTorch 2.13, torch/nn/parallel/distributed.py (``_BucketCapacityConfig``,
``_ddp_init_helper``) and torch/csrc/distributed/c10d/reducer.cpp (``rebuild_buckets``);
DeepSpeed, deepspeed/runtime/zero/stage_1_and_2.py
(``reduce_independent_p_g_buckets_and_remove_grads``) and deepspeed/runtime/engine.py
(``buffered_allreduce_fallback``); Horovod, horovod/common/controller.cc (``FuseResponses``,
``TensorFusionThresholdBytes``) and operations.cc (the threshold's default).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from refcoll.dataparallel.assignment import after_excess, before_overflow, by_size, fused
from refcoll.dataparallel.covering import in_order
from refcoll.dataparallel.rules import Buckets, ByArrival, Fixed, Options, Tensors
from refcoll.dataparallel.tensors import Bucket, Tensor, numbered
from refcoll.errors import ArgumentError

MIB = 1 << 20


@dataclass(frozen=True)
class Ddp(Options):
    """PyTorch's DistributedDataParallel; sparse gradients, which it does not bucket, aside.

    In the first step one bucket holds everything, for each dtype and device.  Then buckets are
    made anew in the order of arrival: the first is closed at 1 MiB, later ones at 25 MiB.  A
    cap of one's own holds for the first as well (``bucket_cap_mb``); several hold one after
    another, from the first step on (``bucket_cap_mb_list``).

    To ``find_unused`` parameters, caps apply in the model's order, buckets are launched last
    to first, and are never made anew; unless the graph is declared static.  Of a static graph
    PyTorch counts the uses of each parameter in one step, and notes the order in the next.
    """

    cap_bytes: int | tuple[int, ...] | None = None
    first_bytes: int | None = None
    find_unused: bool = False
    static_graph: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        several = isinstance(self.cap_bytes, tuple)
        if several and (self.first_bytes is not None or not self.cap_bytes):
            raise ArgumentError(
                f"cap_bytes={self.cap_bytes} must hold a cap for the first bucket and, without "
                "first_bytes, for those that follow"
            )
        first, last = self._caps()[0], self._caps()[-1]
        if not several and first > last:
            raise ArgumentError(f"first_bytes={first} must not exceed cap_bytes={last}")

    def _caps(self) -> tuple[int, ...]:
        """In the order in which they come into force."""
        if isinstance(self.cap_bytes, tuple):
            return self.cap_bytes
        cap = 25 * MIB if self.cap_bytes is None else self.cap_bytes
        first = MIB if self.cap_bytes is None else cap
        return (first if self.first_bytes is None else self.first_bytes, cap)

    @property
    def warm_up_steps(self) -> int:
        """Two where the graph is static."""
        return 2 if self.static_graph else 1

    def _rebuilds(self) -> bool:
        return self.static_graph or not self.find_unused

    def initial(self, tensors: Tensors) -> Buckets:
        """By the model's order; the bucket of its last parameters is launched first."""
        at_once = self._rebuilds() and not isinstance(self.cap_bytes, tuple)
        closed = by_size(tensors, [None] if at_once else self._caps())
        place = {each.name: place for place, each in enumerate(tensors)}
        closed.sort(key=lambda bucket: place[bucket.tensors[0].name], reverse=True)
        return numbered(closed)

    def rebuilt(self, tensors: Tensors, arrival: Sequence[str]) -> Buckets | None:
        """By the order of arrival."""
        if not self._rebuilds():
            return None
        return numbered(by_size(in_order(tensors, arrival), self._caps()))


@dataclass(frozen=True)
class DeepSpeed(ByArrival):
    """DeepSpeed's ZeRO stages 1 and 2, whose ``reduce_bucket_size`` is in elements.

    Gradients travel in their own dtype, as under DeepSpeed's autocast; otherwise it converts
    them all to one communication dtype.
    """

    cap_elements: int = 500_000_000

    def closed(self, tensors: Tensors) -> Iterable[Bucket]:
        """Before the tensor that does not fit."""
        return before_overflow(tensors, self.cap_elements)


@dataclass(frozen=True)
class DeepSpeedFallback(Fixed):
    """DeepSpeed without ZeRO: when the backward pass is over, in the model's order."""

    cap_elements: int = 500_000_000

    def initial(self, tensors: Tensors) -> Buckets:
        """After the tensor that was too much."""
        return numbered(after_excess(tensors, self.cap_elements))


@dataclass(frozen=True)
class Horovod(ByArrival):
    """Horovod's tensor fusion, if all ranks agree on what is ready.

    ``cycles`` says how many gradients become ready in each of its cycles (those beyond, in a
    last one); by default all in one.  The threshold is rounded up until ``local_size`` ranks
    of a node can share it in units of 64 elements of 8 bytes.  Tensors count with their bytes
    rounded up to 16, as in builds for GPUs; ``padding_bytes=1`` is a build for CPUs.
    """

    cap_bytes: int = 128 * MIB
    cycles: tuple[int, ...] = ()
    local_size: int = 1
    padding_bytes: int = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("local_size", "padding_bytes"):
            if getattr(self, name) < 1:
                raise ArgumentError(f"{name}={getattr(self, name)} must be at least 1")

    def closed(self, tensors: Tensors) -> Iterable[Bucket]:
        """Cycle by cycle."""
        unit = self.local_size * 64 * 8
        threshold = -(-self.cap_bytes // unit) * unit
        for ready in self._in_cycles(tensors):
            yield from fused(ready, threshold, self.padding_bytes)

    def _in_cycles(self, tensors: Tensors) -> Iterable[Sequence[Tensor]]:
        start = 0
        for count in self.cycles:
            yield tensors[start : start + count]
            start += count
        yield tensors[start:]
