"""What the OSU micro-benchmarks print (mvapich.cse.ohio-state.edu/benchmarks).

    # OSU MPI Allreduce Latency Test v7.4        # OSU MPI Latency Test v5.6        (or Bandwidth)
    # Size       Avg Latency(us)                 # Size          Latency (us)
    1024                   17.35                 1024                    1.49

With -f, there are more columns: the least, the greatest, iterations.  Ranks are not said.
Size is that of one rank's contribution to an allgather, and of what one rank sends to another
in an alltoall, so that the whole vector is N times as long; elsewhere it is the vector's.
Bandwidth is in 1e6 bytes per second, of a window of messages in flight.
"""

from __future__ import annotations

import re

from refcoll.planning.logs import BANDWIDTH, LATENCY, Given, Lines, Sample, number

_HEADER = re.compile(r"^#?\s*OSU MPI\S* (.+?) Test(?:\s+v[\d.]+)?\s*$")
_TESTS = {
    "Latency": LATENCY, "Bandwidth": BANDWIDTH, "Allreduce Latency": "all_reduce",
    "Broadcast Latency": "broadcast", "Reduce Latency": "reduce",
    "Reduce_scatter Latency": "reduce_scatter", "Allgather Latency": "all_gather",
    "All-to-All Personalized Exchange Latency": "all_to_all",
}  # fmt: skip
_OF_EACH = ("all_gather", "all_to_all")
"""Collectives whose size is that of a rank's part."""
_UNITS = re.compile(r"\((us|MB/s)\)")


def is_header(line: str) -> bool:
    """Whether a line names a benchmark."""
    return _HEADER.match(line) is not None


def samples(log: Lines, given: Given) -> list[Sample]:
    """All rows of all benchmarks in the file."""
    test, columns = "", 0
    found = []
    for place, line in enumerate(log.lines, 1):
        if header := _HEADER.match(line):
            test, columns = _test(log, place, header[1]), 0
        elif test and "Size" in line and (units := _UNITS.findall(line)):
            columns = 1 + len(units) + ("Iterations" in line)
        elif test and line.split()[:1] and line.split()[0].isdigit():
            if not columns:
                log.refuse(place, "no line before it names the columns", "give the whole log")
            found += _row(log, place, line.split(), test, columns, given)
    return found


def _test(log: Lines, place: int, name: str) -> str:
    if name not in _TESTS:
        log.refuse(place, f"the {name} test is none that is read", f"use {', '.join(_TESTS)}")
    return _TESTS[name]


def _row(
    log: Lines, place: int, cells: list[str], test: str, columns: int, given: Given
) -> list[Sample]:
    if len(cells) != columns:
        said = f"{len(cells)} columns, where the header names {columns}"
        log.refuse(place, said, "give the whole log, as it was printed")
    size, value = (number(log, place, name, cells[k]) for k, name in enumerate(("size", "value")))
    if not value:
        log.refuse(place, f"{cells[1]} is no time or rate", "let the benchmark run longer")
    ranks = _ranks(log, place, test, given)
    nbytes = int(size) * (ranks if test in _OF_EACH else 1)
    if nbytes == 0 and test != LATENCY:
        return []
    seconds = size / (value * 1e6) if test == BANDWIDTH else value * 1e-6
    return [
        Sample(
            log=log.path.name,
            where=log.place(place), collective=test, contender="MPI", ranks=ranks,
            nodes=given.nodes or 1, nbytes=nbytes, seconds=seconds,
        )
    ]  # fmt: skip


def _ranks(log: Lines, place: int, test: str, given: Given) -> int:
    if test in (LATENCY, BANDWIDTH):
        return 2
    if given.ranks is None:
        log.refuse(place, "this benchmark does not say how many ranks it ran on", "say --ranks")
    return given.ranks
