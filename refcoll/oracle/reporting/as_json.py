"""The report for programs: keys are documented in docs/json.md."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from refcoll.oracle.reporting.groups import Group
from refcoll.oracle.reporting.report import Report
from refcoll.oracle.reporting.summary import counts
from refcoll.oracle.verdicts import Finding, Judgement


def as_json(report: Report) -> dict[str, Any]:
    """Everything that is in the report."""
    return {
        "holds": report.holds,
        "verdict": report.verdict,
        "stopped": report.stopped,
        "cut": report.cut,
        "onset": report.onset,
        "command": report.setting.command_typed(),
        "environment": report.setting.environment(),
        "ranks": report.setting.size,
        "seed": report.setting.seed,
        "counts": counts(report),
        "verdicts": report.verdicts(),
        "groups": [_group(report, each) for each in report.groups()],
        "declared": [_group(report, each) for each in report.groups(declared=True)],
        "xpass": [str(each) for each in report.xfails.unneeded(report.judgements)],
        "bytes": None if report.traffic is None else report.traffic.as_json(),
        "calls": [_call(report, each) for each in report.judgements],
    }


def _group(report: Report, group: Group) -> dict[str, Any]:
    simplest = group.simplest
    return {
        **_finding(simplest),
        "call": str(simplest.call),
        "more": len(group.calls) - 1,
        "besides": sorted(group.besides),
        "after": _after(report, simplest),
        "reproducer": report.reproducer(simplest),
    }


def _after(report: Report, finding: Finding) -> list[str] | None:
    needs = report.needs.get(finding, ())
    return None if needs is None else [str(each) for each in needs]


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "verdict": finding.verdict, "diagnosis": finding.diagnosis, "inputs": finding.probe,
        "seed": finding.seed,
        "standing": [{"status": each.status, "stack": each.stack} for each in finding.standing],
    }  # fmt: skip


def _call(report: Report, judgement: Judgement) -> dict[str, Any]:
    return {
        **asdict(judgement.call),
        "outcome": report.outcome(judgement),
        "unsupported": judgement.skipped,
        "inputs": list(judgement.probes),
        "findings": [
            {**_finding(each), "declared": report.xfails.reason(each)}
            for each in judgement.findings
        ],
    }
