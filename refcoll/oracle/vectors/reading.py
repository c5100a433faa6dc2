"""Vectors read back, and an implementation's results held to them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from refcoll.errors import ArgumentError
from refcoll.operators import Array
from refcoll.oracle.calls import Call
from refcoll.oracle.vectors.encoding import bits, decoded, from_bits

Record = dict[str, Any]


@dataclass(frozen=True)
class Vector:
    """One vector, from its JSON."""

    record: Record

    @property
    def id(self) -> str:
        """Its name."""
        return str(self.record["id"])

    @property
    def flags(self) -> list[str]:
        """The bug classes that it hits."""
        return list(self.record["flags"])

    def call(self, in_place: bool = False) -> Call:
        """What to call."""
        said = self.record
        return Call(
            said["collective"],
            said["count"],
            said["dtype"],
            said["operator"],
            said["root"],
            in_place,
        )

    def inputs(self) -> list[Array]:
        """What each rank passes."""
        dtype = self.record["dtype"]
        return [
            from_bits(each["bits"], dtype) if "bits" in each else decoded(each["values"], dtype)
            for each in self.record["inputs"]
        ]

    def problems(self, outputs: Sequence[Array | None]) -> list[str]:
        """What is wrong with the results, by rank; empty if nothing is."""
        found: list[str] = []
        for result in self.record["results"]:
            for rank in result["ranks"]:
                found += self._problems_on(rank, outputs[rank], result)
        return found or [*self._disagreement(outputs)]

    def _problems_on(self, rank: int, got: Array | None, result: Record) -> list[str]:
        wanted = result["values"] if "values" in result else result["bits"]
        length = len(wanted)
        if got is None or len(got) != length:
            return [f"rank {rank} has no {length} elements"]
        wrong = self._wrong(np.asarray(got), result)
        if not len(wrong):
            return []
        first = int(wrong[0])
        said = f"rank {rank}, element {first}: got {got[first]!s}, wanted {wanted[first]}"
        return [f"{said}; {len(wrong)} of {length} are wrong"]

    def _wrong(self, got: Array, result: Record) -> Array:
        """Places of wrong elements."""
        dtype = self.record["dtype"]
        compare = self.record["rules"]["compare"]
        if compare == "bits":
            return np.flatnonzero(np.array(bits(got)) != np.array(result["bits"]))
        if compare == "interval":
            return _outside(got, *(decoded(result[end], dtype) for end in ("low", "high")))
        columns = ["values", "values_ignoring_nan"][: 2 if compare == "either" else 1]
        return min((_unequal(got, decoded(result[c], dtype)) for c in columns), key=len)

    def _disagreement(self, outputs: Sequence[Array | None]) -> Iterator[str]:
        if self.record["rules"].get("agreement") != "same_bits":
            return
        for result in self.record["results"]:
            raw = [np.asarray(outputs[rank]).tobytes() for rank in result["ranks"]]
            for rank, each in zip(result["ranks"], raw, strict=True):
                if each != raw[0]:
                    yield f"rank {rank} has other bits than rank {result['ranks'][0]}"


def _unequal(got: Array, wanted: Array) -> Array:
    """NaN equals NaN, and +0.0 equals -0.0."""
    with np.errstate(invalid="ignore"):
        differs = got != wanted
        if got.dtype.kind != "U":
            differs = differs & ~((got != got) & (wanted != wanted))
    return _elements(differs)


def _outside(got: Array, low: Array, high: Array) -> Array:
    if got.dtype.kind == "c":
        got, low, high = (np.stack([x.real, x.imag], axis=1) for x in (got, low, high))
    with np.errstate(invalid="ignore"):
        within = (low <= got) & (got <= high)
    return _elements(~within)


def _elements(wrong: Array) -> Array:
    """Places of elements of which a part is wrong."""
    return np.flatnonzero(wrong if wrong.ndim == 1 else wrong.any(axis=1))


def read(file: Path) -> list[Vector]:
    """All vectors of a file.  Raises ArgumentError where it is not one."""
    try:
        content = json.loads(file.read_text())
        known = content["format"] == "refcoll-vectors" and content["version"] == 1
        records = content["vectors"] if known else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArgumentError(f"file={str(file)!r} cannot be read as vectors: {error}") from error
    if not isinstance(records, list):
        raise ArgumentError(f"file={str(file)!r} does not hold vectors of format version 1")
    return [Vector(each) for each in records]
