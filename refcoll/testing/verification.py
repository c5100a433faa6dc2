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

import numpy as np

from refcoll.communicator import Communicator
from refcoll.errors import TransportError
from refcoll.interpreters.check import check
from refcoll.interpreters.count import count
from refcoll.interpreters.simulate import simulate
from refcoll.operators import Array
from refcoll.programs import Program
from refcoll.testing.cases import Case, cases
from refcoll.testing.counting import Counting
from refcoll.testing.judging import Expected, Row, Sight, judge, refuted
from refcoll.testing.questions import Question
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
        self._last = comm.rank == comm.size - 1

    def row(self) -> Row:
        try:
            self.question = Question(self.case, self.comm.size, self.comm.nodes)
            self.program, self.layout = self.question.program, self.question.layout
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
        claims, lengths, itemsize = (
            self.program.claims,
            self.layout.lengths,
            self.question.dtype.itemsize,
        )
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
        arrays = self.comm.transport.arrays
        mine = self.question.input(self.comm.rank)
        x = None if mine is None else arrays.from_host(mine)
        plan = self.question.plan(self.comm, x)
        self.counting.take()
        # The last rank comes late to a barrier, so that one which does not wait shows.
        time.sleep(_LATE if self.case.collective == "barrier" and self._last else 0)
        entered = time.time()
        result = plan.run()
        left, traffic = time.time(), self.counting.take()
        # When all ranks have come this far, what was sent to this one has mostly arrived.
        self.comm.agreement.require({"ran": str(self.case)}, None, self.comm.timeout)
        came = None if result is None else arrays.to_host(result)
        if len(self.comm.nodes) > 1:
            entered = left = 0.0  # there is no common clock
        sight = Sight(
            exact=self.question.is_right(came, self.comm.rank)
            and (x is None or mine is None or np.array_equal(arrays.to_host(x), mine)),
            digest=_digest(came),
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
        size, ranks, asked = self.comm.size, self.program.ranks, self.question
        inputs = [x for x in map(asked.input, range(size)) if x is not None]
        results = [*simulate(self.program, inputs, asked.op), *[None] * self.program.helpers]
        counts = count(self.program, self.layout)
        itemsize = asked.dtype.itemsize
        return [
            Sight(
                exact=rank >= size or asked.is_right(results[rank], rank),
                digest=_digest(results[min(rank, size - 1)]),
                steps=counts.ranks[rank].steps,
                received_from=[counts.links[peer, rank] * itemsize for peer in range(ranks)],
            )
            for rank in range(ranks)
        ]


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


def _digest(result: Array | None) -> str:
    data = b"" if result is None else np.ascontiguousarray(result).tobytes()
    return hashlib.sha256(data).hexdigest()
