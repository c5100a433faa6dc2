"""Random calls with random faults, held to what is right.

Each operation is a collective by a random algorithm, on a random length, dtype and operator,
made in one of several ways; into some of them a fault is put.  It follows from the seed and
its number alone, so every rank knows it, and one that failed can be run again by itself.

Operations run on a part of the transport, which a fault may ruin; the ranks meet after each
over the whole, which carries no faults.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from typing import Any

from refcoll.checksums import Checksummed
from refcoll.communicator import Communicator
from refcoll.errors import PoisonedError, RefcollError
from refcoll.inorder import Handle
from refcoll.operators import OPERATORS, Array, kind
from refcoll.registry import algorithms
from refcoll.testing.cases import Case, case_of
from refcoll.testing.counting import Counting
from refcoll.testing.faults import KINDS, Died, Fault, Faulty
from refcoll.testing.questions import Question
from refcoll.testing.values import DTYPES, dtype_named
from refcoll.transport import Transport
from refcoll.wrapping import Wrapper

MEETING = 120.0
"""Seconds after which a rank that has not come back from an operation is taken to hang."""
_WAYS = ("plan", "once", "background")
_PARTS = (64, 1024)
"""Bytes to which messages are cut, for several of a step to be on one way."""
_OPTIONS = {"segments": (1, 2, 3, 7), "radix": (2, 3, 4), "shards": (1, 2, 5)}


@dataclass(frozen=True)
class Operation:
    """What all ranks do next."""

    number: int
    case: Case
    way: str
    """"plan", run ``runs`` times; "once", a call; or "background", calls side by side."""
    runs: int
    checksums: bool
    part_bytes: int | None
    faults: tuple[tuple[int, Fault], ...]
    """With the rank on which each happens."""

    def title(self, size: int) -> str:
        """It in words."""
        planned = "".join(f", {each.kind} message {each.at} of rank {r}" for r, each in self.faults)
        sums = "with" if self.checksums else "without"
        how = f"{self.way} x {self.runs}, {sums} checksums{planned}"
        return f"operation {self.number}: {self.case.title(size)}, {how}"


@dataclass(frozen=True)
class Outcome:
    """What came of an operation on one rank."""

    verdict: str
    """"right", "wrong", or the kind of the error."""
    message: str
    seconds: float
    nbytes: int
    """That arrived."""
    injected: list[str]
    """Kinds of the faults that were really done."""

    def __str__(self) -> str:
        done = f", after {' and '.join(self.injected)}" if self.injected else ""
        return f"{self.verdict}{f' ({self.message})' if self.message else ''}{done}"


def operation(seed: int, number: int, size: int, faulty: float, patience: float) -> Operation:
    """Operation ``number`` of a seed, on ``size`` ranks.

    ``faulty`` is the share of operations with a fault, ``patience`` the longest wait in
    seconds: delays are either much shorter or longer than that.
    """
    chance = random.Random(f"refcoll soak {seed} {number}")
    choices = [each for each in algorithms() if each.sizes.holds(size) and not each.needs_helpers]
    algorithm = chance.choice(choices)
    dtype = chance.choice(DTYPES)
    ops = [each.name for each in OPERATORS.values() if kind(dtype_named(dtype)) in each.kinds]
    options = tuple(
        (key, chance.choice(_OPTIONS[key])) for key in algorithm.options if key in _OPTIONS
    )
    count = 0 if algorithm.collective == "barrier" else _length(chance, size)
    faults = (_fault(chance, size, patience),) if chance.random() < faulty else ()
    exchanged = any(fault.kind == "reorder" for _, fault in faults)
    return Operation(
        number,
        case_of(algorithm, size, count, dtype, chance.choice(ops), options),
        chance.choice(_WAYS),
        chance.randint(1, 3),
        chance.random() < 0.5,
        min(_PARTS) if exchanged else chance.choice((None, *_PARTS)),
        faults,
    )


def _length(chance: random.Random, size: int) -> int:
    critical = chance.choice([0, 1, size - 1, size, size + 1])
    return critical if chance.random() < 0.3 else int(10 ** chance.uniform(0, 4))


def _fault(chance: random.Random, size: int, patience: float) -> tuple[int, Fault]:
    seconds = chance.choice([patience / 50, patience * 2])
    handshake = (size - 1).bit_length()  # so many messages come before the first call's own
    at = handshake * chance.choice([0, 1, 1]) + int(2 ** chance.uniform(0, 4.5)) - 1
    return chance.randrange(size), Fault(chance.choice(KINDS), at, seconds)


class Cut(Wrapper):
    """Messages in parts of so many bytes, where they are longer."""

    def __init__(self, inner: Transport, part_bytes: int) -> None:
        super().__init__(inner)
        self.part_bytes = part_bytes

    def segment_bytes(self, peer: int) -> int | None:
        """The parts' length, unless those of the transport are shorter."""
        return min(self.part_bytes, self.inner.segment_bytes(peer) or self.part_bytes)


class _Lasting(Wrapper):
    """Is not closed with the communicator that used it."""

    def close(self) -> None:
        """Nothing."""


class Soak:
    """One rank's part in a soak over ``transport``, with waits of at most ``patience`` seconds."""

    def __init__(self, transport: Transport, patience: float) -> None:
        self.comm = Communicator(transport, MEETING)
        self.patience = patience
        self._parts = 0
        self._part: Transport | None = None
        """Used until an operation may have ruined it: to make another takes time."""

    def perform(
        self, wanted: Operation, over: bool, patience: float | None = None
    ) -> tuple[list[Outcome], bool]:
        """Do it, and meet: what came of it on every rank, and whether rank 0 says ``over``.

        Raises TransportError where a rank does not come back.
        """
        if self._part is None:
            self._parts += 1
            self._part = self.comm.transport.subgroup(range(self.comm.size), self._parts)
        mine, comm = self._attempt(wanted, _Lasting(self._part), patience or self.patience)
        said = {"outcome": asdict(mine), "over": over}
        everyone = self.comm.agreement.collect(said, (), MEETING)
        outcomes = [Outcome(**each["outcome"]) for each in everyone]
        getattr(self._part, "forgive", lambda: None)()
        comm.close()
        if wanted.faults or any(each.verdict != "right" for each in outcomes):
            self._part.close()
            self._part = None
        return outcomes, bool(everyone[0]["over"])

    def _attempt(
        self, wanted: Operation, part: Transport, patience: float
    ) -> tuple[Outcome, Communicator]:
        counting = Counting(part)
        faulty = Faulty(counting, [each for r, each in wanted.faults if r == part.rank])
        cut = Cut(faulty, wanted.part_bytes) if wanted.part_bytes else faulty
        comm = Communicator(Checksummed(cut) if wanted.checksums else cut, patience)
        started, verdict, message = time.monotonic(), "right", ""
        question = Question(wanted.case, comm.size, comm.nodes)
        try:
            for result in _results(wanted, question, comm):
                if not question.is_right(result, comm.rank):
                    verdict = "wrong"
        except (RefcollError, Died) as error:
            first = error.__cause__ if isinstance(error, PoisonedError) else error
            verdict = verdict if verdict == "wrong" else type(first).__name__
            message = str(first)
        outcome = Outcome(
            verdict,
            message,
            time.monotonic() - started,
            counting.traffic.received_bytes,
            [each.kind for each in faulty.injected],
        )
        return outcome, comm


def _results(wanted: Operation, question: Question, comm: Communicator) -> Iterator[Array | None]:
    x = question.input(comm.rank)
    if wanted.way == "once":
        yield from (question.call(comm, x) for _ in range(wanted.runs))
    elif wanted.way == "plan":
        plan = question.plan(comm, x)
        yield from (plan.run() for _ in range(wanted.runs))
    else:
        with ExitStack() as rest:  # all are waited for, also after one has failed
            handles: list[Handle[Any]] = []
            for _ in range(wanted.runs):
                handles.append(question.plan(comm, x).start())
                rest.callback(_ended, handles[-1])
            yield from (handle.wait() for handle in handles)


def _ended(handle: Handle[Any]) -> None:
    with suppress(RefcollError, Died):
        handle.wait()
