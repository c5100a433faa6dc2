"""What must be called before, for a finding to show again.

A report's command judges a finding's call alone, on an implementation made anew.  Some faults
are not there then: a plan that is kept for another operator, a scratch that a longer vector has
left.  So it is tried: alone, then after one of the calls that came before, those first that are
most like it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields

from refcoll.oracle.calls import Call, calls
from refcoll.oracle.reporting.groups import gist
from refcoll.oracle.verdicts import Finding, Judgement

Anew = Callable[[Sequence[Call]], Sequence[Judgement]]
"""Judges calls in turn, on an implementation that it makes anew."""
MOST = 12
"""Calls before, at most, that are tried."""


def needed(
    finding: Finding, earlier: Sequence[Call], size: int, anew: Anew
) -> tuple[Call, ...] | None:
    """The calls after which it shows: () if alone; None where no one call is enough.

    ``earlier`` are those judged before, in order.  One after which the same verdict comes with
    another diagnosis is taken where there is none better.
    """
    again = reproduced(finding.call, size)
    before = [call for call in dict.fromkeys(reversed(earlier)) if call not in again]
    found: tuple[Call, ...] | None = None
    for some in ((), *((each,) for each in _likely(finding.call, before))):
        said = _said(finding, anew([*some, *again]))
        if gist(finding) in said or (said and not some):
            return some
        found = some if said and found is None else found
    return found


def reproduced(call: Call, size: int) -> list[Call]:
    """What a command line judges that names the call's collective, dtype, operator and count;
    up to the call."""
    op = None if call.op is None else [call.op]
    listed = list(calls(size, [call.collective], [call.dtype], op, [call.count]))
    return listed[: listed.index(call) + 1] if call in listed else [*listed, call]


def _likely(call: Call, before: Sequence[Call]) -> Sequence[Call]:
    """Those that differ in the least; of such the last ones first, as ``before`` has them."""
    return sorted(before, key=lambda other: _distance(call, other))[:MOST]


def _distance(one: Call, other: Call) -> int:
    """In how many respects they differ."""
    return sum(getattr(one, each.name) != getattr(other, each.name) for each in fields(Call))


def _said(finding: Finding, judgements: Sequence[Judgement]) -> set[str]:
    """What is found in that call with that verdict, without numbers."""
    return {
        gist(each)
        for judgement in judgements
        if judgement.call == finding.call
        for each in judgement.findings
        if each.verdict == finding.verdict
    }
