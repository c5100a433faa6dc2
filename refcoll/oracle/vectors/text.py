"""The same vectors as words and lines, for a reader in C that has no JSON parser.

    refcoll-vectors 1 COLLECTIVE RANKS VECTORS
    vector ID OPERATOR DTYPE COUNT ROOT IN_PLACE COMPARE FLAG,FLAG
    input RANK LENGTH WORD ...                    one line for each rank
    results GROUPS
    result FIRST LAST LENGTH ROWS                 for ranks FIRST to LAST
    row WORD ...                                  ROWS lines of them

Words are separated by blanks.  A complex element is two words, a matrix four.  Rows are the
right result; or the low and the high end; or the results with NaNs propagated and ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from refcoll.oracle.vectors.records import Record


def text(collective: str, ranks: int, records: Sequence[Record]) -> str:
    """One file."""
    lines = [f"refcoll-vectors 1 {collective} {ranks} {len(records)}"]
    for record in records:
        lines += _lines(record)
    return "\n".join(lines) + "\n"


def _lines(record: Record) -> Iterator[str]:
    flags = ",".join(record["flags"])
    compare = record["rules"]["compare"]
    yield (
        f"vector {record['id']} {record['operator'] or '-'} {record['dtype']} {record['count']} "
        f"{record['root']} {int(record['in_place'])} {compare} {flags}"
    )
    column = "bits" if compare == "bits" else "values"
    for rank, each in enumerate(record["inputs"]):
        yield _row(f"input {rank} {len(each[column])}", each[column])
    yield f"results {len(record['results'])}"
    for result in record["results"]:
        yield from _result(result, _ROWS[compare])


_ROWS = {
    "bits": ("bits",), "equal": ("values",), "interval": ("low", "high"),
    "either": ("values", "values_ignoring_nan"),
}  # fmt: skip


def _result(result: Record, columns: Sequence[str]) -> Iterator[str]:
    first, last, length = result["ranks"][0], result["ranks"][-1], len(result[columns[0]])
    yield f"result {first} {last} {length} {len(columns)}"
    for column in columns:
        yield _row("row", result[column])


def _row(start: str, entries: Sequence[Any]) -> str:
    words = [start]
    for entry in entries:
        words += [str(part) for part in entry] if isinstance(entry, list) else [str(entry)]
    return " ".join(words)
