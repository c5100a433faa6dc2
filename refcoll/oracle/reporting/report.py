"""What came of judging, in total: the verdict, counts, and what was found, by diagnosis."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from refcoll.oracle.calls import Call
from refcoll.oracle.monitoring import Traffic
from refcoll.oracle.reporting.groups import Group, grouped
from refcoll.oracle.reporting.setting import Setting
from refcoll.oracle.verdicts import VERDICTS, Finding, Judgement
from refcoll.oracle.xfails import Xfails
from refcoll.words import counted

OUTCOMES = ("right", "failed", "declared", "unsupported")
"""Of a call: nothing wrong; something is; only what was declared; not tried."""


_WAYS, _NEARLY = 5, 0.8
"""In so many ways, and of calls such a share, that one fault is likelier than several."""


@dataclass
class Report:
    """Grows while calls are judged."""

    setting: Setting
    xfails: Xfails = field(default_factory=Xfails)
    judgements: list[Judgement] = field(default_factory=list)
    traffic: Traffic | None = None
    """What the library's own counters say of one all_reduce."""
    asked: int | None = None
    """How many calls were to be judged, where that is known."""
    cut: str | None = None
    """That not all findings were tried again, and why."""
    needs: dict[Finding, tuple[Call, ...] | None] = field(default_factory=dict)
    """Of findings that were tried again: the calls after which they show; () where they show
    alone, None where no one call before is enough."""

    def elsewhere(self) -> Report:
        """The same, for another process to tell."""
        known = self.setting.environment()
        return replace(self, setting=replace(self.setting, known=known))

    def unexpected(self, judgement: Judgement) -> list[Finding]:
        """What is wrong and not declared."""
        return [each for each in judgement.findings if self.xfails.reason(each) is None]

    def outcome(self, judgement: Judgement) -> str:
        """One of ``OUTCOMES``."""
        if judgement.skipped is not None:
            return "unsupported"
        if not judgement.findings:
            return "right"
        return "failed" if self.unexpected(judgement) else "declared"

    @property
    def holds(self) -> bool:
        """Nothing is wrong but what was declared, something was tried, and nothing left out."""
        outcomes = self.outcomes()
        tried = bool(outcomes["right"] + outcomes["declared"])
        return tried and not outcomes["failed"] and self.stopped is None

    @property
    def stopped(self) -> str | None:
        """That the run ended before its time; None where it did not."""
        done = len(self.judgements)
        if self.asked is None or done >= self.asked:
            return None
        return f"stopped after {done} of {counted(self.asked, 'call')}; the rest was not judged"

    def outcomes(self, collective: str | None = None) -> Counter[str]:
        """How many calls, by outcome."""
        return Counter(
            self.outcome(each)
            for each in self.judgements
            if collective in (None, each.call.collective)
        )

    @property
    def verdict(self) -> str:
        """In a line."""
        of = self.outcomes()
        tried = of["right"] + of["failed"] + of["declared"]
        where = f"on {counted(self.setting.size, 'rank')} of {self.setting.name}"
        if of["failed"]:
            first = self.groups()[0].simplest
            return f"FAILS: {of['failed']} of {counted(tried, 'call')} {where}: {first}"
        if not tried:
            return f"FAILS: nothing could be tried {where}: {self._reason()}"
        declared = f", {of['declared']} failing as declared" if of["declared"] else ""
        missing = f", {of['unsupported']} not supported" if of["unsupported"] else ""
        if self.stopped is not None:
            return f"FAILS: {self.stopped}{declared}{missing}, {where}"
        return f"holds: {counted(of['right'], 'call')} right{declared}{missing}, {where}"

    def _reason(self) -> str:
        return next((each.skipped for each in self.judgements if each.skipped), "no calls")

    def verdicts(self) -> dict[str, int]:
        """How many calls fail in each of ``VERDICTS``, declared or not."""
        found = dict.fromkeys(VERDICTS, 0)
        for each in self.judgements:
            for verdict in {finding.verdict for finding in each.findings}:
                found[verdict] += 1
        return found

    def groups(self, declared: bool = False) -> list[Group]:
        """What is wrong, or was declared to be: first what ended the run, then the most
        frequent."""
        return grouped(
            each
            for judgement in self.judgements
            for each in judgement.findings
            if (self.xfails.reason(each) is not None) == declared
        )

    @property
    def onset(self) -> str | None:
        """That nearly all is wrong from some call on, in many ways, and where that begins."""
        tried = [each for each in self.judgements if each.skipped is None]
        wrong = [bool(self.unexpected(each)) for each in tried]
        ways = len(self.groups())
        if ways < _WAYS or sum(wrong) < _NEARLY * len(wrong[wrong.index(True) :]):
            return None
        first = self.unexpected(tried[wrong.index(True)])[0]
        before = f", and none of the {wrong.index(True)} before" if wrong.index(True) else ""
        return (
            f"{sum(wrong)} of {counted(len(wrong) - wrong.index(True), 'call')} are wrong, in "
            f"{ways} ways{before}: that may be one fault, which goes on from call to call; it "
            f"begins with {first.call}: {self.setting.command_cut(self.number(first))}"
        )

    def number(self, finding: Finding) -> int:
        """Of the call in which it was found, counted from 1."""
        return next(n for n, each in enumerate(self.judgements, 1) if finding in each.findings)

    def needed(self, finding: Finding) -> str | None:
        """What must come before, in words; None where that is nothing, as far as is known."""
        needs = self.needs.get(finding, ())
        if needs is None:
            return "not alone; after all calls up to it:"
        return f"not alone; after {', '.join(map(str, needs))}:" if needs else None

    def reproducer(self, finding: Finding) -> str:
        """A command line that shows it."""
        call, needs = finding.call, self.needs.get(finding, ())
        if needs is None:
            return self.setting.command_cut(self.number(finding))
        after = [word for each in needs for word in ("--after", str(each))]
        op = ["--op", call.op] if call.op else []
        return self.setting.command(
            "-c", call.collective, "--dtype", call.dtype, *op, "--count", str(call.count),
            "--seed", str(finding.seed), *after,
        )  # fmt: skip
