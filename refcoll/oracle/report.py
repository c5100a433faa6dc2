"""What came of judging, in total: the verdict, counts, and what was found, by diagnosis."""

from __future__ import annotations

import os
import platform
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

from refcoll.oracle.calls import COLLECTIVES, Call
from refcoll.oracle.judging import VERDICTS, Finding, Judgement
from refcoll.oracle.monitoring import Traffic
from refcoll.oracle.xfails import Xfails

OUTCOMES = ("right", "failed", "declared", "unsupported")
"""Of a call: nothing wrong; something is; only what was declared; not tried."""
_STEERING = ("MPIR_CVAR_", "OMPI_MCA_coll_")
"""How variables begin with which a library's algorithms are chosen."""


@dataclass(frozen=True)
class Setting:
    """What was judged, and where."""

    implementation: str
    """As on the command line."""
    name: str
    """As it calls itself."""
    size: int
    launched: bool
    """By mpirun; else the ranks are threads."""
    seed: int = 0
    options: Sequence[str] = ()
    """Others that the command line needs for the same implementation."""

    def command(self, *options: str) -> str:
        """A command line that judges it again, in the same way."""
        chosen = [
            f"{key}={shlex.quote(value)}"
            for key, value in sorted(os.environ.items())
            if key.startswith(_STEERING)
        ]
        ranks = ["-n", str(self.size)]
        words = [*chosen, *(["mpirun", *ranks] if self.launched else [])]
        words += ["refcoll", "judge", shlex.quote(self.implementation), *self.options]
        return " ".join([*words, *([] if self.launched else ranks), *options])

    def environment(self) -> dict[str, str]:
        """Versions and the like, for whoever reads the report elsewhere."""
        found = {
            "implementation": self.name,
            "ranks": f"{self.size} {'processes' if self.launched else 'threads of one process'}",
            "platform": platform.platform(),
            "processor": platform.machine(),
            "python": platform.python_version(),
        }
        for package in ("refcoll", "numpy", "mpi4py", "torch"):
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                continue
        return found


@dataclass
class Group:
    """Findings that differ in numbers only."""

    findings: list[Finding]

    @property
    def smallest(self) -> Finding:
        """The one to show."""
        return min(self.findings, key=lambda each: (each.call.count, str(each.call)))

    @property
    def calls(self) -> list[Call]:
        """In which this was found, each once."""
        return list(dict.fromkeys(each.call for each in self.findings))

    def others(self) -> str:
        """How many calls more show it, and in which collectives, operators and dtypes."""
        calls = self.calls
        if len(calls) == 1:
            return ""
        kinds = (
            [each for each in COLLECTIVES if any(call.collective == each for call in calls)],
            sorted({call.op for call in calls if call.op}),
            sorted({call.dtype for call in calls}),
        )
        return f"{len(calls) - 1} calls more like it: {'; '.join(', '.join(kind) for kind in kinds if kind)}"


@dataclass
class Report:
    """Grows while calls are judged."""

    setting: Setting
    xfails: Xfails = field(default_factory=Xfails)
    judgements: list[Judgement] = field(default_factory=list)
    traffic: Traffic | None = None
    """What the library's own counters say of one all_reduce."""

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
        """Nothing is wrong but what was declared, and something was tried."""
        outcomes = self.outcomes()
        return not outcomes["failed"] and bool(outcomes["right"] + outcomes["declared"])

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
        where = f"on {self.setting.size} ranks of {self.setting.name}"
        if of["failed"]:
            first = self.groups()[0].smallest
            return f"FAILS: {of['failed']} of {tried} calls {where}: {first}"
        if not tried:
            return f"FAILS: nothing could be tried {where}: {self._reason()}"
        declared = f", {of['declared']} fail as declared" if of["declared"] else ""
        missing = f", {of['unsupported']} not supported" if of["unsupported"] else ""
        return f"holds: {of['right']} calls right{declared}{missing}, {where}"

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
        """What is wrong, the most frequent first; or what was declared to be."""
        found: dict[str, list[Finding]] = {}
        for judgement in self.judgements:
            for each in judgement.findings:
                if (self.xfails.reason(each) is not None) == declared:
                    found.setdefault(_gist(each), []).append(each)
        return sorted(map(Group, found.values()), key=lambda group: -len(group.calls))

    def reproducer(self, finding: Finding) -> str:
        """A command line that shows it."""
        call = finding.call
        op = ["--op", call.op] if call.op else []
        return self.setting.command(
            "-c", call.collective, "--dtype", call.dtype, *op, "--count", str(call.count),
            "--seed", str(finding.seed),
        )  # fmt: skip


def _gist(finding: Finding) -> str:
    """The finding without its numbers: which ranks, which elements, which values."""
    if _BY_ORDER in finding.diagnosis:
        return f"{finding.verdict} {_BY_ORDER}"  # of each rank's operands, differently on each
    parts = re.split(r"; ", finding.diagnosis)
    bare = {re.sub(r"^(on )?(all ranks|ranks? [-\d, ]+): ", "", part) for part in parts}
    return " ".join([finding.verdict, *sorted({_without_numbers(each) for each in bare})])


_BY_ORDER = "depends on the order of operands"
_EACH = ((r" \(chunks? [^)]*\)|np\.\w+\([^)]*\)+", ""), (r"(?<![a-z])-?\d[\d.e+-]*", "#"),
         (r"#(, (#|\.\.\.))+", "#"), (r"\b(element|rank|chunk|block)s\b", r"\1"),
         (r"\b(all # element|the one element)\b", "element #"))  # fmt: skip


def _without_numbers(text: str) -> str:
    for pattern, instead in _EACH:
        text = re.sub(pattern, instead, text)
    return text
