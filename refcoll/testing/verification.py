"""Run every algorithm on a transport, and hold it to what it claims.

Each row is one run on all ranks.  It is right (``ok``) if the checker proves the program,
every rank's result is exact, the ranks agree to the bit, every rank took the claimed number
of steps, and the claimed bytes left and reached it, as counted where they arrived.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import numpy as np

from refcoll.arguments import GATHERING
from refcoll.collectives import COLLECTIVES
from refcoll.communicator import Communicator
from refcoll.errors import TransportError
from refcoll.group import CollectivePlan
from refcoll.interpreters.check import check
from refcoll.interpreters.count import count
from refcoll.interpreters.simulate import simulate
from refcoll.operators import Array
from refcoll.programs import Program
from refcoll.registry import program
from refcoll.testing.cases import Case, cases
from refcoll.testing.counting import Counting
from refcoll.testing.judging import Expected, Row, Sight, judge, refuted
from refcoll.testing.values import dtype_named, merged, rank_input
from refcoll.topology import Nodes, node_shape
from refcoll.transport import Transport

__all__ = ["Case", "Row", "cases", "verify"]


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
        self.dtype = dtype_named(case.dtype)
        self._last = comm.rank == comm.size - 1

    def row(self) -> Row:
        try:
            self.program = program(
                self.case.collective, self.case.algorithm, self.comm.size,
                root=self.root, nodes=self.nodes, **dict(self.case.options),
            )  # fmt: skip
            self.layout = self.program.layout(self.case.count)
            self.expected = self._expected()
            problem = _refutation(self.program)
        except Exception as error:  # whatever a broken algorithm raises is its verdict
            return refuted(self.case, self.comm.size, f"{type(error).__name__}: {error}")
        if problem is not None:
            return refuted(self.case, self.comm.size, problem)
        sights = self._simulated() if self.program.helpers else self._run()
        transport = "simulated" if self.program.helpers else self.comm.transport.name
        return judge(self.case, self.comm.size, transport, sights, self.expected)

    def _expected(self) -> Expected:
        """What the program claims, and what some rank must do in any."""
        claims, lengths, itemsize = self.program.claims, self.layout.lengths, self.dtype.itemsize
        assert claims is not None
        ranks = range(self.program.ranks)
        return Expected(
            steps=[claims.steps(rank) for rank in ranks],
            sent=[claims.sent(rank, lengths) * itemsize for rank in ranks],
            received=[claims.received(rank, lengths) * itemsize for rank in ranks],
            bounds=claims.bounds,
            least=[each * itemsize for each in self.program.least(lengths)],
        )

    def _run(self) -> list[Sight]:
        """What every rank has seen in one run."""
        plan, x, mine = self._plan()
        self.counting.take()
        # The last rank comes late to a barrier, so that one which does not wait shows.
        time.sleep(_LATE if self.case.collective == "barrier" and self._last else 0)
        entered = time.time()
        result = plan.run()
        left, traffic = time.time(), self.counting.take()
        # When all ranks have come this far, what was sent to this one has mostly arrived.
        self.comm.agreement.require({"ran": str(self.case)}, None, self.comm.timeout)
        if len(self.comm.nodes) > 1:
            entered = left = 0.0  # there is no common clock
        sight = Sight(
            exact=self._exact(result, self.comm.rank)
            and (x is None or mine is None or np.array_equal(x, mine)),
            digest=_digest(result),
            steps=traffic.steps,
            received_from=[traffic.received_from[rank] for rank in range(self.comm.size)],
            unclaimed=self.counting.unclaimed(plan.channel),
            entered=entered,
            left=left,
        )
        everyone = self.comm.agreement.collect(asdict(sight), (), self.comm.timeout)
        return [Sight(**each) for each in everyone]

    def _simulated(self) -> list[Sight]:
        """The same for a program with helpers, which no transport runs: on every rank."""
        size, ranks, op = self.comm.size, self.program.ranks, self.case.op or "sum"
        inputs = [rank_input(rank, self.case.count, self.dtype, op) for rank in range(size)]
        results = [*simulate(self.program, inputs, op), *[None] * self.program.helpers]
        counts = count(self.program, self.layout)
        itemsize = self.dtype.itemsize
        return [
            Sight(
                exact=rank >= size or self._exact(results[rank], rank),
                digest=_digest(results[min(rank, size - 1)]),
                steps=counts.ranks[rank].steps,
                received_from=[counts.links[peer, rank] * itemsize for peer in range(ranks)],
            )
            for rank in range(ranks)
        ]

    def _plan(self) -> tuple[CollectivePlan, Array | None, Array | None]:
        """The plan, its input, and a copy of the input."""
        case, rank = self.case, self.comm.rank
        if case.collective == "barrier":
            return self.comm.plan("barrier", algorithm=case.algorithm), None, None
        x = rank_input(rank, case.count, self.dtype, case.op or "sum")
        kind = self.program.collective
        counts = self.layout.lengths if kind.scattered and not kind.transposes else None
        if case.collective in GATHERING:
            x = x[self.layout.span(rank, rank + 1)]
        options: dict[str, Any] = dict(case.options)
        plan = self.comm.plan(
            case.collective, x, case.op or "sum", self.root, counts=counts,
            algorithm=case.algorithm, nodes=self.nodes, **options,
        )  # fmt: skip
        return plan, x, x.copy()

    # ---- what is right ------------------------------------------------------------------

    def _exact(self, result: Array | None, rank: int) -> bool:
        wanted = self._wanted(rank)
        if wanted is None or result is None:
            return wanted is None and result is None
        alike = (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        return alike and bool(np.all(result == wanted))

    def _wanted(self, rank: int) -> Array | None:
        """The right result on ``rank``, computed without refcoll's schedules or merges."""
        case, size, op = self.case, self.comm.size, self.case.op or "sum"
        mine = self.layout.span(rank, rank + 1)
        match case.collective:
            case "barrier":
                return None
            case "reduce" | "gather" if rank != self.root:
                return None
            case "exscan" if rank == 0:
                return None
            case "broadcast":
                return self._input(self.root)
            case "scatter":
                return self._input(self.root)[mine]
            case "all_gather" | "gather":
                spans = [self.layout.span(each, each + 1) for each in range(size)]
                return np.concatenate([self._input(r)[span] for r, span in enumerate(spans)])
            case "all_to_all":
                return np.concatenate([self._input(each)[mine] for each in range(size)])
            case "scan":
                return merged(rank + 1, case.count, self.dtype, op)
            case "exscan":
                return merged(rank, case.count, self.dtype, op)
        total = merged(size, case.count, self.dtype, op)
        return total[mine] if case.collective == "reduce_scatter" else total

    def _input(self, rank: int) -> Array:
        """What ``rank`` puts in, where nothing is merged."""
        return rank_input(rank, self.case.count, self.dtype, "sum")


@lru_cache(maxsize=512)
def _refutation(made: Program) -> str | None:
    """The first of them, found once for all lengths and dtypes."""
    return next(_refutations(made), None)


def _refutations(made: Program) -> Iterator[str]:
    """What is wrong with a program before it has run, and with what it claims of its shape."""
    report = check(made)
    yield from (str(failure) for failure in report.failures)
    if not report.aligned:
        yield "the two ends of a message have different step numbers"
    depth = count(made, made.chunks).depth
    claims = made.claims
    if claims is not None and depth != claims.depth:
        if "depth" not in claims.bounds:
            yield f"depth {depth}, claimed {claims.depth}"
        elif depth > claims.depth:
            yield f"depth {depth}, claimed to be at most {claims.depth}"


def _halves(size: int) -> Nodes:
    """Two nodes, the first one rank larger where N is odd; one where there is one rank."""
    return node_shape((size - size // 2, size // 2) if size > 1 else (1,))


def _digest(result: Array | None) -> str:
    data = b"" if result is None else np.ascontiguousarray(result).tobytes()
    return hashlib.sha256(data).hexdigest()
