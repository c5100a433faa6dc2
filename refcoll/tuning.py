"""Which algorithm was measured to be best: what ``refcoll calibrate`` writes and "auto" reads.

A file holds, for each collective and each placement of ranks on nodes that was tried, the
best algorithm at some sizes.  Between them the nearer size, by its logarithm, decides;
for what is 16 times as long or as short as anything measured, nothing does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from math import log
from pathlib import Path
from typing import Any

from refcoll.errors import ArgumentError
from refcoll.topology import Nodes

VARIABLE = "REFCOLL_TUNING"
"""The environment variable that names a file for ``refcoll.connect``."""
_VERSION = 1
_FAR = 16
"""A size so many times as long, or as short, is another matter."""


@dataclass(frozen=True)
class Best:
    """What was measured at one size."""

    nbytes: int
    """Of the whole vector."""
    algorithm: str
    seconds: float


@dataclass(frozen=True)
class Placement:
    """How many ranks stand on each node, in order of their first ranks; of a collective."""

    collective: str
    ranks_on_nodes: tuple[int, ...]

    @classmethod
    def of(cls, collective: str, nodes: Nodes) -> Placement:
        """That of a communicator with such nodes."""
        return cls(collective, tuple(len(node) for node in nodes))


@dataclass(frozen=True, eq=False)
class Tuning:
    """What a file says."""

    measured: Mapping[Placement, Sequence[Best]]
    source: str = ""

    def best(self, placement: Placement, nbytes: int) -> Best | None:
        """The best algorithm for ``nbytes``; None where nothing like it was measured."""
        found = self.measured.get(placement)
        if not found:
            return None
        best = min(found, key=lambda each: _apart(each.nbytes, nbytes))
        return best if _apart(best.nbytes, nbytes) <= log(_FAR) else None

    def with_more(self, more: Mapping[Placement, Sequence[Best]]) -> Tuning:
        """With measurements added, or, at the same size, put in the place of earlier ones."""
        merged = dict(self.measured)
        for placement, best in more.items():
            by_size = {each.nbytes: each for each in (*merged.get(placement, ()), *best)}
            merged[placement] = tuple(by_size[size] for size in sorted(by_size))
        return Tuning(merged, self.source)

    def write(self, path: Path) -> None:
        """To a file.  Raises ArgumentError where that cannot be written."""
        content = {
            "version": _VERSION,
            "measured": [
                {**asdict(placement), "best": [asdict(each) for each in best]}
                for placement, best in self.measured.items()
            ],
        }
        try:
            path.write_text(json.dumps(content, indent=1) + "\n")
        except OSError as error:
            raise ArgumentError(f"tuning={str(path)!r} cannot be written: {error}") from error


def _apart(one: int, other: int) -> float:
    return abs(log(max(1, one)) - log(max(1, other)))


def read(path: str | os.PathLike[str]) -> Tuning:
    """The tuning in a file.  Raises ArgumentError for one that is not there, or none of ours."""
    try:
        text = Path(path).read_text()
    except (OSError, TypeError, ValueError) as error:
        raise ArgumentError(f"tuning={str(path)!r} cannot be read: {error}") from error
    try:
        return Tuning(dict(_entries(json.loads(text))), str(path))
    except (ValueError, KeyError, TypeError) as error:
        raise ArgumentError(
            f"tuning={str(path)!r} is no file that `refcoll calibrate` has written"
        ) from error


def _entries(content: Any) -> Any:
    if content["version"] != _VERSION:
        raise ValueError(f"version {content['version']}, not {_VERSION}")
    for each in content["measured"]:
        best = tuple(
            Best(int(one["nbytes"]), str(one["algorithm"]), float(one["seconds"]))
            for one in each["best"]
        )
        yield Placement(str(each["collective"]), tuple(map(int, each["ranks_on_nodes"]))), best


def tuning(given: Tuning | str | os.PathLike[str] | None) -> Tuning | None:
    """The one given, or read from the file given, or from the file that $REFCOLL_TUNING
    names; None where there is none of these."""
    if given is None:
        named = os.environ.get(VARIABLE)
        try:
            return _kept(named) if named else None
        except ArgumentError as error:
            raise ArgumentError(f"${VARIABLE}: {error}") from error
    return given if isinstance(given, Tuning) else read(given)


@lru_cache(maxsize=1)
def _kept(path: str) -> Tuning:
    return read(path)
