"""Which kind of log a file is, and all its times.

nccl-tests       all_reduce_perf and its kin        logs_nccl
OSU              osu_allreduce, osu_latency, ...    logs_osu
refcoll bench    its --json, or its tables          logs_bench
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from refcoll.errors import ArgumentError
from refcoll.planning import logs_bench, logs_nccl, logs_osu
from refcoll.planning.logs import Given, Lines, Sample

Kind: TypeAlias = tuple[Callable[[str], bool], Callable[[Lines, Given], list[Sample]]]
"""What tells its header, and what reads it."""
KINDS: Mapping[str, Kind] = {
    "nccl-tests": (logs_nccl.is_header, logs_nccl.samples),
    "OSU micro-benchmarks": (logs_osu.is_header, logs_osu.samples),
    "refcoll bench": (logs_bench.is_header, logs_bench.samples),
}


def read_log(path: str | Path, given: Given | None = None) -> list[Sample]:
    """All times in a log; ``given`` is what that does not say itself.

    Raises ArgumentError, with file and line, for what is none.
    """
    path, given = Path(path), given or Given()
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ArgumentError(f"from-log={str(path)!r} cannot be read: {error}") from error
    if text.lstrip().startswith("{"):
        return _some(path, logs_bench.from_json(path, text))
    log = Lines(path, text.splitlines())
    for is_header, samples in KINDS.values():
        if any(map(is_header, log.lines)):
            return _some(path, samples(log, given))
    raise ArgumentError(
        f"from-log={str(path)!r} has no table of {', '.join(KINDS)}: give what such a program has "
        "printed, its header lines included, or what `refcoll bench --json` wrote"
    )


def _some(path: Path, found: list[Sample]) -> list[Sample]:
    if not found:
        raise ArgumentError(f"from-log={str(path)!r} holds no times; did the run end early?")
    return found
