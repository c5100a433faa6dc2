"""refcoll bench --tools: how long checking, counting and simulating take on many ranks."""

from __future__ import annotations

import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

from refcoll.cli.output import console, table, write_json
from refcoll.interpreters.check import check
from refcoll.interpreters.count import count
from refcoll.registry import program

_TOOLS = (
    ("all_reduce", "ring", 256),
    ("all_reduce", "ring", 512),
    ("all_reduce", "ring", 1024),
    ("all_reduce", "recursive_doubling", 1024),
    ("all_reduce", "rabenseifner", 1024),
    ("all_reduce", "double_binary_tree", 1024),
    ("all_reduce", "double_binary_tree", 4096),
)
_HEADER = ("algorithm", "ranks", "chunk moves", "check s", "count s", "peak MB")


@dataclass(frozen=True)
class Tools:
    """What checking and counting one program took, in a process of its own."""

    algorithm: str
    ranks: int
    chunk_moves: int
    """Chunks named by all messages, each once."""
    check_seconds: float
    count_seconds: float
    """After the check, which has laid the program out in arrays."""
    peak_megabytes: float
    """Of the whole process."""


def bench_tools(json: Path | None) -> None:
    """Time the interpreters, each program in a process of its own."""
    fresh = ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1)
    rows: list[Tools] = []
    with fresh:
        for done in (fresh.submit(_timed, *each) for each in _TOOLS):
            rows.append(done.result())
            print(f"bench: {rows[-1].algorithm} on {rows[-1].ranks} ranks", file=sys.stderr)
    if str(json) != "-":
        cells = [
            [row.algorithm, str(row.ranks), str(row.chunk_moves), f"{row.check_seconds:.2f}",
             f"{row.count_seconds:.2f}", f"{row.peak_megabytes:.0f}"]
            for row in rows
        ]  # fmt: skip
        console().print(table("Tools", _HEADER, cells))
    write_json(json, {"tools": [asdict(row) for row in rows]})


def _timed(collective: str, name: str, size: int) -> Tools:
    made = program(collective, name, size)
    started = time.perf_counter()
    check(made).raise_for_failures()
    checked = time.perf_counter()
    counts = count(made, made.chunks)  # one element a chunk: elements are chunk moves
    counted = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kilobytes
    return Tools(
        name,
        size,
        sum(rank.sent for rank in counts.ranks),
        checked - started,
        counted - checked,
        peak * unit / 1e6,
    )
