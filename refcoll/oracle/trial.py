"""One probe of one call, run three times on all ranks, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from refcoll.operators import Array
from refcoll.oracle.agreement import AGREEING, Record, groups, parted
from refcoll.oracle.calls import Call
from refcoll.oracle.diagnosing.diagnosis import Evidence, diagnosed
from refcoll.oracle.endings import FAILED, ended
from refcoll.oracle.probes import inputs
from refcoll.oracle.run import Watched
from refcoll.oracle.truth import truth
from refcoll.oracle.verdicts import Finding
from refcoll.words import ranked

if TYPE_CHECKING:
    from refcoll.oracle.judging import Judge


class Trial:
    """One probe of one call, on all ranks."""

    def __init__(self, judge: Judge, call: Call, probe: str) -> None:
        self._judge, self._call, self._probe = judge, call, probe
        self._given = inputs(probe, call, judge.size, judge.seed)
        self._others = inputs(probe, call, judge.size, judge.seed + 1)
        self._earlier = judge.history.before(call)
        made = list(self._made())
        self._runs = [each.run for each in made]
        # The last run is looked at again by the next trial.
        self._watched = [*judge.watched, *made[:2]]
        judge.watched = made[2:]
        self._seen, self._late = self._told(made)
        statuses = [each["status"] for run in self._seen for each in run]
        self.broken = any(status.startswith(FAILED) for status in statuses)
        refused = all(status.startswith("refused") for status in statuses)
        self.refused = statuses[0].removeprefix("refused: ") if refused else None

    def _made(self) -> Iterator[Watched]:
        """The three runs."""
        judge, call = self._judge, self._call
        right, other = (
            truth(self._probe, call, given, judge.rank) for given in (self._given, self._others)
        )
        yield Watched(self._probe, judge.try_once(call, self._given), right)
        yield Watched(self._probe, judge.try_once(call, self._others), other)
        yield Watched(self._probe, judge.try_once(call, self._given, shift=1), right)

    def _told(self, made: Sequence[Watched]) -> tuple[list[list[Record]], list[list[str | None]]]:
        """By run and rank, what is said of runs, and what was late in those that are watched."""
        everyone = self._judge.collect(
            {
                "runs": [each.run.said(each.right) for each in made],
                "late": [each.run.late(each.right) for each in self._watched],
            }
        )
        runs, late = ([each[key] for each in everyone] for key in ("runs", "late"))
        return [list(run) for run in zip(*runs, strict=True)], [
            list(run) for run in zip(*late, strict=True)
        ]

    def findings(self) -> list[Finding]:
        """All that is wrong.  Collective, where anything is."""
        late = self._of_lateness()
        if found := self._of_status():
            return [*late, *found, *self._of_buffers()]
        found = late or self._of_values()
        # Where NaN goes by some rule of its own, ranks and calls may still differ.
        if not found or self._probe == "special":
            found = [*found, *self._of_agreement(), *self._of_repeats()]
        return [*found, *self._of_rules(), *self._of_buffers()]

    def _finding(self, verdict: str, diagnosis: str) -> Finding:
        return Finding(self._call, self._probe, self._judge.seed, verdict, diagnosis)

    # ---- how it ended --------------------------------------------------------------------

    def _of_status(self) -> list[Finding]:
        """What was raised, or refused by some ranks only."""
        first = next(
            (run for run in self._seen if any(each["status"] != "done" for each in run)), None
        )
        if first is None:
            return []
        return [self._finding("finished", ended([each["status"] for each in first]))]

    def _of_lateness(self) -> list[Finding]:
        """Whose buffers were written to after the call; the first run of which that is so."""
        for watched, run in zip(self._watched, self._late, strict=True):
            by_words: dict[str, list[int]] = {}
            for rank, words in enumerate(run):
                if words is not None:
                    by_words.setdefault(words, []).append(rank)
            if by_words:
                call, seed = watched.run.call, self._judge.seed
                return [
                    Finding(call, watched.probe, seed, "finished", f"{ranked(ranks)}: {words}")
                    for words, ranks in by_words.items()
                ]
        return []

    # ---- what it gave --------------------------------------------------------------------

    def _of_values(self) -> list[Finding]:
        for number, run in enumerate(self._seen):
            if any(each["wrong"] for each in run):
                return [self._finding("value", self._diagnosis(number))]
        return []

    def _diagnosis(self, number: int) -> str:
        judge, call = self._judge, self._call
        given = [self._given, self._others][number % 2]
        right = [truth(self._probe, call, given, rank) for rank in range(judge.size)]
        got = judge.gathered(self._runs[number].output, call)
        before, *older = self._before(number) or (None,)
        return diagnosed(
            Evidence(
                call, self._probe, list(given), got, right, before and before[0], self._again,
                before and before[1],
                "the previous call" if number else "the previous call of this length",
                [results for results, _ in older if results is not None],
            )
        )  # fmt: skip

    def _before(self, number: int) -> list[tuple[list[Array | None], list[Array] | None]]:
        """Results and inputs of the runs before, the last first, then of earlier calls.

        Collective.
        """
        judge, call = self._judge, self._call
        found = [
            (judge.gathered(self._runs[n].output, call), [self._given, self._others][n % 2])
            for n in reversed(range(number))
        ]
        earlier = [
            (each.read_as(call, judge.gathered(each.output, each.call)), each.inputs(call))
            for each in self._earlier
        ]
        return [*found, *earlier]

    def _again(self, given: Sequence[Array]) -> list[Array | None] | None:
        """The implementation's results on other inputs; None where it raises.  Collective."""
        run = self._judge.try_once(self._call, given)
        statuses = [each["status"] for each in self._judge.collect({"status": run.status})]
        if any(status != "done" for status in statuses):
            return None
        return self._judge.gathered(run.output, self._call)

    # ---- whether that is the same everywhere ---------------------------------------------

    def _of_agreement(self) -> list[Finding]:
        if self._call.collective not in AGREEING:
            return []
        for number, run in enumerate(self._seen):
            if len(by_bits := groups(run, "digest")) > 1:
                values = self._judge.gathered(self._runs[number].with_one_nan(), self._call)
                said = parted([*by_bits.values()], values)
                if not any(each["wrong"] for each in run):
                    said += "; each is within what may be"
                return [self._finding("agreement", said)]
        return []

    def _of_rules(self) -> list[Finding]:
        """NaN by one rule here and another there, each of which alone is right."""
        if any(each["wrong"] for run in self._seen for each in run):
            return []
        said = self._judge.nan_rules.broken(self._call, self._seen)
        return [self._finding("agreement", said)] if said else []

    def _of_repeats(self) -> list[Finding]:
        first, _, again = self._seen
        ranks = [r for r in range(len(first)) if first[r]["digest"] != again[r]["digest"]]
        if not ranks:
            return []
        said = "the same inputs give other bits the next time but one"
        # What only comes and goes with time is not likely to come in this order, too.
        if self._same_as(again, shift=1) & self._same_as(first, shift=0):
            said = "the same inputs give other bits one element further from an aligned address"
        return [self._finding("repeatability", f"{ranked(ranks)}: {said}")]

    def _same_as(self, run: Sequence[Record], shift: int) -> bool:
        """Whether another run gives the same bits.  Collective."""
        another = self._judge.try_once(self._call, self._given, shift)
        found = self._judge.collect(another.said(None))
        return all(x["digest"] == y["digest"] for x, y in zip(run, found, strict=True))

    # ---- what it did to memory -----------------------------------------------------------

    def _of_buffers(self) -> list[Finding]:
        for run in self._seen:
            changed = [rank for rank, each in enumerate(run) if each["input changed"]]
            broken = groups(run, "guards").items()
            found = [
                self._finding("guards intact", f"{ranked(ranks)}: wrote {where}")
                for where, ranks in broken
            ]
            if changed:
                said = f"{ranked(changed)}: the input is not as it was"
                found.insert(0, self._finding("input untouched", said))
            if found:
                return found[:2]
        return []
