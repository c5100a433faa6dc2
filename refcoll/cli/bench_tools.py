"""refcoll bench --tools: how long checking, counting and simulating take on many ranks."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from refcoll.cli.output import console, table, write_json
from refcoll.interpreters.check import check
from refcoll.interpreters.count import count
from refcoll.interpreters.simulate import simulate
from refcoll.registry import program

_TOOLS = (
    ("all_reduce", "ring", 8),
    ("all_reduce", "ring", 64),
    ("all_reduce", "ring", 1024),
    ("all_reduce", "ring", 4096),
    ("all_gather", "bruck", 4096),
    ("all_reduce", "recursive_doubling", 4096),
    ("all_reduce", "rabenseifner", 1024),
    ("all_reduce", "double_binary_tree", 1024),
    ("all_reduce", "double_binary_tree", 4096),
)
_HEADER = (
    "collective", "algorithm", "ranks", "rank-steps", "check s", "count s", "simulate s",
    "M rank-steps/s checked", "simulated", "peak MB",
)  # fmt: skip


@dataclass(frozen=True)
class Tools:
    """What the interpreters took for one program, in a process of its own."""

    collective: str
    algorithm: str
    ranks: int
    rank_steps: int
    """Steps with a message, over all ranks."""
    check_seconds: float
    count_seconds: float
    simulate_seconds: float
    """float32, one element a chunk; every result is compared with numpy's sum."""
    peak_megabytes: float
    """Of the whole process."""


def bench_tools(json: Path | None) -> None:
    """Time the interpreters, each program in a process of its own."""
    fresh = ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1)
    rows: list[Tools] = []
    with fresh:
        for done in (fresh.submit(timed, *each) for each in _TOOLS):
            rows.append(done.result())
            print(f"bench: {rows[-1].algorithm} on {rows[-1].ranks} ranks", file=sys.stderr)
    imports = {name: _import_seconds(name) for name in ("numpy", "refcoll")}
    if str(json) != "-":
        console().print(table("Tools", _HEADER, [_cells(row) for row in rows]))
        ratio = imports["refcoll"] / imports["numpy"]
        print(
            f"\nimport refcoll takes {ratio:.2f} x import numpy (goal: 1.30), a fresh Python each"
        )
    write_json(json, {"tools": [asdict(row) for row in rows], "import_seconds": imports})


def _cells(row: Tools) -> list[str]:
    rates = (row.rank_steps / each / 1e6 for each in (row.check_seconds, row.simulate_seconds))
    return [
        row.collective, row.algorithm, str(row.ranks), str(row.rank_steps),
        f"{row.check_seconds:.3f}", f"{row.count_seconds:.3f}", f"{row.simulate_seconds:.3f}",
        *(f"{rate:.2f}" for rate in rates), f"{row.peak_megabytes:.0f}",
    ]  # fmt: skip


def timed(collective: str, name: str, size: int) -> Tools:
    """One row.  Raises RuntimeError where a result of the simulation is not numpy's."""
    made = program(collective, name, size)
    started = time.perf_counter()
    check(made).raise_for_failures()
    checked = time.perf_counter()
    counts = count(made, made.chunks)
    counted = time.perf_counter()
    inputs = [np.arange(made.chunks, dtype=np.float32) % 7 + rank % 5 for rank in range(size)]
    begun = time.perf_counter()
    results = simulate(made, inputs)
    simulated = time.perf_counter()
    wanted = np.sum(inputs, axis=0) if made.collective.reduces else np.diag(np.array(inputs))
    if not all(np.array_equal(each, wanted) for each in results):
        raise RuntimeError(f"{made.title} was simulated wrongly")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kilobytes
    return Tools(
        collective,
        name,
        size,
        sum(rank.steps for rank in counts.ranks),
        checked - started,
        counted - checked,
        simulated - begun,
        peak * unit / 1e6,
    )


def _import_seconds(name: str, often: int = 11) -> float:
    """The median time of a Python that imports it and nothing else."""
    taken = []
    for _ in range(often):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", f"import {name}"], check=True)
        taken.append(time.perf_counter() - started)
    return sorted(taken)[often // 2]
