"""The handshake: before any payload moves, all ranks learn whether they made the same call.

Every rank turns its call, or what is wrong with it, into a record.  An all-reduce of the
records' digests, a few words long, tells every rank whether all are equal; only if not are
the records themselves gathered, so that each rank can raise with the table of who said
what.  Both are programs of refcoll's own, over the same transport.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from refcoll.errors import DeadlineError, DisagreementError, RefcollError
from refcoll.interpreters.execute import Plan
from refcoll.operators import operator
from refcoll.registry import program
from refcoll.transport import Transport

Record: TypeAlias = Mapping[str, object]
CHANNEL = 0
"""The channel of the handshake itself; calls use the others."""
_RECORD_BYTES = 2048
_WORDS = 4


class Agreement:
    """One rank's part in the handshakes of a communicator."""

    def __init__(self, transport: Transport) -> None:
        self._rank, self._size = transport.rank, transport.size
        self._digest = np.zeros(2 * _WORDS, np.uint64)
        self._records = np.zeros(_RECORD_BYTES * transport.size, np.uint8)
        self._digest_plan = _plan(
            "all_reduce", "recursive_doubling", transport, self._digest, "bitwise_and"
        )
        self._records_plan = _plan("all_gather", "ring", transport, self._records, "sum")

    def require(self, record: Record, error: RefcollError | None, timeout: float) -> None:
        """Return if all ranks give equal records and no error; else raise on every rank.

        A rank with an ``error`` of its own raises that one; the others raise
        DisagreementError with the table of who said what.  Where every rank has the same
        error, the ranks are still in step, and the error says so (``poisons`` is False).
        """
        said = dict(record) if error is None else {"error": str(error)}
        salt = "" if error is None else f"refused by {self._rank}"
        everyone = [said] if self._all_equal(said, salt, timeout) else self._gather(said, timeout)
        if error is not None:
            error.poisons = any(each != said for each in everyone)
            raise error
        if len(everyone) > 1:
            raise DisagreementError(_table(everyone))

    def collect(self, record: Record, same: Sequence[str], timeout: float) -> list[dict[str, Any]]:
        """Everybody's records, by rank, which must agree in the entries named ``same``."""
        self._all_equal(record, f"asked by {self._rank}", timeout)
        everyone = self._gather(record, timeout)
        if any(each.get(key) != record[key] for each in everyone for key in same):
            raise DisagreementError(_table(everyone))
        return everyone

    def _gather(self, record: Record, timeout: float) -> list[dict[str, Any]]:
        encoded = _encoded(record)
        if len(encoded) > _RECORD_BYTES:
            encoded = _encoded({"error": f"{encoded[:500].decode()}... (too long to compare)"})
        slots = self._records.reshape(self._size, _RECORD_BYTES)
        slots[self._rank] = np.frombuffer(encoded.ljust(_RECORD_BYTES), np.uint8)
        self._run(self._records_plan, timeout)
        return [json.loads(bytes(slot)) for slot in slots]

    def _all_equal(self, record: Record, salt: str, timeout: float) -> bool:
        """Whether all ranks give the same record and salt.

        The AND over ranks of d and of not d: together all ones only where all d are equal.
        """
        encoded = _encoded(record) + salt.encode()
        words = np.frombuffer(hashlib.sha256(encoded).digest(), np.uint64)
        self._digest[:_WORDS], self._digest[_WORDS:] = words, ~words
        self._run(self._digest_plan, timeout)
        return bool(np.all(self._digest[:_WORDS] ^ self._digest[_WORDS:] == ~np.uint64(0)))

    def _run(self, plan: Plan, timeout: float) -> None:
        try:
            plan.run(timeout)
        except DeadlineError as error:
            raise DeadlineError(
                f"not all ranks made this call in time, in the handshake before it: {error}"
            ) from error


def _plan(
    collective: str, name: str, transport: Transport, memory: np.ndarray[Any, Any], op: str
) -> Plan:
    made = program(collective, name, transport.size)
    return Plan(made, transport, memory, made.layout(memory.size), operator(op), CHANNEL)


def _encoded(record: Record) -> bytes:
    return json.dumps(record, sort_keys=True, default=str).encode()


def _table(records: Sequence[Mapping[str, Any]]) -> str:
    """Who said what: the entries that differ, ranks grouped by answer."""
    shown = _differing(records)
    groups: dict[str, list[int]] = defaultdict(list)
    for rank, record in enumerate(records):
        if "error" in record:
            said = str(record["error"])
        else:
            said = ", ".join(f"{key}={record.get(key)}" for key in shown)
        groups[said].append(rank)
    lines = [f"  {_ranks(ranks)}: {said}" for said, ranks in groups.items()]
    return "\n".join(["the ranks did not make the same call:", *lines])


def _differing(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """collective, algorithm, and whatever else is not the same on all ranks."""
    calls = [record for record in records if "error" not in record]
    keys = dict.fromkeys(key for record in calls for key in record)
    always = ["collective", "algorithm"]
    others = sorted(key for key in keys if len({str(r.get(key)) for r in calls}) > 1)
    return always + [key for key in others if key not in always]


def _ranks(ranks: Sequence[int]) -> str:
    """As in "ranks 0-2, 5".

    >>> _ranks([0, 1, 2, 5])
    'ranks 0-2, 5'
    """
    spans: list[list[int]] = []
    for rank in ranks:
        if spans and spans[-1][-1] == rank - 1:
            spans[-1].append(rank)
        else:
            spans.append([rank])
    said = ", ".join(f"{s[0]}-{s[-1]}" if len(s) > 1 else f"{s[0]}" for s in spans)
    return f"rank{'s' if len(ranks) > 1 else ''} {said}"

