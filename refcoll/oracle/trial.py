"""One probe of one call, run three times on all ranks, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.calls import Call
from refcoll.oracle.diagnosing.diagnosis import Evidence, diagnosed
from refcoll.oracle.endings import FAILED, ended
from refcoll.oracle.probes import inputs
from refcoll.oracle.truth import truth
from refcoll.oracle.verdicts import Finding
from refcoll.words import ranked

if TYPE_CHECKING:
    from refcoll.oracle.judging import Judge

AGREEING = ("all_reduce", "broadcast", "all_gather")
"""All ranks get the same."""


class Trial:
    """One probe of one call, on all ranks."""

    def __init__(self, judge: Judge, call: Call, probe: str) -> None:
        self._judge, self._call, self._probe = judge, call, probe
        self._given = inputs(probe, call, judge.size, judge.seed)
        self._others = inputs(probe, call, judge.size, judge.seed + 1)
        self._runs = [
            judge.try_once(call, given, shift)
            for given, shift in ((self._given, 0), (self._others, 0), (self._given, 1))
        ]
        self._truths = [
            truth(probe, call, given, judge.rank) for given in (self._given, self._others)
        ]
        said = [run.said(call, self._wrong(number)) for number, run in enumerate(self._runs)]
        everyone = judge.collect({"runs": said})
        self._seen = [[each["runs"][number] for each in everyone] for number in range(3)]
        statuses = [each["status"] for run in self._seen for each in run]
        self.broken = any(status.startswith(FAILED) for status in statuses)
        refused = all(status.startswith("refused") for status in statuses)
        self.refused = statuses[0].removeprefix("refused: ") if refused else None

    def _wrong(self, number: int) -> Array | None:
        run, right = self._runs[number], self._truths[number % 2]
        if run.output is None or right is None or run.status != "done":
            return None
        return right.check(run.output)

    def findings(self) -> list[Finding]:
        """All that is wrong.  Collective, where anything is."""
        ended = self._of_status()
        found = ended or self._of_values()
        # Where NaN goes by some rule of its own, ranks and calls may still differ.
        if not found or (self._probe == "special" and not ended):
            found = [*found, *self._of_agreement(), *self._of_repeats()]
        return [*found, *self._of_buffers()]

    def _finding(self, verdict: str, diagnosis: str) -> Finding:
        return Finding(self._call, self._probe, self._judge.seed, verdict, diagnosis)

    def _of_status(self) -> list[Finding]:
        """What was raised, or refused by some ranks only."""
        first = next(
            (run for run in self._seen if any(each["status"] != "done" for each in run)), None
        )
        if first is None:
            return []
        return [self._finding("finished", ended([each["status"] for each in first]))]

    def _of_values(self) -> list[Finding]:
        for number, run in enumerate(self._seen):
            if any(each["wrong"] for each in run):
                return [self._finding("value", self._diagnosis(number))]
        return []

    def _diagnosis(self, number: int) -> str:
        judge, call = self._judge, self._call
        given = [self._given, self._others][number % 2]
        right = [truth(self._probe, call, given, rank) for rank in range(judge.size)]
        evidence = Evidence(
            call,
            self._probe,
            list(given),
            judge.gathered(self._runs[number].output, call),
            right,
            judge.gathered(self._runs[number - 1].output, call) if number else None,
            self._again,
            [self._given, self._others][(number - 1) % 2] if number else None,
        )
        return diagnosed(evidence)

    def _again(self, given: Sequence[Array]) -> list[Array | None] | None:
        """The implementation's results on other inputs; None where it raises.  Collective."""
        run = self._judge.try_once(self._call, given)
        statuses = [each["status"] for each in self._judge.collect({"status": run.status})]
        if any(status != "done" for status in statuses):
            return None
        return self._judge.gathered(run.output, self._call)

    def _of_agreement(self) -> list[Finding]:
        if self._call.collective not in AGREEING:
            return []
        for number, run in enumerate(self._seen):
            groups: dict[str, list[int]] = {}
            for rank, each in enumerate(run):
                groups.setdefault(each["digest"], []).append(rank)
            if len(groups) > 1:
                values = self._judge.gathered(self._runs[number].output, self._call)
                said = _parted([*groups.values()], values)
                if not any(each["wrong"] for each in run):
                    said += "; each is within what may be"
                return [self._finding("agreement", said)]
        return []

    def _of_repeats(self) -> list[Finding]:
        first, again = self._seen[0], self._seen[2]
        ranks = [r for r in range(len(first)) if first[r]["digest"] != again[r]["digest"]]
        if not ranks:
            return []
        said = "the same inputs give other bits the next time but one"
        if all(
            each["digest"] == other["digest"]
            for each, other in zip(first, self._third(), strict=True)
        ):
            said = "the same inputs give other bits one element further from an aligned address"
        return [self._finding("repeatability", f"{ranked(ranks)}: {said}")]

    def _third(self) -> list[dict[str, Any]]:
        """A run more, as aligned as the first.  Collective."""
        run = self._judge.try_once(self._call, self._given)
        return self._judge.collect(run.said(self._call, None))

    def _of_buffers(self) -> list[Finding]:
        found = []
        for run in self._seen:
            changed = [rank for rank, each in enumerate(run) if each["input changed"]]
            if changed:
                said = f"{ranked(changed)}: the input is not as it was"
                found.append(self._finding("input untouched", said))
            for rank, each in enumerate(run):
                if each["guards"]:
                    said = f"rank {rank}: wrote up to {each['guards']} of a buffer"
                    found.append(self._finding("guards intact", said))
        return found[:2]


def _parted(groups: Sequence[Sequence[int]], values: Sequence[Array | None]) -> str:
    """Which ranks have which bits, and where, with one element as an example."""
    some = [value for value in (values[ranks[0]] for ranks in groups) if value is not None]
    width = some[0].dtype.itemsize
    raw = [np.ascontiguousarray(x).view(np.uint8).reshape(-1, width) for x in some]
    differ = np.flatnonzero(np.any([(x != raw[0]).any(axis=1) for x in raw[1:]], axis=0))
    place = int(differ[0])
    said = ", ".join(
        f"{ranked(ranks)}: {x[place]!s}" for ranks, x in zip(groups[:4], some[:4], strict=True)
    )
    return (
        f"the ranks have not the same bits: they differ in {len(differ)} of {some[0].size} "
        f"elements; element {place} is, on {said}"
    )
