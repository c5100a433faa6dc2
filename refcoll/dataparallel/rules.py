"""Rules for buckets: which gradients are reduced together, in the first step and later.

A rule is asked twice.  Before the first step nobody knows the order in which gradients come;
``initial`` makes do with the model's.  Once a step has shown it, ``rebuilt`` may answer anew.
Both times every gradient is in exactly one bucket, and a bucket has one dtype and one device.

Here are the contract and the rules that are no library's; those are in libraries.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Protocol, TypeAlias, runtime_checkable

from refcoll.dataparallel.assignment import by_size
from refcoll.dataparallel.covering import in_order, require_cover, require_each_once
from refcoll.dataparallel.tensors import Bucket, Tensor, numbered
from refcoll.errors import ArgumentError, flag, integer

Tensors: TypeAlias = Sequence[Tensor]
Buckets: TypeAlias = tuple[Bucket, ...]
Groups: TypeAlias = Sequence[Sequence[str]]


@runtime_checkable
class BucketRule(Protocol):
    """A rule by which gradients are put into buckets.

    The same arguments **must** give the same buckets on every rank.
    """

    @property
    def warm_up_steps(self) -> int:
        """How many steps use the initial buckets, where the rule rebuilds them at all."""

    def initial(self, tensors: Tensors) -> Buckets:
        """The buckets to begin with, of tensors in the model's order."""

    def rebuilt(self, tensors: Tensors, arrival: Sequence[str]) -> Buckets | None:
        """The buckets from then on, given the names in the order in which gradients came.

        None of a rule that never rebuilds.
        """


@dataclass(frozen=True)
class Options:
    """The fields of a rule: flags, and integers (or tuples of them) that are not negative."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(each.default, bool):
                flag(value, each.name)
            elif value is not None:
                for number in value if isinstance(value, tuple) else (value,):
                    if integer(number, each.name) < 0:
                        raise ArgumentError(f"{each.name}={value!r} must not be negative")

    @property
    def warm_up_steps(self) -> int:
        """One, which shows the order of arrival."""
        return 1


class ByArrival(Options):
    """A rule that goes by the order of arrival alone; at first by the model's, backwards."""

    def closed(self, tensors: Tensors) -> Iterable[Bucket]:
        """The buckets of tensors that arrive in this order."""
        raise NotImplementedError

    def initial(self, tensors: Tensors) -> Buckets:
        """As if the last parameter's gradient came first."""
        return numbered(self.closed(tensors[::-1]))

    def rebuilt(self, tensors: Tensors, arrival: Sequence[str]) -> Buckets | None:
        """By the order that a step has shown."""
        return numbered(self.closed(in_order(tensors, arrival)))


class Fixed(Options):
    """A rule that never rebuilds."""

    def rebuilt(self, tensors: Tensors, arrival: Sequence[str]) -> Buckets | None:
        """Never."""
        return None


@dataclass(frozen=True)
class Whole(Fixed):
    """One bucket of everything, for each dtype and device: no overlap, fewest messages."""

    def initial(self, tensors: Tensors) -> Buckets:
        """In the model's order, the dtype that appears first first."""
        return numbered(reversed(by_size(tensors, [None])))


@dataclass(frozen=True)
class Single(ByArrival):
    """A bucket for each tensor: most overlap, most messages."""

    def closed(self, tensors: Tensors) -> Iterable[Bucket]:
        """As they come."""
        return (Bucket(0, (each,), None, "one tensor each") for each in tensors)


@dataclass(frozen=True)
class Own:
    """One's own buckets: lists of names, or a function that makes them of the tensors."""

    groups: Groups | Callable[[Tensors], Groups]

    @property
    def warm_up_steps(self) -> int:
        """One; it never rebuilds."""
        return 1

    def initial(self, tensors: Tensors) -> Buckets:
        """As given, in the order given.  Raises ArgumentError where they are no partition."""
        groups = self.groups(tensors) if callable(self.groups) else self.groups
        lists = _lists_of_names(groups)
        by_name = {each.name: each for each in tensors}
        require_each_once("rule", by_name, [name for names in lists for name in names])
        buckets = numbered(
            Bucket(0, tuple(by_name[name] for name in names), None, "as given") for names in lists
        )
        require_cover(tensors, buckets)
        return buckets

    def rebuilt(self, tensors: Tensors, arrival: Sequence[str]) -> Buckets | None:
        """Never."""
        return None


def _lists_of_names(groups: object) -> list[list[str]]:
    if isinstance(groups, Iterable) and not isinstance(groups, str):
        lists = [[*each] if isinstance(each, (list, tuple)) else each for each in groups]
        if all(isinstance(each, list) and all(isinstance(n, str) for n in each) for each in lists):
            return lists
    raise ArgumentError(
        f"rule={groups!r:.80} must be lists of names, one for each bucket, or a function that "
        "gives such lists"
    )
