"""The handshake: before any payload moves, all ranks learn whether they made the same call.

Every rank turns its call, or what is wrong with it, into a record.  A digest of it goes
round in ceil(log2 N) small messages, which tell every rank whether all are equal; only if
not are the records themselves exchanged, so that each rank can raise with the table of who
said what.

The handshake speaks to the transport directly and uses no algorithm of the registry, so
that it still tells the truth where one of those is broken.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from refcoll.errors import DeadlineError, DisagreementError, RefcollError, TransportError
from refcoll.transport import Bytes, Exchange, Incoming, Outgoing, Transport
from refcoll.words import ranked

Record: TypeAlias = Mapping[str, object]
CHANNEL = 0
"""The channel of the handshake itself; calls use the others."""
_DIGEST_BYTES = 64
"""A SHA-256 digest and its complement."""
_HALF = _DIGEST_BYTES * 4
"""Bits of the digest."""


_ALWAYS = ("collective", "algorithm", "dtype", "count")
"""Entries that are shown where ranks differ, even if these do not."""


class Said:
    """What a rank says of its call, and the digest of that."""

    def __init__(self, record: Record) -> None:
        self.record = dict(record)
        self.digest = hashlib.sha256(_encoded(self.record)).digest()


class Agreement:
    """One rank's part in the handshakes of a communicator."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._rank, self._size = transport.rank, transport.size
        self._mine = np.zeros(_DIGEST_BYTES, np.uint8)
        self._bytes = memoryview(self._mine)  # type: ignore[arg-type]
        self._doing = _Handshake()
        rounds = (self._size - 1).bit_length()
        self._rounds = [self._round(1 << k) for k in range(rounds)]

    def _round(self, distance: int) -> Exchange:
        to, source = (self._rank + distance) % self._size, (self._rank - distance) % self._size
        incoming = Incoming(_DIGEST_BYTES, source)
        return self._transport.prepare([Outgoing(self._mine, to)], [incoming], CHANNEL)

    def require(
        self,
        said: Record | Said,
        error: RefcollError | None,
        timeout: float,
        call: int | None = None,
    ) -> None:
        """Return if all ranks say the same, of the same ``call``, and no error; else raise on
        every rank.

        A rank with an ``error`` of its own raises that one; the others raise
        DisagreementError with the table of who said what.  Where every rank has an error,
        all refuse, the ranks are still in step, and the error says so (``poisons`` is False).
        """
        if error is not None:
            said = Said({"error": str(error)})
        elif not isinstance(said, Said):
            said = Said(said)
        self._doing.record, self._doing.call = said.record, call
        salt = f"call {call}" if error is None else f"refused by {self._rank}"
        everyone = [said.record]
        if not self._all_equal(said.digest, salt, timeout):
            named = error is None and call is not None
            numbered = {"call": call, **said.record} if named else said.record
            everyone = self._gather(numbered, timeout)
        if error is not None:
            error.poisons = any("error" not in each for each in everyone)
            raise error
        if len(everyone) > 1:
            raise DisagreementError(_table(everyone))

    def collect(self, record: Record, same: Sequence[str], timeout: float) -> list[dict[str, Any]]:
        """Everybody's records, by rank, which must agree in the entries named ``same``."""
        self._doing.record, self._doing.call = record, None
        self._all_equal(Said(record).digest, f"asked by {self._rank}", timeout)
        everyone = self._gather(record, timeout)
        if any(each.get(key) != record.get(key) for each in everyone for key in same):
            raise DisagreementError(_table(everyone))
        return everyone

    def _all_equal(self, digest: bytes, salt: str, timeout: float) -> bool:
        """Whether all ranks give the same digest and salt.

        AND over ranks of d and of not d: it is one's own only where all d are equal.  In
        round k every rank tells the one 2^k ahead, as in the dissemination barrier; that
        some ranks are counted twice does not matter to AND.
        """
        one = int.from_bytes(hashlib.sha256(digest + salt.encode()).digest())
        mine = known = one << _HALF | one ^ (1 << _HALF) - 1
        self._transport.doing = self._doing
        for exchange in self._rounds:
            self._bytes[:] = known.to_bytes(_DIGEST_BYTES)
            (came,) = self._run(exchange, 1, timeout)
            known &= int.from_bytes(came.tobytes())
        return known == mine

    def _gather(self, record: Record, timeout: float) -> list[dict[str, Any]]:
        """Everybody's records: first their lengths, then themselves, each to each."""
        mine = np.frombuffer(_encoded(record), np.uint8)
        length = np.array([mine.size], np.int64).view(np.uint8)
        lengths = self._to_all(length, [length.size] * self._size, timeout)
        sizes = [int(each.view(np.int64)[0]) for each in lengths]
        return [json.loads(bytes(each)) for each in self._to_all(mine, sizes, timeout)]

    def _to_all(self, mine: Bytes, sizes: Sequence[int], timeout: float) -> list[Bytes]:
        """One message from each to each; what came, by rank, one's own included."""
        others = [rank for rank in range(self._size) if rank != self._rank]
        sends = [Outgoing(mine, other) for other in others]
        receives = [Incoming(sizes[other], other) for other in others]
        exchange = self._transport.prepare(sends, receives, CHANNEL)
        came = dict(zip(others, self._run(exchange, len(others), timeout), strict=True))
        return [came.get(rank, mine) for rank in range(self._size)]

    def _run(self, exchange: Exchange, receives: int, timeout: float) -> list[Bytes]:
        try:
            exchange.start()
            came = [exchange.wait(index, timeout).copy() for index in range(receives)]
            exchange.release(timeout)
        except TransportError as error:
            late = isinstance(error, DeadlineError)
            why = "not all ranks made this call in time: " if late else ""
            raise error.told(
                f"{why}in {self._doing()}: {error.message}", error.remedy()
            ) from error.__cause__
        return came


class _Handshake:
    """Which handshake it is, in words."""

    def __init__(self) -> None:
        self.record: Record = {}
        self.call: int | None = None

    def __call__(self) -> str:
        refused = "a call that is refused here" if "error" in self.record else "going on"
        named = self.record.get("collective") or refused
        numbered = "" if self.call is None else f" (call {self.call})"
        return f"the handshake before {named}{numbered}"


def _encoded(record: Record) -> bytes:
    return json.dumps(record, sort_keys=True).encode()


def _table(records: Sequence[Mapping[str, Any]]) -> str:
    """Who said what: the entries that differ, ranks grouped by answer."""
    shown = _differing(records)
    groups: dict[str, list[int]] = defaultdict(list)
    for rank, record in enumerate(records):
        if record.get("error"):
            said = str(record["error"])
        else:
            said = ", ".join(
                f"{key}={record.get(key)}" for key in shown if key in record or key not in _ALWAYS
            )
        groups[said].append(rank)
    lines = [f"  {ranked(ranks)}: {said}" for said, ranks in groups.items()]
    return "\n".join(["the ranks did not make the same call:", *lines])


def _differing(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is always shown, and whatever else is not the same on all ranks."""
    calls = [record for record in records if not record.get("error")]
    keys = dict.fromkeys(key for record in calls for key in record)
    always = [key for key in _ALWAYS if key in keys]
    others = sorted(key for key in keys if len({str(r.get(key)) for r in calls}) > 1)
    return always + [key for key in others if key not in always]
