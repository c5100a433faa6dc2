"""What refcoll train is asked for, as ways to train, links and stragglers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from refcoll.cli.units import bytes_per_second, seconds
from refcoll.dataparallel.compression import NAMES
from refcoll.dataparallel.parallel import DataParallel
from refcoll.dataparallel.sharded import ParameterServer, Zero2
from refcoll.dataparallel.tasks import How
from refcoll.errors import ArgumentError
from refcoll.testing.counting import Counting
from refcoll.testing.slowing import Slowed
from refcoll.transport import Transport

NOT_OVERLAPPED = "not overlapped"


@dataclass(frozen=True)
class Way:
    """A way to train, and whether it computes what one process would, but for rounding."""

    how: How
    exact: bool = True


def way(
    zero: int, server: bool, compress: str | None, options: Mapping[str, Any], accumulate: int
) -> Way:
    """The one that the options ask for.  Raises ArgumentError where they contradict."""
    _require_one_kind(zero, server, compress)
    if server:
        given = {k: v for k, v in options.items() if (k, v) != ("algorithm", "auto")}
        return Way(How(_name("parameter server", options), ParameterServer, given, accumulate))
    if zero:
        return Way(How(_name("ZeRO-2", options), Zero2, options, accumulate))
    exact = compress in (None, "none")
    name = _name(None if exact else compress, options)
    reduced = {**options, "reduction": compress}
    return Way(How(name, DataParallel, reduced, accumulate), exact)


def _require_one_kind(zero: int, server: bool, compress: str | None) -> None:
    if zero not in (0, 2):
        raise ArgumentError(f"zero={zero}: use 2 (gradients and states sharded), or 0 for none")
    if compress is not None and compress not in NAMES:
        raise ArgumentError(f"compress={compress!r} must be one of {', '.join(NAMES[1:])}")
    asked = [name for name, given in (("--zero", zero), ("--parameter-server", server),
                                      ("--compress", compress)) if given]  # fmt: skip
    if len(asked) > 1:
        raise ArgumentError(f"{' and '.join(asked)} exclude each other; leave out all but one")


def _name(kind: str | None, options: Mapping[str, Any]) -> str:
    """After what is not as usual: "ring", "ZeRO-2, not overlapped"."""
    unusual = [] if options["algorithm"] == "auto" else [options["algorithm"]]
    unusual += ["deterministic"] if options["deterministic"] else []
    unusual += [] if options["overlap"] else [NOT_OVERLAPPED]
    return ", ".join([*([kind] if kind else []), *unusual]) or "all-reduce"


def compared(first: Way) -> list[Way]:
    """``first``, and all other ways with what it says of buckets and accumulation."""
    kept = {name: first.how.options[name] for name in ("buckets", "bucket_cap_mb")}
    plain = {**kept, "algorithm": "auto", "deterministic": False, "overlap": True}

    def one(zero: int = 0, server: bool = False, compress: str | None = None, **other: Any) -> Way:
        return way(zero, server, compress, {**plain, **other}, first.how.accumulate)

    ways = [
        first, one(), one(overlap=False), one(algorithm="ring"), one(deterministic=True),
        one(zero=2), one(server=True), *(one(compress=name) for name in NAMES if name != "none"),
    ]  # fmt: skip
    return _once(ways)


def beside(first: Way, names: str) -> list[Way]:
    """``first``, and those of ``compared`` that are named, as in "not overlapped,ring"."""
    known = {each.how.name: each for each in compared(first)}
    asked = [each.strip() for each in names.split(",")]
    for name in asked:
        if name not in known:
            raise ArgumentError(f"beside={name!r}: there are {', '.join(known)}")
    return _once([first, *(known[name] for name in asked)])


def _once(ways: Sequence[Way]) -> list[Way]:
    """The first of each name."""
    found: dict[str, Way] = {}
    for each in ways:
        found.setdefault(each.how.name, each)
    return list(found.values())


@dataclass(frozen=True)
class Link:
    """How slow each rank's link is made."""

    latency: float
    rate: float

    def over(self, end: Transport) -> Transport:
        """The transport with that link, counted."""
        if self.latency or self.rate != float("inf"):
            end = Slowed(end, self.latency, self.rate)
        return Counting(end)


def link(latency: str, rate: str | None) -> Link:
    """From "1ms" and "100MB/s"."""
    given = float("inf") if rate is None else bytes_per_second(rate, "rate")
    if given <= 0:
        raise ArgumentError(f"rate={rate!r} must be above 0, such as 100MB/s")
    return Link(seconds(latency), given)


@dataclass(frozen=True)
class Straggler:
    """A rank whose backward takes longer."""

    rank: int = -1
    delay: float = 0.0

    @property
    def anyone(self) -> bool:
        """Whether there is one."""
        return self.rank >= 0

    def require(self, size: int) -> None:
        """Raise ArgumentError where there is no such rank."""
        if self.rank >= size:
            raise ArgumentError(f"straggler: there is no rank {self.rank} of {size}")

    def applied(self, how: How, rank: int) -> How:
        """The way to train for this rank."""
        return replace(how, delay=self.delay) if rank == self.rank else how


def straggler(text: str | None) -> Straggler:
    """From "2:20ms"; nobody for None."""
    if text is None:
        return Straggler()
    rank, colon, delay = text.partition(":")
    if not colon or not rank.isdecimal():
        raise ArgumentError(f"straggler={text!r}: use rank:time, such as 2:20ms")
    try:
        return Straggler(int(rank), seconds(delay))
    except ArgumentError as error:
        raise ArgumentError(f"straggler={text!r}: {error}") from None
