"""A soak, and what it has shown, counted."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from refcoll.errors import TransportError
from refcoll.testing.faults import KINDS
from refcoll.testing.soaking import Operation, Outcome, Soak, operation
from refcoll.transport import Transport

UNNOTICED = frozenset({"corrupt", "reorder", "drop", "duplicate"})
"""Faults that, without checksums, may go unnoticed: docs/failures.md says when."""
NOTICED = frozenset({"corrupt", "truncate", "drop", "reorder", "die"})
"""Faults that, with checksums, must not even be harmless."""
FATES = ("detected", "harmless", "let through")
_LATE = frozenset({"DeadlineError", "PeerFailedError"})
MOST_TOLD = 10
HANG = 5.0
"""Seconds beyond all that it may wait for after which an operation counts as one that hung."""


@dataclass(frozen=True)
class Plan:
    """What to soak with."""

    seed: int = 0
    seconds: float = 60.0
    """For how long."""
    first: int = 0
    operations: int | None = None
    """Which, and at most how many."""
    faulty: float = 0.2
    """Share of operations with a fault."""
    patience: float = 0.2
    """Seconds that any one wait may last."""


@dataclass
class Tally:
    """Counts over operations.  ``fates`` is by checksums or not, kind of fault, and fate:

    "detected"     some rank raised
    "harmless"     all results were right all the same
    "let through"  some rank returned a wrong result
    """

    operations: int = 0
    nbytes: int = 0
    """That arrived, on all ranks."""
    fates: Counter[tuple[bool, str, str]] = field(default_factory=Counter)
    late: int = 0
    """Operations without a fault in which a wait was too short for this machine: with more
    patience all went well."""
    hangs: int = 0
    broken: list[str] = field(default_factory=list)
    """What must not be, in words, with the operation."""
    told: list[str] = field(default_factory=list)
    """The first operations, and what came of them on every rank."""

    @property
    def too_late(self) -> bool:
        """Whether so many operations were late that the rest says little."""
        return self.late > 0.25 * self.operations

    @property
    def holds(self) -> bool:
        """Whether nothing hung, and nothing was wrong that must not be."""
        return not self.hangs and not self.broken and not self.too_late

    def add(self, done: Operation, size: int, outcomes: Sequence[Outcome], patience: float) -> None:
        """Count one operation's outcomes."""
        self.operations += 1
        self.nbytes += sum(each.nbytes for each in outcomes)
        if len(self.told) < MOST_TOLD:
            came = ", ".join(f"rank {rank} {each}" for rank, each in enumerate(outcomes))
            self.told.append(f"{done.title(size)}: {came}")
        delays = sum(fault.seconds for _, fault in done.faults if fault.kind == "delay")
        if max(each.seconds for each in outcomes) > HANG + delays + 4 * patience:
            self.hangs += 1
            self.broken.append(f"it took too long: {done.title(size)}")
        injected = [kind for each in outcomes for kind in each.injected]
        if injected:
            self._fault(done, size, injected[0], outcomes)
        elif not is_late(outcomes):
            self._healthy(done, size, outcomes)

    def add_again(self, done: Operation, size: int, outcomes: Sequence[Outcome]) -> None:
        """The same operation, which was late, with much more patience."""
        self.late += 1
        self._healthy(done, size, outcomes)

    def _fault(self, done: Operation, size: int, kind: str, outcomes: Sequence[Outcome]) -> None:
        wrong = [rank for rank, each in enumerate(outcomes) if each.verdict == "wrong"]
        raised = [each for each in outcomes if each.verdict not in ("right", "wrong")]
        fate = FATES[2] if wrong else FATES[0] if raised else FATES[1]
        self.fates[done.checksums, kind, fate] += 1
        if wrong and (done.checksums or kind not in UNNOTICED):
            self.broken.append(f"wrong on ranks {wrong}: {done.title(size)}")
        elif fate == FATES[1] and done.checksums and kind in NOTICED:
            self.broken.append(f"not noticed: {done.title(size)}")

    def _healthy(self, done: Operation, size: int, outcomes: Sequence[Outcome]) -> None:
        verdicts = {each.verdict for each in outcomes}
        if verdicts != {"right"}:
            said = next((each.message for each in outcomes if each.message), "")
            self.broken.append(f"{', '.join(sorted(verdicts))}: {done.title(size)}: {said}")

    def rows(self, checksums: bool) -> list[tuple[str, int, int, int]]:
        """Of each kind of fault: how many were detected, harmless and let through."""
        rows = []
        for kind in KINDS:
            detected, harmless, through = (self.fates[checksums, kind, fate] for fate in FATES)
            rows.append((str(kind), detected, harmless, through))
        return rows

    def as_json(self) -> dict[str, Any]:
        """Everything, under documented keys."""
        fates = {
            "with_checksums" if sums else "without_checksums": {
                kind: {"detected": a, "harmless": b, "let_through": c}
                for kind, a, b, c in self.rows(sums)
            }
            for sums in (True, False)
        }
        return {
            "operations": self.operations, "bytes": self.nbytes, "late": self.late,
            "hangs": self.hangs, "broken": self.broken, "faults": fates,
        }  # fmt: skip


def is_late(outcomes: Sequence[Outcome]) -> bool:
    """Whether time was up on some rank, and nothing else went wrong."""
    verdicts = {each.verdict for each in outcomes}
    return "DeadlineError" in verdicts and verdicts <= _LATE | {"right"}


def soak(
    end: Transport, plan: Plan, progress: Callable[[Tally], object] = lambda tally: None
) -> Tally:
    """Soak, over a transport whose ranks all call this with the same plan."""
    tally, mine, started = Tally(), Soak(end, plan.patience), time.monotonic()
    number, over = plan.first, False
    while not over and (plan.operations is None or number < plan.first + plan.operations):
        wanted = operation(plan.seed, number, end.size, plan.faulty, plan.patience)
        try:
            outcomes, over = mine.perform(wanted, time.monotonic() - started > plan.seconds)
            tally.add(wanted, end.size, outcomes, plan.patience)
            if is_late(outcomes) and not any(each.injected for each in outcomes):
                calm = replace(wanted, faults=())
                again, _ = mine.perform(calm, False, 50 * plan.patience + 5)
                tally.add_again(calm, end.size, again)
        except TransportError as error:
            tally.hangs += 1
            tally.broken.append(f"a rank did not come back: {wanted.title(end.size)}: {error}")
            break
        progress(tally)
        number += 1
    return tally
