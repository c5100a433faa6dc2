"""What refcoll train is asked for, as ways to train, links and stragglers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from refcoll.cli.units import bytes_per_second, seconds
from refcoll.dataparallel.compression import NAMES
from refcoll.dataparallel.parallel import DataParallel
from refcoll.dataparallel.sharded import ParameterServer, Zero2
from refcoll.dataparallel.training import How
from refcoll.errors import ArgumentError
from refcoll.testing.counting import Counting
from refcoll.testing.slowing import Slowed
from refcoll.transport import Transport


@dataclass(frozen=True)
class Way:
    """A way to train, and whether it computes what one process would, but for rounding."""

    how: How
    exact: bool = True


def way(
    zero: int, server: bool, compress: str | None, options: Mapping[str, Any], accumulate: int
) -> Way:
    """The one that the options ask for.  Raises ArgumentError where they contradict."""
    if zero not in (0, 2):
        raise ArgumentError(f"zero={zero}: use 2 (gradients and states sharded), or 0 for none")
    if compress is not None and compress not in NAMES:
        raise ArgumentError(f"compress={compress!r} must be one of {', '.join(NAMES[1:])}")
    asked = [name for name, given in (("--zero", zero), ("--parameter-server", server),
                                      ("--compress", compress)) if given]  # fmt: skip
    if len(asked) > 1:
        raise ArgumentError(f"{' and '.join(asked)} exclude each other; leave out all but one")
    if server:
        given = {k: v for k, v in options.items() if (k, v) != ("algorithm", "auto")}
        return Way(How("parameter server", ParameterServer, given, accumulate))
    if zero:
        return Way(How("ZeRO-2", Zero2, options, accumulate))
    how = How(
        compress or "all-reduce", DataParallel, {**options, "reduction": compress}, accumulate
    )
    return Way(how, exact=compress in (None, "none"))


def compared(first: Way) -> list[Way]:
    """All other ways, with what ``first`` says of buckets and accumulation."""
    kept = {name: first.how.options[name] for name in ("buckets", "bucket_cap_mb")}
    plain = {**kept, "algorithm": "auto", "deterministic": False, "overlap": True}
    times = first.how.accumulate

    def named(name: str, **options: Any) -> Way:
        made = way(0, False, None, {**plain, **options}, times)
        return replace(made, how=replace(made.how, name=name))

    others = [
        named("all-reduce"),
        named("not overlapped", overlap=False),
        named("ring", algorithm="ring"),
        named("deterministic", deterministic=True),
        way(2, False, None, plain, times),
        way(0, True, None, plain, times),
        *(way(0, False, name, plain, times) for name in NAMES if name != "none"),
    ]
    return [each for each in others if each.how != first.how]


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
