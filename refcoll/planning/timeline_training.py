"""What is trained, how, and when its gradients are ready.

Gradients become ready in the order in which rules expect them, the last parameter's first, each
after a share of backward as large as its share of the elements.  That is the share of FLOPs
where every weight is used once a token, as in transformers.  Convolutions near the input use
theirs more often: of a convolutional network most gradients are ready earlier than told here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

from refcoll.dataparallel.buckets import Rule, assign
from refcoll.dataparallel.rules import Buckets
from refcoll.dataparallel.tensors import Tensor
from refcoll.errors import ArgumentError, flag, within
from refcoll.planning.machine import require
from refcoll.planning.tables import LIBRARY


@dataclass(frozen=True, kw_only=True)
class Training:
    """What every rank trains, and how.  Times in seconds.  Raises ArgumentError."""

    model: tuple[Tensor, ...]
    """The gradients, in the order of the model's parameters."""
    backward: float
    """Of one micro-batch, on a rank that does nothing else meanwhile."""
    forward: float | None = None
    """Of one micro-batch, with all else that is computed; None: half of backward."""
    rule: Rule = "ddp"
    cap_bytes: int | None = None
    """At which a bucket is closed, if the rule has such a cap; None: the rule's default."""
    algorithm: str = LIBRARY
    accumulate: int = 1
    """Micro-batches a step."""
    reduce_all: bool = False
    """Whether every micro-batch's gradients are reduced (no ``no_sync``), not the last's alone."""
    compress: float = 1.0
    """How many times fewer bytes of gradients travel."""
    zero2: bool = False
    """Gradients are reduce-scattered, and parameters gathered at the end of the step."""
    late: float = 0.0
    """How much later than the others the last rank begins a backward that is reduced."""
    interference: float = 1.0
    """How many times longer computing takes while a bucket is being reduced."""

    def __post_init__(self) -> None:
        require("backward", self.backward, "seconds, above 0", lambda value: value > 0)
        require("forward", self.forward_seconds, "seconds, 0 or more", lambda value: value >= 0)
        require("compress", self.compress, "1 or more", lambda value: value >= 1)
        require("late", self.late, "seconds, 0 or more", lambda value: value >= 0)
        require("interference", self.interference, "1 or more", lambda value: value >= 1)
        within(self.accumulate, "accumulate", 1)
        flag(self.reduce_all, "reduce_all")
        flag(self.zero2, "zero2")
        if not sum(each.count for each in self.model):
            raise ArgumentError(f"model={self.model!r:.80} has no elements to reduce")

    @property
    def forward_seconds(self) -> float:
        """Backward computes two products where forward computes one."""
        return self.backward / 2 if self.forward is None else self.forward

    @property
    def compute(self) -> float:
        """Seconds of a step without any communication."""
        return self.accumulate * (self.forward_seconds + self.backward)

    @cached_property
    def buckets(self) -> Buckets:
        """In the order in which they are reduced."""
        capped = {} if self.cap_bytes is None else {"cap_bytes": self.cap_bytes}
        options: Any = capped
        return assign(self.model, self.rule, **options)


def work(training: Training) -> list[float]:
    """Seconds of backward before each bucket, after the one before it."""
    order = training.model[::-1]
    counts = accumulate(each.count for each in order)
    behind = dict(zip((each.name for each in order), counts, strict=True))
    whole = behind[order[-1].name]
    complete = (max(behind[each.name] for each in bucket.tensors) for bucket in training.buckets)
    in_turn = [0, *accumulate(complete, max)]  # a bucket waits for those before it
    return [training.backward * (now - before) / whole for before, now in pairwise(in_turn)]
