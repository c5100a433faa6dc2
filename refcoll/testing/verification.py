"""Run every algorithm on a transport, and hold it to what it claims.

Each row is one run on all ranks.  It is right (``ok``) if the checker proves the program,
every rank's result is exact, the ranks agree to the bit, every rank took the claimed number
of steps, and the claimed bytes left and reached it, as counted where they arrived.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from refcoll.algorithms.declaration import Algorithm, Nodes
from refcoll.collectives import COLLECTIVES
from refcoll.communicator import CollectivePlan, Communicator
from refcoll.errors import TransportError
from refcoll.interpreters.check import check
from refcoll.operators import OPERATORS, Array, kind
from refcoll.registry import algorithms, node_shape, program
from refcoll.testing.counting import Counting
from refcoll.testing.values import DTYPES, dtype_named, merged, rank_input
from refcoll.transport import Transport


@dataclass(frozen=True)
class Case:
    """What one row runs."""

    algorithm: str
    collective: str
    count: int
    dtype: str
    op: str | None
    """None where the collective does not merge."""

    def title(self, ranks: int) -> str:
        """The case in words."""
        merging = f" {self.op}" if self.op else ""
        return (
            f"{self.algorithm} {self.collective} on {ranks} ranks, "
            f"n={self.count} {self.dtype}{merging}"
        )


@dataclass(frozen=True)
class Row:
    """What came of one case.  Bytes and steps are the maximum over ranks."""

    algorithm: str
    collective: str
    ranks: int
    count: int
    dtype: str
    op: str | None
    transport: str
    exact: bool
    agree: bool
    steps: int
    steps_claimed: int
    sent_bytes: int
    sent_claimed: int
    received_bytes: int
    received_claimed: int
    lower_bound_bytes: float
    ok: bool
    problems: list[str] = field(default_factory=list)
    """What is wrong, in words; empty where the row is ok."""

    @property
    def title(self) -> str:
        """The case in words."""
        case = Case(self.algorithm, self.collective, self.count, self.dtype, self.op)
        return case.title(self.ranks)


def cases(size: int, collective: str | None = None, algorithm: str | None = None) -> list[Case]:
    """Every algorithm in float32 at critical lengths; every dtype and operator at 1000."""
    chosen = [each for each in algorithms(collective, algorithm) if not each.helpers]
    first = {each.collective: each for each in reversed(chosen)}.values()
    lengths = sorted({0, 1, size - 1, size, size + 1, 1000, 65_537})
    by_length = [_case(each, n, "float32") for each in chosen for n in _lengths(each, lengths)]
    by_dtype = [
        _case(each, 1000, dtype, op)
        for each in first
        if each.collective != "barrier"
        for dtype in DTYPES
        for op in _operators(each, dtype)
    ]
    return list(dict.fromkeys(by_length + by_dtype))


def _case(algorithm: Algorithm, count: int, dtype: str, op: str = "sum") -> Case:
    reduces = COLLECTIVES[algorithm.collective].reduces
    return Case(algorithm.name, algorithm.collective, count, dtype, op if reduces else None)


def _lengths(algorithm: Algorithm, lengths: Sequence[int]) -> Sequence[int]:
    return (0,) if algorithm.collective == "barrier" else lengths


def _operators(algorithm: Algorithm, dtype: str) -> Iterator[str]:
    if not COLLECTIVES[algorithm.collective].reduces:
        yield "sum"
        return
    for operator in OPERATORS.values():
        if kind(dtype_named(dtype)) in operator.kinds:
            yield operator.name


def verify(transport: Transport, chosen: Sequence[Case], timeout: float) -> Iterator[Row]:
    """Run the cases; called by all ranks, each of which gets the same rows.

    Raises TransportError, naming the case, where a run does not come to an end.
    """
    counting = Counting(transport)
    comm = Communicator(counting, timeout)
    for case in chosen:
        try:
            yield _Run(comm, counting, case).row()
        except TransportError as error:
            raise type(error)(f"{case.title(comm.size)}: {error}") from error


_LATE = 0.02
"""Seconds."""


class _Run:
    """One case on this rank."""

    def __init__(self, comm: Communicator, counting: Counting, case: Case) -> None:
        self.comm, self.counting, self.case = comm, counting, case
        self.root = case.count % comm.size if COLLECTIVES[case.collective].rooted else 0
        self.nodes = comm.nodes if len(comm.nodes) > 1 else _halves(comm.size)
        self.program = program(
            case.collective, case.algorithm, comm.size, root=self.root, nodes=self.nodes
        )
        self.layout = self.program.layout(case.count)
        self.dtype = dtype_named(case.dtype)
        self._last = comm.rank == comm.size - 1

    def row(self) -> Row:
        refuted = self._refutation()
        if refuted is not None:
            return self._judged([self._blank()] * self.comm.size, refuted)
        plan, x, mine = self._plan()
        self.counting.take()
        # The last rank comes late to a barrier, so that one which does not wait shows.
        time.sleep(_LATE if self.case.collective == "barrier" and self._last else 0)
        entered = time.time()
        result = plan.run()
        left, traffic = time.time(), self.counting.take()
        # Once all ranks have come this far, whatever was sent in the run has arrived.
        self.comm.agreement.require({"ran": str(self.case)}, None, self.comm.timeout)
        found = {
            "exact": self._exact(result) and (x is None or mine is None or np.array_equal(x, mine)),
            "digest": _digest(result),
            "steps": traffic.steps,
            "from": [traffic.received_from[rank] for rank in range(self.comm.size)],
            "unclaimed": self.counting.unclaimed(plan.channel),
            "entered": entered,
            "left": left,
        }
        everyone = self.comm.agreement.collect(found, (), self.comm.timeout)
        return self._judged(everyone)

    def _refutation(self) -> str | None:
        """What is wrong with the program before it has run, if anything is."""
        try:
            report = check(self.program)
        except Exception as error:  # whatever a broken algorithm raises is its verdict
            return f"{type(error).__name__}: {error}"
        return str(report.failures[0]) if report.failures else None

    def _plan(self) -> tuple[CollectivePlan, Array | None, Array | None]:
        """The plan, its input, and a copy of the input."""
        case, rank = self.case, self.comm.rank
        if case.collective == "barrier":
            return self.comm.plan("barrier", algorithm=case.algorithm), None, None
        x = rank_input(rank, case.count, self.dtype, case.op or "sum")
        counts = self.layout.lengths if self.program.collective.scattered else None
        if case.collective == "all_gather":
            x = x[self.layout.span(rank, rank + 1)]
        plan = self.comm.plan(
            case.collective, x, case.op or "sum", self.root, counts=counts,
            algorithm=case.algorithm, nodes=self.nodes,
        )  # fmt: skip
        return plan, x, x.copy()

    # ---- what this rank sees -----------------------------------------------------------

    def _exact(self, result: Array | None) -> bool:
        wanted = self._wanted()
        if wanted is None or result is None:
            return wanted is None and result is None
        alike = (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        return alike and bool(np.all(result == wanted))

    def _wanted(self) -> Array | None:
        """The right result on this rank, computed without refcoll's schedules or merges."""
        case, size, rank = self.case, self.comm.size, self.comm.rank
        if case.collective == "barrier" or (case.collective == "reduce" and rank != self.root):
            return None
        if case.collective == "broadcast":
            return rank_input(self.root, case.count, self.dtype, "sum")
        if case.collective == "all_gather":
            spans = [self.layout.span(each, each + 1) for each in range(size)]
            vectors = [rank_input(each, case.count, self.dtype, "sum") for each in range(size)]
            return np.concatenate([v[span] for v, span in zip(vectors, spans, strict=True)])
        total = merged(size, case.count, self.dtype, case.op or "sum")
        mine = self.layout.span(rank, rank + 1)
        return total[mine] if case.collective == "reduce_scatter" else total

    # ---- what all ranks together saw ---------------------------------------------------

    def _judged(self, everyone: Sequence[dict[str, Any]], refuted: str | None = None) -> Row:
        size, itemsize, lengths = self.comm.size, self.dtype.itemsize, self.layout.lengths
        claims = self.program.claims
        assert claims is not None
        claimed = {
            "steps": [claims.steps(rank) for rank in range(size)],
            "sent": [claims.sent(rank, lengths) * itemsize for rank in range(size)],
            "received": [claims.received(rank, lengths) * itemsize for rank in range(size)],
        }
        measured = {
            "steps": [each["steps"] for each in everyone],
            "sent": [sum(each["from"][rank] for each in everyone) for rank in range(size)],
            "received": [sum(each["from"]) for each in everyone],
        }
        exact = all(each["exact"] for each in everyone) and self._waited(everyone)
        agree = self._agree(everyone)
        problems = [f"the checker refutes it: {refuted}"] if refuted else [
            *self._wrong_values(everyone, exact, agree), *_differences(measured, claimed),
        ]  # fmt: skip
        least = self.program.collective.least(size, lengths) * itemsize
        return Row(
            **asdict(self.case),
            ranks=size,
            transport=self.comm.transport.name,
            exact=exact,
            agree=agree,
            steps=max(measured["steps"]),
            steps_claimed=max(claimed["steps"]),
            sent_bytes=max(measured["sent"]),
            sent_claimed=max(claimed["sent"]),
            received_bytes=max(measured["received"]),
            received_claimed=max(claimed["received"]),
            lower_bound_bytes=int(least) if least.denominator == 1 else float(least),
            ok=not problems,
            problems=problems,
        )

    def _waited(self, everyone: Sequence[dict[str, Any]]) -> bool:
        """For a barrier on one node: nobody left it before the last had entered."""
        if self.case.collective != "barrier" or len(self.comm.nodes) > 1:
            return True
        last_in = max(float(each["entered"]) for each in everyone)
        return min(float(each["left"]) for each in everyone) >= last_in

    def _agree(self, everyone: Sequence[dict[str, Any]]) -> bool:
        """Whether ranks that must hold the same result do, to the bit."""
        alike = self.case.collective in ("all_reduce", "all_gather", "broadcast")
        return not alike or len({each["digest"] for each in everyone}) == 1

    def _wrong_values(
        self, everyone: Sequence[dict[str, Any]], exact: bool, agree: bool
    ) -> Iterator[str]:
        if not exact:
            wrong = [rank for rank, each in enumerate(everyone) if not each["exact"]]
            yield f"the result is wrong on ranks {wrong}" if wrong else "a rank left too early"
        if not agree:
            yield "the ranks' results differ"
        if any(each["unclaimed"] for each in everyone):
            yield "messages are left over that no rank received"

    def _blank(self) -> dict[str, Any]:
        """What a rank reports for a run that did not take place."""
        zeros = [0] * self.comm.size
        return {"exact": False, "digest": "", "steps": 0, "from": zeros, "unclaimed": 0,
                "entered": 0.0, "left": 0.0}  # fmt: skip


def _differences(measured: dict[str, list[int]], claimed: dict[str, list[int]]) -> Iterator[str]:
    for what, values in measured.items():
        for rank, (value, claim) in enumerate(zip(values, claimed[what], strict=True)):
            if value != claim:
                unit = "" if what == "steps" else " bytes"
                yield f"{what} on rank {rank}: {value}{unit}, claimed {claim}"
                break


def _halves(size: int) -> Nodes:
    """Two nodes, the first one rank larger where N is odd; one where there is one rank."""
    return node_shape((size - size // 2, size // 2) if size > 1 else (1,))


def _digest(result: Array | None) -> str:
    data = b"" if result is None else np.ascontiguousarray(result).tobytes()
    return hashlib.sha256(data).hexdigest()
