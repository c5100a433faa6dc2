"""From what every rank saw of one run to a verdict on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from refcoll.testing.cases import Case


@dataclass(frozen=True)
class Sight:
    """What one rank saw of a run."""

    exact: bool
    """Whether its result is right and its input untouched."""
    digest: str
    """Of its result."""
    steps: int
    received_from: list[int]
    """Bytes that arrived, by the rank that sent them."""
    unclaimed: int = 0
    """Messages left over."""
    entered: float = 0
    left: float = 0
    """When it began and ended, in seconds."""


@dataclass(frozen=True)
class Expected:
    """What a run should show: steps, and bytes sent and received, by rank, and the bound."""

    steps: list[int]
    sent: list[int]
    received: list[int]
    bounds: tuple[str, ...]
    """Which of "steps", "sent" and "received" are upper bounds."""
    least: list[Fraction]
    """Bytes that some rank must send, and bytes that some rank must receive."""


@dataclass(frozen=True)
class Row:
    """What came of one case.  Bytes and steps are the maximum over ranks."""

    algorithm: str
    collective: str
    ranks: int
    count: int
    dtype: str
    op: str | None
    options: tuple[tuple[str, int], ...]
    transport: str
    """Its name; "simulated" for programs that need helpers; "not run" for refuted ones."""
    exact: bool = False
    agree: bool = False
    steps: int = 0
    steps_claimed: int = 0
    sent_bytes: int = 0
    sent_claimed: int = 0
    received_bytes: int = 0
    received_claimed: int = 0
    lower_bound_bytes: float = 0
    ok: bool = False
    problems: list[str] = field(default_factory=list)
    """What is wrong, in words; empty where the row is ok."""

    @property
    def title(self) -> str:
        """The case in words."""
        case = Case(self.algorithm, self.collective, self.count, self.dtype, self.op, self.options)
        return case.title(self.ranks)


def judge(
    case: Case, size: int, transport: str, sights: Sequence[Sight], expected: Expected
) -> Row:
    """The row of a run on ``size`` ranks, and helpers if there are more sights."""
    steps = [sight.steps for sight in sights]
    sent = [sum(each.received_from[rank] for each in sights) for rank in range(len(sights))]
    received = [sum(sight.received_from) for sight in sights]
    exact, agree = all(sight.exact for sight in sights), _agree(case, sights)
    problems = [
        *_wrong_values(sights, agree),
        *_differences("steps", "", steps, expected.steps, expected.bounds),
        *_differences("sent", " bytes", sent, expected.sent, expected.bounds),
        *_differences("received", " bytes", received, expected.received, expected.bounds),
        *_too_little("sent", sent, expected.least[0]),
        *_too_little("received", received, expected.least[1]),
    ]
    if case.collective == "barrier" and not _waited(sights):
        exact = False
        problems.append("a rank left before the last had entered")
    least = max(expected.least)
    return Row(
        **vars(case),
        ranks=size,
        transport=transport,
        exact=exact,
        agree=agree,
        steps=max(steps),
        steps_claimed=max(expected.steps),
        sent_bytes=max(sent),
        sent_claimed=max(expected.sent),
        received_bytes=max(received),
        received_claimed=max(expected.received),
        lower_bound_bytes=int(least) if least.denominator == 1 else float(least),
        ok=not problems,
        problems=problems,
    )


def refuted(case: Case, size: int, problem: str) -> Row:
    """The row of a program that is not worth running."""
    said = [f"refuted before it ran: {problem}"]
    return Row(**vars(case), ranks=size, transport="not run", problems=said)


def _agree(case: Case, sights: Sequence[Sight]) -> bool:
    """Whether ranks that must hold the same result do, to the bit."""
    alike = case.collective in ("all_reduce", "all_gather", "broadcast")
    return not alike or len({sight.digest for sight in sights}) == 1


def _waited(sights: Sequence[Sight]) -> bool:
    """Whether nobody left before the last had entered, as far as there is one clock."""
    return min(sight.left for sight in sights) >= max(sight.entered for sight in sights)


def _wrong_values(sights: Sequence[Sight], agree: bool) -> Iterator[str]:
    wrong = [rank for rank, sight in enumerate(sights) if not sight.exact]
    if wrong:
        yield f"the result is wrong on ranks {wrong}"
    if not agree:
        yield "the ranks' results differ"
    if any(sight.unclaimed for sight in sights):
        yield "messages are left over that no rank received"


def _differences(
    what: str, unit: str, measured: Sequence[int], claimed: Sequence[int], bounds: Sequence[str]
) -> Iterator[str]:
    """The first rank on which what was measured is not what was claimed."""
    for rank, (value, claim) in enumerate(zip(measured, claimed, strict=True)):
        if value > claim or (value < claim and what not in bounds):
            most = " at most" if what in bounds else ""
            yield f"{what} on rank {rank}: {value}{unit}, claimed{most} {claim}"
            return


def _too_little(what: str, measured: Sequence[int], least: Fraction) -> Iterator[str]:
    """Nothing is right that moves less than some rank must."""
    if max(measured) < least:
        yield f"at most {max(measured)} bytes {what}, where some rank must {least}"
