"""One call, tried with each probe: what every rank saw, and the verdict.

Each probe runs three times: once; once with other inputs, so that what is left over from a
call shows in the next; and once more with the first inputs, whose results must be the same
bits.  The last run stands one element further from an aligned address.  Everything that ranks
tell each other goes through a communicator that is not the implementation's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.operators import Array
from refcoll.oracle.calls import Call
from refcoll.oracle.diagnosis import Evidence, diagnosed
from refcoll.oracle.guarded import Guarded
from refcoll.oracle.implementation import Implementation, called, unsupported
from refcoll.oracle.probes import inputs, probes_for
from refcoll.oracle.truth import truth
from refcoll.oracle.watchdog import Watchdog
from refcoll.testing.values import dtype_named

VERDICTS = (
    "value", "agreement", "repeatability", "input untouched", "guards intact", "finished",
)  # fmt: skip
AGREEING = ("all_reduce", "broadcast", "all_gather")
"""All ranks get the same."""


@dataclass(frozen=True)
class Finding:
    """Something wrong, in words."""

    call: Call
    probe: str
    seed: int
    verdict: str
    """Which of ``VERDICTS``."""
    diagnosis: str

    def __str__(self) -> str:
        return f"{self.call}, {self.probe} inputs: {self.verdict}: {self.diagnosis}"


@dataclass
class Judgement:
    """What came of one call."""

    call: Call
    skipped: str | None = None
    """Why it was not tried: not supported."""
    probes: tuple[str, ...] = ()
    findings: list[Finding] = field(default_factory=list)

    @property
    def right(self) -> bool:
        """Tried, and nothing wrong."""
        return self.skipped is None and not self.findings


@dataclass
class _Seen:
    """One run on this rank."""

    output: Array | None
    status: str
    """"done", "refused" or what was raised."""
    input_changed: bool
    guards: str | None

    def said(self, call: Call, wrong: Array | None) -> dict[str, Any]:
        """For the other ranks."""
        raw = b"" if self.output is None else self.output.tobytes()
        return {
            "status": self.status,
            "wrong": 0 if wrong is None else int(wrong.sum()),
            "digest": hashlib.sha256(raw).hexdigest(),
            "input changed": self.input_changed,
            "guards": self.guards,
        }


class Judge:
    """An implementation on trial, on this rank.  All ranks judge the same calls in turn."""

    def __init__(
        self,
        comm: Communicator,
        make: Callable[[], Implementation],
        seed: int = 0,
        timeout: float = 30.0,
        on_hang: Callable[[str], None] | None = None,
    ) -> None:
        self._comm, self._make, self._seed = comm, make, seed
        self._implementation = make()
        self._watchdog = Watchdog(timeout, on_hang)

    def judge(self, call: Call) -> Judgement:
        """The verdict, the same on all ranks.  Collective."""
        reason = unsupported(self._implementation, call)
        if reason is not None:
            return Judgement(call, skipped=reason)
        judgement = Judgement(call, probes=tuple(probes_for(call)))
        for probe in judgement.probes:
            trial = _Trial(self, call, probe)
            if trial.refused:
                return Judgement(call, skipped=trial.refused)
            judgement.findings += trial.findings()
            if trial.broken:
                self._implementation = self._make()  # what has raised may be out of step
                break
        return judgement

    # ---- one run -------------------------------------------------------------------------

    def try_once(self, call: Call, given: Sequence[Array], shift: int = 0) -> _Seen:
        """Make the call on these inputs, ``given`` by rank, in guarded buffers."""
        rank, size = self._comm.rank, self._comm.size
        dtype, mine = dtype_named(call.dtype), given[self._comm.rank]
        x, out = _buffers(call, rank, size, dtype, shift)
        source, target = _views(call, rank, x, out)
        if source is not None:
            source[:] = mine
        status = "done"
        try:
            with self._watchdog.watching(call), np.errstate(all="ignore"):
                called(self._implementation, call, source, target)
        except NotImplementedError as error:
            status = f"refused: {error}"
        except Exception as error:
            status = f"raised {type(error).__name__}: {error}"
        changed = x is not out and source is not None and source.tobytes() != mine.tobytes()
        output = None if target is None else target.copy()
        broken = [each.broken() for each in {id(x): x, id(out): out}.values() if each is not None]
        return _Seen(output, status, changed, next((each for each in broken if each), None))

    def collect(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        """Everybody's records, by rank.  Collective."""
        return self._comm.agreement.collect(
            {"collective": "judge", **record}, (), self._comm.timeout
        )

    def gathered(self, output: Array | None, call: Call) -> list[Array | None]:
        """Everybody's outputs, by rank.  Collective."""
        size, dtype = self._comm.size, dtype_named(call.dtype)
        lengths = [call.output_length(rank, size) for rank in range(size)]
        counts = [0 if each is None else each * dtype.itemsize for each in lengths]
        raw = np.zeros(0, np.uint8) if output is None else output.view(np.uint8)
        whole = self._comm.all_gather(raw, counts=counts)
        ends = [int(end) for end in np.cumsum(counts)]
        return [
            None if length is None else whole[end - count : end].view(dtype)
            for length, end, count in zip(lengths, ends, counts, strict=True)
        ]

    @property
    def seed(self) -> int:
        """That inputs follow from."""
        return self._seed

    @property
    def rank(self) -> int:
        """This one."""
        return self._comm.rank

    @property
    def size(self) -> int:
        """How many there are."""
        return self._comm.size


def _buffers(
    call: Call, rank: int, size: int, dtype: np.dtype[Any], shift: int
) -> tuple[Guarded | None, Guarded | None]:
    """For input and output: the same one where the call is in place."""
    given, got = call.input_length(rank, size), call.output_length(rank, size)
    if call.in_place:
        both = Guarded(max(given, got or 0), dtype, shift)
        return both, both
    holds = call.collective not in ("scatter", "broadcast") or rank == call.root
    return (
        Guarded(given, dtype, shift) if holds else None,
        None if got is None else Guarded(got, dtype, shift),
    )


def _views(
    call: Call, rank: int, x: Guarded | None, out: Guarded | None
) -> tuple[Array | None, Array | None]:
    """What the implementation is given."""
    source = None if x is None else x.array
    target = None if out is None else out.array
    if call.in_place and source is not None:
        if call.collective == "all_gather":
            source = source[rank * call.count : (rank + 1) * call.count]
        if call.collective == "reduce_scatter":
            target = source[: call.count]
        if call.collective == "reduce" and rank != call.root:
            target = None
    return source, target


class _Trial:
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
        self.broken = any(status.startswith("raised") for status in statuses)
        refused = all(status.startswith("refused") for status in statuses)
        self.refused = statuses[0].removeprefix("refused: ") if refused else None

    def _wrong(self, number: int) -> Array | None:
        run, right = self._runs[number], self._truths[number % 2]
        if run.output is None or right is None or run.status != "done":
            return None
        return right.check(run.output)

    def findings(self) -> list[Finding]:
        """All that is wrong.  Collective, where anything is."""
        found = self._of_status() or self._of_values()
        if not found or self._probe == "special":  # NaN by some rule of its own may still differ
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
        groups: dict[str, list[int]] = {}
        for rank, each in enumerate(first):
            groups.setdefault(each["status"], []).append(rank)
        said = "; ".join(f"{_ranks(ranks)}: {status}" for status, ranks in groups.items())
        return [self._finding("finished", said)]

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
                return [self._finding("agreement", _parted([*groups.values()], values))]
        return []

    def _of_repeats(self) -> list[Finding]:
        first, again = self._seen[0], self._seen[2]
        ranks = [r for r in range(len(first)) if first[r]["digest"] != again[r]["digest"]]
        if not ranks:
            return []
        said = "the same inputs give other bits one element further from an aligned address"
        return [self._finding("repeatability", f"{_ranks(ranks)}: {said}, or in another call")]

    def _of_buffers(self) -> list[Finding]:
        found = []
        for run in self._seen:
            changed = [rank for rank, each in enumerate(run) if each["input changed"]]
            if changed:
                said = f"{_ranks(changed)}: the input is not as it was"
                found.append(self._finding("input untouched", said))
            for rank, each in enumerate(run):
                if each["guards"]:
                    said = f"rank {rank}: wrote up to {each['guards']} of a buffer"
                    found.append(self._finding("guards intact", said))
        return found[:2]


def _ranks(ranks: Sequence[int]) -> str:
    from refcoll.words import spans

    return f"rank{'s' if len(ranks) > 1 else ''} {spans(ranks)}"


def _parted(groups: Sequence[Sequence[int]], values: Sequence[Array | None]) -> str:
    """Which ranks have which bits, with one element as an example."""
    one, other = values[groups[0][0]], values[groups[1][0]]
    assert one is not None
    assert other is not None
    width = one.dtype.itemsize
    raw = [np.ascontiguousarray(x).view(np.uint8).reshape(-1, width) for x in (one, other)]
    place = int(np.flatnonzero((raw[0] != raw[1]).any(axis=1))[0])
    said = ", ".join(f"{_ranks(ranks)}: {values[ranks[0]][place]!r}" for ranks in groups[:4])  # type: ignore[index]
    return f"they are not the same bits: element {place} is, on {said}"
