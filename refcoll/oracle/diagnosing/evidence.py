"""What a diagnosis is made from: all ranks' inputs, results and right results of one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.calls import Call
from refcoll.oracle.comparing import Truth
from refcoll.oracle.diagnosing.places import where
from refcoll.oracle.merging import merging

Again = Callable[[Sequence[Array]], "list[Array | None] | None"]


@dataclass
class Evidence:
    """All by rank."""

    call: Call
    probe: str
    inputs: list[Array]
    outputs: list[Array | None]
    truths: list[Truth | None]
    before: list[Array | None] | None
    """Results of the call before, if there was one."""
    again: Again
    """Results of the same call on other inputs; None where it raises.  Collective."""
    earlier: list[Array] | None = None
    """Inputs of the call before, if there was one."""
    previous: str = "the previous call"
    """Which one that is."""
    older: Sequence[list[Array | None]] = ()
    """Results of calls of this length before that, the last first."""

    @property
    def size(self) -> int:
        """How many ranks."""
        return len(self.inputs)

    @cached_property
    def wrong(self) -> dict[int, Array]:
        """Places of wrong elements, of the ranks that have any."""
        found = {}
        for rank, (got, right) in enumerate(zip(self.outputs, self.truths, strict=True)):
            if got is not None and right is not None:
                places = np.flatnonzero(right.check(got))
                if len(places):
                    found[rank] = places
        return found

    def without(self, places: dict[int, Array]) -> Evidence:
        """The same, without these wrong elements, by rank."""
        if not any(map(len, places.values())):
            return self
        other = replace(self)
        left = {rank: np.setdiff1d(each, places[rank]) for rank, each in self.wrong.items()}
        other.__dict__["wrong"] = {rank: each for rank, each in left.items() if len(each)}
        return other

    def got(self, rank: int) -> Array:
        """What the rank has; it has something."""
        value = self.outputs[rank]
        assert value is not None
        return value

    def wanted(self, rank: int) -> Array:
        """What it should have."""
        right = self.truths[rank]
        assert right is not None
        return right.wanted

    def parts(self, rank: int) -> Array:
        """What is merged into the rank's elements: a row a rank."""
        return merging(self.call, self.inputs, rank)

    def right(self, rank: int) -> Array:
        """Places of right elements."""
        return np.setdiff1d(np.arange(self.got(rank).size), self.wrong[rank])

    def few(self, rank: int) -> bool:
        """Whether so few elements are wrong that something explains them by chance."""
        return len(self.wrong[rank]) < 8

    def equal(self, rank: int, other: Array | None, everywhere: bool = False) -> bool:
        """Whether ``other`` is what the rank has, wherever that is wrong, or everywhere."""
        got = self.got(rank)
        everywhere = everywhere or (self.binary and self.few(rank))
        places = np.arange(got.size) if everywhere else self.wrong[rank]
        if other is None or other.shape != got.shape:
            return False
        one, two = got[places], other[places].astype(got.dtype)
        with np.errstate(invalid="ignore"):
            same = bool(np.all((one == two) | ((one != one) & (two != two))))
        return same and (everywhere or not self.binary or self._between(rank, other) > 0.9)

    def explains(self, rank: int, other: Array) -> bool:
        """Whether ``other`` is what the rank has wherever that is wrong; of inputs with few
        values, which agree by chance, also in most elements between, which are right."""
        if not self.equal(rank, other, everywhere=self.few(rank)):
            return False
        return self.probe in ("coded", "rough") or self._between(rank, other) > 0.5

    @property
    def binary(self) -> bool:
        """Whether results are truths: one that is wrong is right in anything else."""
        return self.call.dtype == "bool" or str(self.call.op).startswith("logical")

    def _between(self, rank: int, other: Array) -> float:
        """In how much of what lies between wrong elements, and is right, they agree."""
        places, right = self.wrong[rank], self.right(rank)
        between = right[(right > places[0]) & (right < places[-1])]
        same = other[between] == self.got(rank)[between]
        return float(same.mean()) if len(between) else 1.0

    def where(self, places: Sequence[int] | Array) -> str:
        """The elements in words, with the chunk that they are, if they are one."""
        if self.gathers:
            return where(places, self.call.count * self.size, self.size, gathered=True)
        return where(places, self.call.count, self.size)

    @property
    def gathers(self) -> bool:
        """Whether results are blocks, one from each rank."""
        return self.call.collective in ("all_gather", "gather", "all_to_all")
