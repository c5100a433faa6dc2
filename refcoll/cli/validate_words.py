"""How figures and errors of validate are said, in tables of either kind."""

from __future__ import annotations

from refcoll.cli.units import said_bytes
from refcoll.planning.held_out import HeldOut
from refcoll.planning.machine import counted
from refcoll.planning.validation import Group
from refcoll.planning.validation_rows import Compared
from refcoll.words import said_seconds

ROWS = ("figure", "measured", "predicted", "error", "use", "how", "source")
GROUPS = ("predicted", "rows", "median", "with sign", "worst", "where")
HELD_OUT = ("table", "method", "points", "median", "worst", "at")


def row_cells(each: Compared) -> list[str]:
    """A published figure."""
    return [_figure(each), *told_cells(each), each.use, each.how, each.row.source]


def told_cells(each: Compared) -> list[str]:
    """Measured, predicted, error."""
    measured = f"{_value(each, each.measured)} {_unit(each)}".strip()
    if each.predicted is None:
        return [measured, "-", "-"]
    return [measured, _value(each, each.predicted), said_error(each.error)]


def said_error(error: float) -> str:
    """As in "-52.5%"."""
    return f"{error:+.1%}"


def said_group(group: Group) -> str:
    """In one line, to stand beside a prediction."""
    return (
        f"error of presets on {len(group.rows)} published figures of {group.title}: median "
        f"{group.median:.1%}, worst {said_error(group.worst.error)}; see refcoll validate"
    )


def _value(each: Compared, value: float) -> str:
    if each.unit == "s":
        return said_seconds(value)
    if each.unit == "B/s":
        return f"{said_bytes(value)}/s"
    if each.row.quantity == "slowdown":
        return f"{value:.1%}"
    return f"{value:,.0f}" if 1000 <= value < 1e6 else f"{value:.4g}"


def _unit(each: Compared) -> str:
    return "" if each.unit in ("s", "B/s") else each.unit


def _figure(each: Compared) -> str:
    row = each.row
    told = row.subject in ("machine", "all_reduce")
    parts = (
        row.quantity if row.subject == "machine" else row.subject,
        row.machine,
        counted(row.ranks, "rank") if row.ranks else "",
        "" if row.algorithm == "NCCL" else row.algorithm,
        said_size(row.bytes) if row.bytes else "",
        "" if told else row.note,
    )
    return ", ".join(part for part in parts if part)


def group_row(each: Group) -> list[str]:
    """The errors of a group."""
    row = each.worst.row
    size = said_size(row.bytes) if row.bytes else counted(row.ranks or 0, "rank")
    return [
        each.title, str(len(each.rows)), f"{each.median:.1%}", said_error(each.bias),
        said_error(each.worst.error), f"{row.machine}, {size}" if row.machine else size,
    ]  # fmt: skip


def held_out_row(machine: str, each: HeldOut) -> list[str]:
    """The errors of a method on a table."""
    nbytes, worst = each.worst
    return [
        f"{machine}, {each.table.ranks} ranks", each.method, str(len(each.points)),
        f"{each.median:.1%}", said_error(worst), said_size(nbytes),
    ]  # fmt: skip


def said_size(nbytes: int) -> str:
    """As in "64 MiB", where it is whole; else in MB.

    >>> said_size(1 << 26), said_size(10**6)
    ('64 MiB', '1 MB')
    """
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes % size == 0:
            return f"{nbytes // size} {unit}"
    return f"{nbytes / 1e6:g} MB"
