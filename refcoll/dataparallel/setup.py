"""What the ranks must agree on before they train: parameters, buckets, the mean, the reduction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from refcoll.communicator import Communicator
from refcoll.dataparallel.averaging import Averaging
from refcoll.dataparallel.buckets import bucket_rule
from refcoll.dataparallel.reductions import Reduction
from refcoll.dataparallel.rules import BucketRule
from refcoll.dataparallel.tensors import Bucket, Tensor
from refcoll.errors import ArgumentError, RefcollError

T = TypeVar("T")
_PLAIN = (str, int, float, np.dtype, type(None))
"""Of what the options of a reduction are; what else it holds is its own affair."""


@dataclass(frozen=True)
class Setup:
    """A replica's parameters and options, checked."""

    tensors: tuple[Tensor, ...]
    rule: BucketRule
    averaging: Averaging
    plain: Reduction
    """An all-reduce, for as long as buckets are provisional and the reduction keeps a state."""
    reduction: Reduction
    unused: str
    uneven: bool
    overlap: bool

    def __post_init__(self) -> None:
        if self.unused not in ("error", "find"):
            raise ArgumentError(
                f'unused={self.unused!r:.80} must be "error", or "find" where some ranks may '
                "leave some parameters without a gradient"
            )

    @property
    def counts(self) -> bool:
        """Whether each step begins with counting samples, or who still has some."""
        return self.uneven or self.averaging.over == "samples"

    @cached_property
    def first(self) -> tuple[Bucket, ...]:
        """The buckets of the first step."""
        return self.rule.initial(self.tensors)

    @cached_property
    def rebuilds(self) -> bool:
        """Whether the rule asks for other buckets once gradients have come."""
        return self.rule.rebuilt(self.tensors, [t.name for t in self.tensors[::-1]]) is not None

    @property
    def first_reduction(self) -> Reduction:
        """That of the first step: a state would be lost when buckets are built anew."""
        return self.plain if self.rebuilds and self.reduction.keeps_state else self.reduction

    def record(self) -> dict[str, object]:
        """What must be the same on all ranks, by what messages call it."""
        own = {k: str(v) for k, v in sorted(vars(self.reduction).items()) if isinstance(v, _PLAIN)}
        return {
            "collective": "DataParallel",
            **{f"parameter {i}": _said(each) for i, each in enumerate(self.tensors)},
            **{f"bucket {b.index}": ", ".join(t.name for t in b.tensors) for b in self.first},
            "rebuilt": self.rebuilds,
            "average": self.averaging.over,
            "gradients": self.averaging.of,
            "divide_by": self.averaging.divide_by,
            "reduction": f"{type(self.reduction).__name__} {own}",
            "unused": self.unused,
            "uneven": self.uneven,
            "overlap": self.overlap,
        }


def rule_of(buckets: Any, cap_mb: float | None, unused: str) -> BucketRule:
    """The bucket rule; "ddp" is told, as DDP is, that unused parameters are to be found."""
    options: dict[str, Any] = {}
    if cap_mb is not None:
        if isinstance(cap_mb, bool) or not isinstance(cap_mb, int | float) or not 0 < cap_mb < MOST:
            raise ArgumentError(f"bucket_cap_mb={cap_mb!r:.80} must be above 0 MiB, such as 25")
        options["cap_bytes"] = int(cap_mb * 2**20)
    if buckets == "ddp" and unused == "find":
        options["find_unused"] = True
    return bucket_rule(buckets, **options)


@dataclass(frozen=True)
class Settled:
    """A rule's later buckets from the first step on, as if gradients came last layer first."""

    rule: BucketRule

    @property
    def warm_up_steps(self) -> int:
        """None of its own."""
        return self.rule.warm_up_steps

    def initial(self, tensors: Sequence[Tensor]) -> tuple[Bucket, ...]:
        """The rule's own where it has no later ones."""
        names = [each.name for each in tensors][::-1]
        settled = self.rule.rebuilt(tensors, names)
        return self.rule.initial(tensors) if settled is None else settled

    def rebuilt(self, tensors: Sequence[Tensor], arrival: Sequence[str]) -> None:
        """Never."""


MOST = 1e9
"""MiB."""


def _said(tensor: Tensor) -> str:
    return f"{tensor.name} {list(tensor.shape)} {tensor.dtype}"


def agreed(
    comm: Communicator, make: Callable[[], T], record: Callable[[T], Mapping[str, Any]]
) -> T:
    """What ``make`` gives here, once it is right and says the same on all ranks.  Collective.

    Else raises ArgumentError where it is wrong, DisagreementError elsewhere.
    """
    error: RefcollError | None = None
    said: Mapping[str, Any] = {}
    made: list[T] = []
    try:
        made.append(make())
        said = record(made[0])
    except RefcollError as wrong:
        error = wrong
    except Exception as wrong:  # of a rule or a reduction of the caller's own
        error = ArgumentError(f"an option of DataParallel cannot be used: {wrong!r}")
        error.__cause__ = wrong
    comm.agreement.require(said, error, comm.timeout)
    return made[0]
