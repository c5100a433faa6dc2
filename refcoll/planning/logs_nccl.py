"""What nccl-tests prints (NVIDIA/nccl-tests, src/common.cu and doc/PERFORMANCE.md).

    # nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) ...
    #  Rank  0 Group  0 Pid   6899 on node-a device  0 [0x1b] NVIDIA H100 80GB HBM3
    #       size     count    type   redop   root     time   algbw   busbw #wrong     time ...
         1048576    262144   float     sum     -1    203.2    5.16    9.68      0    207.2 ...

Size is that of the whole vector in bytes, time in microseconds, first out of place, then in
place.  Older versions have no root, and an error instead of #wrong.  Ranks and nodes are those
of the lines of devices; the collective is that of the program named somewhere before, or the
only one whose ratio of busbw to algbw the last row has.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from refcoll.planning.bus import BUS
from refcoll.planning.logs import Given, Lines, Sample, number
from refcoll.planning.tables import LIBRARY

_COLLECTIVES = {
    "all_reduce": "all_reduce", "all_gather": "all_gather", "reduce_scatter": "reduce_scatter",
    "broadcast": "broadcast", "reduce": "reduce", "gather": "gather", "scatter": "scatter",
    "alltoall": "all_to_all",
}  # fmt: skip
_UNREAD = ("sendrecv", "hypercube", "alltoallv")
_PROGRAM = re.compile(rf"\b({'|'.join((*_COLLECTIVES, *_UNREAD))})_perf")
_DEVICE = re.compile(r"\bRank\s+(\d+)\s.*\bon\s+(\S+)\s+device\b")
_ROOTLESS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast")
"""Whose rows may name no root (broadcast's in old versions)."""
_READ = ", ".join(f"{name}_perf" for name in _COLLECTIVES)
_NEEDED = ("size", "count", "type", "time", "algbw", "busbw")
_WHOLE = "give the whole log, as it was printed"
_ROUNDED = 0.03
"""By how much algbw and size / time may differ, since both are rounded."""


def is_header(line: str) -> bool:
    """Whether a line names the columns."""
    words = _words(line)
    return words[:3] == ["size", "count", "type"] and {*_NEEDED} <= {*words} and "place" not in line


@dataclass
class _Run:
    """A table, and what is known of the run that it is of."""

    hosts: dict[int, str] = field(default_factory=dict)
    collective: str | None = None
    columns: list[str] = field(default_factory=list)
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    """(Line, cells)."""


def samples(log: Lines, given: Given) -> list[Sample]:
    """All rows of all tables in the file."""
    return [
        sample
        for run in _runs(log)
        for place, cells in run.rows
        for sample in _row(log, place, cells, run, given)
    ]


def _runs(log: Lines) -> list[_Run]:
    run = _Run()
    runs = [run]
    for place, line in enumerate(log.lines, 1):
        if "nThread" in line and run.columns:  # another run begins
            run = _Run(collective=run.collective)
            runs.append(run)
        if named := _PROGRAM.search(line):
            run.collective = _COLLECTIVES.get(named[1], named[1])
        if device := _DEVICE.search(line):
            _note(log, place, run, int(device[1]), device[2])
        if is_header(line):
            run.columns = _words(line)
        elif run.columns and (cells := line.split()) and cells[0].isdigit():
            run.rows.append((place, _complete(log, place, run, cells)))
    return runs


def _words(line: str) -> list[str]:
    return [word.lstrip("#") for word in line.replace("#", " #").split() if word != "#"]


def _note(log: Lines, place: int, run: _Run, rank: int, host: str) -> None:
    if rank in run.hosts:
        remedy = "build nccl-tests with MPI=1, or give the log of one run"
        log.refuse(place, f"rank {rank} is there twice: these are runs of their own", remedy)
    run.hosts[rank] = host


def _complete(log: Lines, place: int, run: _Run, cells: list[str]) -> list[str]:
    if len(cells) != len(run.columns):
        said = f"{len(cells)} columns, where the header names {len(run.columns)}"
        log.refuse(place, said, _WHOLE)
    return cells


def _row(log: Lines, place: int, cells: list[str], run: _Run, given: Given) -> list[Sample]:
    """Out of place, then in place."""
    nbytes = int(number(log, place, "size", _first(run, cells)["size"]))
    if nbytes == 0:
        return []  # a vector shorter than its ranks is cut to nothing
    ranks, nodes = _shape(log, place, run, given)
    collective = run.collective or given.collective or _guessed(run, ranks)
    if collective in _UNREAD:
        log.refuse(place, f"{collective}_perf is none that is read", f"use {_READ}")
    if collective is None:
        log.refuse(place, "the collective is not said", "say --collective all_reduce")
    starts = [k for k, name in enumerate(run.columns) if name == "time"]
    return [
        Sample(
            log=log.path.name,
            where=log.place(place), collective=collective, contender=LIBRARY, ranks=ranks,
            nodes=nodes, nbytes=nbytes, in_place=in_place,
            seconds=_seconds(log, place, nbytes, run.columns[start:], cells[start:]),
        )
        for start, in_place in zip(starts, (False, True), strict=False)
    ]  # fmt: skip


def _first(run: _Run, cells: list[str]) -> dict[str, str]:
    """By column; of those that are there twice the first one."""
    return dict(reversed([*zip(run.columns, cells, strict=True)]))


def _seconds(log: Lines, place: int, nbytes: int, columns: list[str], cells: list[str]) -> float:
    """The time, which must fit to what is said of the bandwidth, and of wrong elements."""
    said = dict(reversed([*zip(columns[:4], cells[:4], strict=True)]))
    seconds = number(log, place, "time", said["time"]) * 1e-6
    algbw = number(log, place, "algbw", said["algbw"])
    if not seconds or abs(nbytes / seconds / 1e9 - algbw) > 0.01 + _ROUNDED * algbw:
        problem = f"time={said['time']} us and algbw={algbw} GB/s do not fit to size={nbytes} bytes"
        log.refuse(place, problem, _WHOLE)
    wrong = said.get("wrong", "0")
    if wrong.isdigit() and int(wrong):
        log.refuse(place, f"{wrong} elements are wrong", "find out why before you time it")
    return seconds


def _shape(log: Lines, place: int, run: _Run, given: Given) -> tuple[int, int]:
    ranks = len(run.hosts) or given.ranks
    if not ranks:
        log.refuse(place, "no line says which ranks there are", "say --ranks, and --nodes")
    if given.ranks not in (None, ranks):
        log.refuse(place, f"the log is of {ranks} ranks, not {given.ranks}", "leave out --ranks")
    return ranks, given.nodes or len({*run.hosts.values()}) or 1


def _guessed(run: _Run, ranks: int) -> str | None:
    """The collective whose ratio of busbw to algbw the last row has, where that can be told."""
    cells = _first(run, run.rows[-1][1])
    algbw, busbw = float(cells["algbw"]), float(cells["busbw"])
    merges = cells.get("redop", "none") != "none"
    if algbw < 1 or cells.get("root", "-1") != "-1":
        return None
    fitting = [
        name for name in _ROOTLESS
        if abs(busbw / algbw - BUS[name](ranks)) < _ROUNDED * BUS[name](ranks)
        and merges == (name in ("all_reduce", "reduce_scatter"))
    ]  # fmt: skip
    return fitting[0] if len(fitting) == 1 else None
