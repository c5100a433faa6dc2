"""The same vectors as words and lines, for readers without a JSON parser: a file for each rank.

    refcoll-vectors 1 COLLECTIVE RANKS RANK VECTORS
    vector ID OPERATOR DTYPE COUNT ROOT IN_PLACE FLAG,FLAG
    input LENGTH WORD ...                         what the rank passes
    low LENGTH WORD ...                           the least that it may get
    high LENGTH WORD ...                          the greatest

docs/vectors.md says what the words mean, and what of JSON is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from refcoll.oracle.vectors.encoding import STRING
from refcoll.oracle.vectors.records import Record


def text(collective: str, ranks: int, rank: int, records: Sequence[Record]) -> str:
    """One file."""
    kept = [each for each in records if told(each)]
    lines = [f"refcoll-vectors 1 {collective} {ranks} {rank} {len(kept)}"]
    for record in kept:
        lines += _lines(record, rank)
    return "\n".join(lines) + "\n"


def told(record: Record) -> bool:
    """Whether words can tell it: what is right is one number, or lies between two."""
    return not (record["dtype"] == STRING or record["rules"]["compare"] == "either")


def _lines(record: Record, rank: int) -> Iterator[str]:
    yield (
        f"vector {record['id']} {record['operator'] or '-'} {record['dtype']} {record['count']} "
        f"{record['root']} {int(record['in_place'])} {','.join(record['flags'])}"
    )
    compare = record["rules"]["compare"]
    column = "bits" if compare == "bits" else "values"
    yield _row("input", record["inputs"][rank][column])
    result: Record = next((each for each in record["results"] if rank in each["ranks"]), {})
    for end in ("low", "high"):
        yield _row(end, result.get(end if compare == "interval" else column, ()))


def _row(key: str, entries: Sequence[Any]) -> str:
    words: list[Any] = []
    for entry in entries:
        words += entry if isinstance(entry, list) else [entry]
    return " ".join(map(str, [key, len(words), *words]))
