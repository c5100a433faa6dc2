"""Findings that differ only in numbers, dtypes or ranks are told once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from refcoll.oracle.calls import COLLECTIVES, Call
from refcoll.oracle.judging import Finding


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
        said = "; ".join(", ".join(kind) for kind in kinds if kind)
        return f"{len(calls) - 1} calls more like it: {said}"


def grouped(findings: Iterable[Finding]) -> list[Group]:
    """Those that are alike together, what most calls show first."""
    found: dict[str, list[Finding]] = {}
    for each in findings:
        found.setdefault(_gist(each), []).append(each)
    return sorted(map(Group, found.values()), key=lambda group: -len(group.calls))


def _gist(finding: Finding) -> str:
    """The finding without its numbers: which ranks, which elements, which values."""
    if _BY_ORDER in finding.diagnosis:
        return f"{finding.verdict} {_BY_ORDER}"  # of each rank's operands, differently on each
    parts = re.split(r"; ", finding.diagnosis)
    bare = {re.sub(r"^(on )?(all ranks|ranks? [-\d, ]+): ", "", part) for part in parts}
    return " ".join([finding.verdict, *sorted({_without_numbers(each) for each in bare})])


_BY_ORDER = "depends on the order of operands"
_ALIKE = (
    (r"\b(u?)(int|float|complex)\d+\b", r"\1\2"),
    (r" \(chunks? [^)]*\)|np\.\w+\([^)]*\)+", ""),
    (r"(?<![a-z])-?\d[\d.e+-]*", "#"),
    (r"#(, (#|\.\.\.))+", "#"),
    (r"\b(element|rank|chunk|block)s\b", r"\1"),
    (r"\b(all # element|the one element)\b", "element #"),
)
"""Patterns, and what stands for all that they match."""


def _without_numbers(text: str) -> str:
    for pattern, instead in _ALIKE:
        text = re.sub(pattern, instead, text)
    return text
