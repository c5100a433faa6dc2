"""What the ranks must agree on before they train: parameters, buckets, the mean, the reduction."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from refcoll.communicator import Communicator
from refcoll.dataparallel.averaging import Averaging
from refcoll.dataparallel.buckets import bucket_rule
from refcoll.dataparallel.reductions import Reduction
from refcoll.dataparallel.rules import BucketRule
from refcoll.dataparallel.tensors import Bucket, Tensor
from refcoll.errors import ArgumentError, RefcollError, ours
from refcoll.registry import program

MOST = 1e9
"""MiB."""


@dataclass(frozen=True)
class Setup:
    """A replica's parameters and options, checked."""

    kind: str
    """Of replica, for messages."""
    tensors: tuple[Tensor, ...]
    rule: BucketRule
    averaging: Averaging
    plain: Reduction
    """An all-reduce, for as long as buckets are provisional and the reduction keeps a state."""
    reduction: Reduction
    unused: str
    uneven: bool
    overlap: bool
    others: Mapping[str, str] = field(default_factory=dict)
    """Further options that must be alike, by name."""

    def __post_init__(self) -> None:
        if self.unused not in ("error", "find"):
            raise ArgumentError(
                f'unused={self.unused!r:.80} must be "error", or "find" where some ranks may '
                "leave some parameters without a gradient"
            )

    @property
    def remedy_for_unused(self) -> str:
        """What to do where a parameter has no gradient."""
        if self.kind == "DataParallel":
            used = 'where a rank may leave parameters unused, pass unused="find"'
        else:
            used = "all parameters need one here: hand over zeros for those that were not used"
        return f"{used}; leave frozen ones out of the replica's parameters"

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
        """Options and parameters: what must be the same on all ranks, by name."""
        return {
            "collective": self.kind,
            **{f"parameter {i}": _said(each) for i, each in enumerate(self.tensors)},
            "buckets": stable(self.rule),
            "average": self.averaging.over,
            "gradients": self.averaging.of,
            "divide_by": self.averaging.divide_by,
            "reduction": stable(self.reduction),
            "unused": self.unused,
            "uneven": self.uneven,
            "overlap": self.overlap,
            **self.others,
        }

    def layout(self) -> dict[str, object]:
        """Which gradients share a bucket, and whether that is for good: the same on all ranks."""
        names = {f"bucket {b.index}": ", ".join(t.name for t in b.tensors) for b in self.first}
        return {"collective": self.kind, **names, "rebuilt": self.rebuilds}


def rule_of(buckets: Any, cap_mb: float | None, unused: str) -> BucketRule:
    """The bucket rule; "ddp" is told, as DDP is, that unused parameters are to be found."""
    options: dict[str, Any] = {}
    if cap_mb is not None:
        if isinstance(cap_mb, bool) or not isinstance(cap_mb, int | float) or not 0 < cap_mb < MOST:
            raise ArgumentError(f"bucket_cap_mb={cap_mb!r:.80} must be above 0 MiB, such as 25")
        options["cap_bytes"] = int(cap_mb * 2**20)
    if buckets == "ddp" and unused == "find":
        options["find_unused"] = True
    try:
        return bucket_rule(buckets, **options)
    except ArgumentError as error:
        given = "" if cap_mb is None else f", bucket_cap_mb={cap_mb}"
        raise ArgumentError(f"buckets={buckets!r:.80}{given}: {error}") from None


def require_algorithm(collective: str, algorithm: str, size: int) -> None:
    """Raise ArgumentError where there is no such algorithm for so many ranks."""
    if algorithm != "auto":
        program(collective, algorithm, size)


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


def stable(value: object) -> str:
    """What it is called, without addresses, which differ between processes."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _said(tensor: Tensor) -> str:
    return f"{tensor.name} {list(tensor.shape)} {tensor.dtype}"


def agreed(comm: Communicator, make: Callable[[], Setup]) -> Setup:
    """The setup, once it is right and the same on all ranks.  Collective.

    Else raises ArgumentError where it is wrong, DisagreementError elsewhere: about options and
    parameters first, and only then about the buckets that follow from them.
    """
    error: RefcollError | None = None
    said: list[dict[str, object]] = [{}, {}]
    made: list[Setup] = []
    try:
        made.append(make())
        said = [made[0].record(), made[0].layout()]
    except Exception as wrong:  # also of a rule or a reduction of the caller's own
        error = ours(wrong, "an option")
    for record in said:
        comm.agreement.require(record, error, comm.timeout)
    return made[0]
