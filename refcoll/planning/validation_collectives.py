"""Times of collectives: the model without its measured tables, beside those tables.

Rows of "NAME, another run" are of the same kind of machine, measured by the same author at
another time, with another version of the library; no preset has seen them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refcoll.planning.machine import Machine
from refcoll.planning.predicting import Prediction, planner
from refcoll.planning.presets import preset, seconds
from refcoll.planning.published import Row
from refcoll.planning.validation_rows import FITTED, PREDICTED, Compared

_FITTED = 1 << 34
"""Bytes of the rows that gave a preset what long messages reach of the wire's rate."""
_CLASSES = ((1 << 20, "below 1 MiB"), (1 << 26, "1 to 64 MiB"), (1 << 30, "64 MiB to 1 GiB"))
DECLINE = (4, 8, 16, 32, 64, 128, 256, 512)
"""Nodes of a published plot, whose figures are not told (arXiv:2411.13055; 64 MiB, 8 H100 each)."""


def collectives(rows: Sequence[Row]) -> Iterator[Compared]:
    """Every row by the algorithm that it names, or "NCCL": the fastest of that library's."""
    for row in rows:
        assert row.bytes is not None
        found = _predicted(row, row.bytes)
        again = _again(row)
        fitted = row.bytes == _FITTED and not again
        yield Compared(
            row=row, use=FITTED if fitted else PREDICTED, measured=seconds(row), unit="s",
            predicted=found.seconds, how=found.title, group=f"all-reduce, {size_class(row.bytes)}",
        )  # fmt: skip


def _machine(row: Row) -> Machine:
    """The preset, which has not seen the row's table."""
    return preset(row.machine.partition(",")[0]).shaped(nodes=row.nodes, tables=())


def _again(row: Row) -> bool:
    return "," in row.machine


def _predicted(row: Row, nbytes: int) -> Prediction:
    return planner(_machine(row), row.subject).of(row.algorithm, nbytes)


def size_class(nbytes: int) -> str:
    """Sizes whose errors are summed up together, as in "1 to 64 MiB"."""
    return next((title for end, title in _CLASSES if nbytes < end), "1 GiB and more")


@dataclass(frozen=True)
class Ratio:
    """How many times as long, or as fast, one thing is as another."""

    title: str
    nbytes: int
    measured: float
    predicted: float


def ratios(told: Sequence[Compared]) -> Iterator[Ratio]:
    """What a table shows when two of its rows are compared."""
    at = {(each.row.machine, each.row.ranks, each.row.algorithm, each.row.bytes): each
          for each in told if each.row.subject == "all_reduce"}  # fmt: skip
    for nbytes in (1 << 20, 1 << 24, 1 << 26, 1 << 30, 1 << 34):
        four, one = (at["b200-node", ranks, "NCCL", nbytes] for ranks in (32, 8))
        yield _ratio("4 nodes of 8 B200 take longer than one", nbytes, four, one)
    ring, sharp = (at["h200-node", 8, name, 1 << 33] for name in ("ring", "in_network"))
    yield _ratio("NVLink SHARP is faster than the ring on 8 H200", 1 << 33, ring, sharp)


def _ratio(title: str, nbytes: int, above: Compared, below: Compared) -> Ratio:
    assert above.predicted is not None
    assert below.predicted is not None
    return Ratio(title, nbytes, above.measured / below.measured, above.predicted / below.predicted)


@dataclass(frozen=True)
class Again:
    """Two measurements of one size on machines of one kind.  Seconds."""

    machine: str
    ranks: int
    nbytes: int
    first: float
    second: float


def repeated(told: Sequence[Compared]) -> Iterator[Again]:
    """How far measurements are from each other: no model can be nearer to both."""
    rows = [each.row for each in told if each.row.subject == "all_reduce"]
    firsts = {(row.machine, row.ranks, row.bytes): seconds(row)
              for row in rows if row.algorithm == "NCCL"}  # fmt: skip
    for row in filter(_again, rows):
        name = row.machine.partition(",")[0]
        first = firsts.get((name, row.ranks, row.bytes))
        if first is not None and row.bytes is not None and row.ranks is not None:
            yield Again(name, row.ranks, row.bytes, first, seconds(row))


def decline(nbytes: int = 1 << 26) -> Iterator[tuple[int, float, float]]:
    """(Nodes, busbw of NCCL's algorithms, busbw of the ring alone), bytes per second."""
    for nodes in DECLINE:
        plans = planner(preset("h100-node").shaped(nodes=nodes, tables=()), "all_reduce")
        chosen, ring = (plans.of(name, nbytes).busbw for name in ("NCCL", "ring"))
        assert chosen is not None
        assert ring is not None
        yield nodes, chosen, ring
