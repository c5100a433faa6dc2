"""How many mutants the oracle finds, and how often it cries wolf at right implementations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from refcoll.communicator import Communicator
from refcoll.operators import OPERATORS, kind
from refcoll.oracle.adapters.own import Own
from refcoll.oracle.calls import COLLECTIVES, MOVING, REDUCING, Call
from refcoll.oracle.courts import in_process
from refcoll.oracle.judging import Finding
from refcoll.oracle.mutants.catalogue import MUTANTS
from refcoll.oracle.mutants.mutant import Mutant
from refcoll.oracle.mutants.simple_checks import simply_checked
from refcoll.registry import ALGORITHMS
from refcoll.testing.values import dtype_named

SIZES = (1, 2, 3, 4, 5, 7, 8)
"""At which right implementations are judged."""


@dataclass(frozen=True)
class ScoreRow:
    """One mutant."""

    name: str
    fault: str
    found: bool
    """That it is wrong, and what is wrong with it."""
    diagnosis: str
    """The first one that says it, with its call; if none does, the first; "" if there is none."""
    simple: dict[str, bool]
    """By simple check: whether that finds it, given the same calls."""


@dataclass(frozen=True)
class Score:
    """Of the oracle."""

    found: int
    total: int
    false_alarms: list[str]
    rows: list[ScoreRow]
    judged: int = 0
    """Calls of right implementations."""

    @property
    def perfect(self) -> bool:
        """All found, and no false alarm."""
        return self.found == self.total and not self.false_alarms


def score(
    mutants: Sequence[Mutant] = MUTANTS,
    sizes: Sequence[int] = SIZES,
    simple: bool = True,
    progress: Callable[[str], object] = lambda said: None,
    seed: int = 0,
    collectives: Sequence[str] = COLLECTIVES,
) -> Score:
    """Judge ``mutants``, each where it shows, and all right algorithms of ``collectives`` on
    ``sizes`` ranks.

    ``simple`` tries the simple checks, too; ``progress`` is told what is judged, before.
    """
    rows, alarms, judged = [], [], 0
    for mutant in mutants:
        progress(mutant.name)
        rows.append(scored(mutant, simple, seed))
    for size in sizes:
        for right, calls in right_ones(size, collectives):
            progress(f"{right} on {size} ranks")
            found = in_process(right.make, size, calls, seed=seed, timeout=30.0)
            judged += sum(each.skipped is None for each in found)
            alarms += [f"{right} on {size} ranks: {f}" for each in found for f in each.findings]
    return Score(sum(row.found for row in rows), len(rows), alarms, rows, judged)


def expected(
    mutants: Sequence[Mutant] = MUTANTS,
    sizes: Sequence[int] = SIZES,
    collectives: Sequence[str] = COLLECTIVES,
) -> list[float]:
    """Seconds that what ``score`` tells ``progress`` of will take, in turn, on a core that has
    nothing else to do: roughly, as measured on one."""
    right = [_EACH_RIGHT * size for size in sizes for _ in right_ones(size, collectives)]
    return [_EACH_MUTANT] * len(mutants) + right


_EACH_MUTANT, _EACH_RIGHT = 0.15, 0.021
"""Seconds, the second a rank."""


def scored(mutant: Mutant, simple: bool = True, seed: int = 0) -> ScoreRow:
    """One mutant, judged until something is found."""
    size = mutant.shows_at.size
    judgements = in_process(
        mutant.make, size, mutant.shows_at.calls(), seed=seed,
        timeout=mutant.shows_at.timeout, first_only=True,
    )  # fmt: skip
    findings = [finding for each in judgements for finding in each.findings]
    said = _telling(mutant, findings)
    calls = [each.call for each in judgements]
    return ScoreRow(
        mutant.name,
        mutant.fault,
        said is not None and mutant.explained(said.diagnosis),
        str(said or ""),
        simply_checked(mutant, calls, seed) if simple else {},
    )


def _telling(mutant: Mutant, findings: Sequence[Finding]) -> Finding | None:
    telling = [each for each in findings if mutant.explained(each.diagnosis)]
    return next(iter([*telling, *findings]), None)


@dataclass(frozen=True)
class Right:
    """One algorithm of refcoll's, that may keep sums in float32."""

    collective: str
    algorithm: str
    accumulate: str | None = None

    def make(self, comm: Communicator) -> Own:
        """On one rank."""
        return Own(comm, self.algorithm, self.accumulate)

    def __str__(self) -> str:
        how = f", accumulating in {self.accumulate}" if self.accumulate else ""
        return f"{self.algorithm} {self.collective}{how}"


def right_ones(
    size: int, collectives: Sequence[str] = COLLECTIVES
) -> Iterator[tuple[Right, list[Call]]]:
    """Every algorithm that is defined for ``size``, with some calls that try its arithmetic."""
    for number, ((collective, name), algorithm) in enumerate(ALGORITHMS.items()):
        if not algorithm.sizes.holds(size) or algorithm.needs_helpers:
            continue
        if collective not in collectives:
            continue
        if collective in MOVING:
            yield Right(collective, name), [Call(collective, size + 1, "bfloat16", None)]
        elif collective in REDUCING:
            few = _calls(collective, size, number)
            yield Right(collective, name), few
            narrow = [replace(few[0], dtype=dtype) for dtype in ("bfloat16", "float16")]
            yield Right(collective, name, "float32"), narrow[number % 2 :][:1]


def _calls(collective: str, size: int, number: int) -> list[Call]:
    """Special values, cancellation, subnormals; each algorithm takes its turn of the rest."""
    count = (13, 2 * size + 1, 37)[number % 3]
    turns = [
        (dtype, op)
        for dtype in ("bfloat16", "float64", "int8", "uint64", "float16", "complex64", "bool")
        for op, operator in OPERATORS.items()
        if kind(dtype_named(dtype)) in operator.kinds
    ]
    own = [turns[(7 * number + step * size) % len(turns)] for step in range(2)]
    listed = [("float32", "sum"), (("bfloat16", "float16")[number % 2], "min"), *own]
    return [Call(collective, count, dtype, op) for dtype, op in listed]
