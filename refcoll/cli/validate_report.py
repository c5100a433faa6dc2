"""What validate has found, for people and for machines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from refcoll.cli.output import console, table
from refcoll.cli.validate_words import GROUPS, HELD_OUT, ROWS, group_row, held_out_row, row_cells
from refcoll.planning.validation_report import Validation
from refcoll.planning.validation_rows import Compared


def report(made: Validation, every: bool) -> None:
    """The verdict; errors by group, or row by row; errors of measured tables."""
    print(made.verdict)
    if every:
        print()
        console().print(table(None, ROWS, [row_cells(each) for each in made.rows]))
        return
    print("\nThe model, without measured tables, on figures that it has not seen")
    console().print(table(None, GROUPS, [group_row(each) for each in made.groups]))
    print("\nMeasured tables: points told by the rest of their table")
    rows = [held_out_row(name, each) for name, each in made.held_out]
    console().print(table(None, HELD_OUT, rows))
    print(_LEGEND)


_LEGEND = """
error   (predicted - measured) / measured; median: of the errors' sizes
fitted  a constant came from the figure; input: predictions are made of it; chosen: inputs
        were, so that it comes out; beyond: the model cannot speak of it. --rows says why"""


def content(made: Validation) -> dict[str, Any]:
    """The same with all its digits; keys in docs/json.md."""
    return {
        "verdict": made.verdict,
        "rows": [_row(each) for each in made.rows],
        "groups": [
            {"title": each.title, "count": len(each.rows), "median": each.median,
             "bias": each.bias, "worst": each.worst.error}
            for each in made.groups
        ],
        "held_out": [
            {"machine": name, "ranks": each.table.ranks, "method": each.method,
             "count": len(each.points), "median": each.median, "worst_bytes": each.worst[0],
             "worst": each.worst[1]}
            for name, each in made.held_out
        ],
        "ratios": [asdict(each) for each in made.ratios],
        "repeated": [asdict(each) for each in made.repeated],
        "decline": [
            {"nodes": nodes, "busbw": chosen / 1e9, "busbw_of_ring": ring / 1e9}
            for nodes, chosen, ring in made.decline
        ],
    }  # fmt: skip


def _row(each: Compared) -> dict[str, Any]:
    told = each.predicted is not None
    return {
        **asdict(each.row), "use": each.use, "how": each.how, "group": each.group,
        "measured": each.measured, "measured_unit": each.unit, "predicted": each.predicted,
        "error": each.error if told else None,
    }  # fmt: skip
