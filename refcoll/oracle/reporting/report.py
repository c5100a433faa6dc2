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

from refcoll.oracle.judging import VERDICTS, Finding, Judgement
from refcoll.oracle.monitoring import Traffic
from refcoll.oracle.reporting.groups import Group, grouped
from refcoll.oracle.xfails import Xfails

OUTCOMES = ("right", "failed", "declared", "unsupported")
"""Of a call: nothing wrong; something is; only what was declared; not tried."""
_STEERING = re.compile(
    r"MPIR_CVAR_\w+_ALGORITHM|MPIR_CVAR_DEVICE_COLLECTIVES|OMPI_MCA_coll_tuned_\w+"
)
"""Variables by which a library's algorithms are chosen."""


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
            if _STEERING.fullmatch(key)
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
        return grouped(
            each
            for judgement in self.judgements
            for each in judgement.findings
            if (self.xfails.reason(each) is not None) == declared
        )

    def reproducer(self, finding: Finding) -> str:
        """A command line that shows it."""
        call = finding.call
        op = ["--op", call.op] if call.op else []
        return self.setting.command(
            "-c", call.collective, "--dtype", call.dtype, *op, "--count", str(call.count),
            "--seed", str(finding.seed),
        )  # fmt: skip
