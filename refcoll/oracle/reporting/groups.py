"""Findings that differ only in numbers, dtypes or ranks are told once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from refcoll.oracle.calls import COLLECTIVES, CONTIGUOUS, Call
from refcoll.oracle.probes import PROBES
from refcoll.oracle.verdicts import ANY, Finding
from refcoll.words import counted

_MAIN = ("float32", "int32", "float64")
"""Dtypes that everybody has in mind first."""


@dataclass
class Group:
    """Findings that differ in numbers only."""

    findings: list[Finding]
    besides: frozenset[str] = frozenset()
    """Other inputs of which the same calls are wrong, for no other reason as far as is known."""

    @property
    def simplest(self) -> Finding:
        """The one to show."""
        return min(self.findings, key=_complexity)

    @property
    def hangs(self) -> bool:
        """Whether a call has not returned."""
        return any(each.standing for each in self.findings)

    @property
    def ends(self) -> bool:
        """Whether a call has not returned, or has crashed: the last one of a run."""
        return any(each.probe == ANY for each in self.findings)

    @property
    def calls(self) -> list[Call]:
        """In which this was found, each once."""
        return list(dict.fromkeys(each.call for each in self.findings))

    def others(self) -> str:
        """How many calls more show it, in which collectives, operators and dtypes, and with
        which other inputs."""
        return "; ".join(self._others())

    def _others(self) -> Iterator[str]:
        calls = self.calls
        if len(calls) > 1:
            kinds = (
                [each for each in COLLECTIVES if any(call.collective == each for call in calls)],
                sorted({call.op for call in calls if call.op}),
                sorted({call.dtype for call in calls}),
            )
            said = "; ".join(", ".join(kind) for kind in kinds if kind)
            yield f"{counted(len(calls) - 1, 'call')} more like it: {said}"
        if self.besides:
            inputs = ", ".join(each for each in PROBES if each in self.besides)
            yield f"wrong with {inputs} inputs, too"


def _complexity(finding: Finding) -> tuple[object, ...]:
    """Sums come first, of arrays that lie as usual, short ones, of usual numbers, out of place."""
    call = finding.call
    dtype = _MAIN.index(call.dtype) if call.dtype in _MAIN else len(_MAIN)
    return (
        call.op not in ("sum", None),
        call.layout != CONTIGUOUS,
        PROBES.index(finding.probe) if finding.probe in PROBES else 0,
        call.count,
        dtype,
        call.in_place,
        str(call),
    )


def grouped(findings: Iterable[Finding]) -> list[Group]:
    """Those that are alike together: first what ended the run, then what most calls show.

    A call that is wrong on coded inputs, which say most, is told by these alone.
    """
    listed = list(findings)
    coded = {(each.call, each.verdict): each for each in listed if each.probe == PROBES[0]}
    besides: dict[str, set[str]] = {}
    found: dict[str, list[Finding]] = {}
    for each in listed:
        first = coded.get((each.call, each.verdict), each)
        if first.probe == each.probe:
            found.setdefault(gist(each), []).append(each)
        else:
            besides.setdefault(gist(first), set()).add(each.probe)
    groups = [Group(each, frozenset(besides.get(said, ()))) for said, each in found.items()]
    return sorted(groups, key=lambda group: (not group.ends, -len(group.calls)))


def gist(finding: Finding) -> str:
    """The finding without its numbers: which ranks, which elements, which values."""
    if _BY_ORDER in finding.diagnosis:
        return f"{finding.verdict} {_BY_ORDER}"  # of each rank's operands, differently on each
    if re.search(_OF_ANOTHER, finding.diagnosis):
        return f"{finding.verdict} {_OF_ANOTHER}"  # which rank has which is a matter of chance
    parts = re.split(r"; ", finding.diagnosis)
    bare = {re.sub(r"^(on )?(all ranks|ranks? [-\d, ]+): ", "", part) for part in parts}
    return " ".join([finding.verdict, *sorted({_without_numbers(each) for each in bare})])


_OF_ANOTHER = r"of the previous call|what the (previous|\w+ last) call"
_BY_ORDER = "depends on the order of operands"
_ALIKE = (
    (r"(the previous call) of this length", r"\1"),
    (r"(but for its deadline): .*", r"\1"),
    (r"\b(u?)(int|float|complex)\d+\b", r"\1\2"),
    (r" \((chunks?|every) [^)]*\)|np\.\w+\([^)]*\)+", ""),
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
