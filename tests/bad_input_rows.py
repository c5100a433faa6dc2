"""Every call that all ranks make together, with every wrong value of each of its arguments.

The rows that threads of one process and processes under mpirun go through, how a rank goes
through one, and what every rank must have heard.
"""

from __future__ import annotations

import inspect
import time
from dataclasses import dataclass

import numpy as np

import refcoll
from bad_input_making import NAMES, Bad, array
from bad_input_values import BAD
from refcoll.words import ranked as named

CALLS = ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "gather", "scatter",
         "all_to_all", "scan", "exscan", "barrier", "plan", "split")  # fmt: skip
"""The calls that all ranks make together."""
GATHERING, SCATTERING = ("all_gather", "gather"), ("reduce_scatter", "scatter")
REDUCING = ("all_reduce", "reduce_scatter", "reduce", "scan", "exscan", "plan")
PLANNED = {
    "root": {"collective": "broadcast"},
    "counts": {"collective": "reduce_scatter"},
    "segments": {"collective": "broadcast", "algorithm": "chain"},
    "radix": {"collective": "broadcast", "algorithm": "knomial"},
}
"""What is planned where an argument of ``plan`` is wrong; by default an all-reduce."""


def parameters(call):
    """The names of the arguments of a call."""
    accepted = inspect.signature(getattr(refcoll.Communicator, call)).parameters
    return [name for name in accepted if name != "self"]


@dataclass(frozen=True)
class Row:
    """A call, and what is wrong with it."""

    call: str
    bad: Bad

    @property
    def name(self) -> str:
        return f"{self.call}: {self.bad.argument} {self.bad.kind}"

    @property
    def planned(self) -> dict[str, str]:
        return PLANNED.get(self.bad.argument, {"collective": "all_reduce"})

    @property
    def collective(self) -> str:
        """What is done: for a plan, what is planned."""
        return self.planned["collective"] if self.call == "plan" else self.call

    def finds_fault(self, rank: int, size: int) -> bool:
        """Whether the rank does: where a call returns nothing, ``out`` is not looked at."""
        if self.bad.argument == "out" and self.call in ("reduce", "gather"):
            return rank == odd(size)
        return not (self.bad.argument == "out" and self.call == "exscan" and rank == 0)

    def right(self, rank: int, size: int) -> dict[str, object]:
        """The arguments of the call that the others make."""
        return _right(self, _names(self, rank, size))

    def wrong(self, rank: int, size: int) -> dict[str, object]:
        """Those of the one that is wrong."""
        names = _names(self, rank, size)
        arguments = _right(self, names)
        for argument, given in {**self.bad.beside, self.bad.argument: self.bad.given}.items():
            if not given:
                del arguments[argument]
            elif argument == "any other":
                arguments["oops"] = 1
            else:
                arguments[argument] = eval(given, NAMES, names)
        if "x" in self.bad.beside or self.bad.argument == "x":
            arguments.pop("out", None)
        return arguments

    def words(self, rank: int, size: int) -> list[str]:
        """What the message of the rank at fault must contain."""
        return self.bad.said.format(**_names(self, rank, size)).split(" ... ")


def odd(size: int) -> int:
    """The one that is wrong where one is, and the root."""
    return size // 2


def _names(row: Row, rank: int, size: int) -> dict[str, object]:
    """What the expressions of a row may name, on that rank."""
    room = array(12 * size + 13)
    share = 12 // size
    result = {**dict.fromkeys(GATHERING, 12 * size), **dict.fromkeys(SCATTERING, share)}
    counts = [12 if row.collective in GATHERING else share] * size
    return {
        "size": size, "last": size - 1, "odd": odd(size), "rank": rank, "room": room,
        "x": room[1:13], "n": result.get(row.collective, 12), "counts": counts,
    }  # fmt: skip


def _right(row: Row, names: dict[str, object]) -> dict[str, object]:
    if row.call == "barrier":
        return {}
    if row.call == "split":
        return {"color": 0, "key": 0}
    out = np.full(names["n"], -1, np.float32)
    arguments = {"x": names["x"], "out": out}
    if row.call == "plan":
        arguments |= row.planned
    elif "root" in parameters(row.call):
        arguments["root"] = names["odd"]
    return arguments


def _applies(bad: Bad, call: str) -> bool:
    if bad.only and call not in bad.only:
        return False
    if bad.argument == "op" and call not in REDUCING:
        return False
    return bad.argument == "any other" or bad.argument in parameters(call)


ROWS = {row.name: row for call in CALLS for bad in BAD if _applies(bad, call)
        for row in [Row(call, bad)]}  # fmt: skip


# ---- how a rank goes through a row -------------------------------------------------------


@dataclass
class Heard:
    """What a rank heard of a call, after how long, what its next call came to, and whether its
    arrays are as they were."""

    error: str
    message: str
    seconds: float
    then: str
    untouched: bool

    def is_a(self, error: str, *words: str) -> bool:
        """Fail unless the error is of that class, and its message holds the words."""
        assert self.error == error, self
        assert all(word in self.message for word in words), self
        return True


def hear(comm, row: Row, wrong: bool, background: bool = False) -> Heard:
    """Make the call, wrong or right, and then an all-reduce of ones."""
    arguments = (row.wrong if wrong else row.right)(comm.rank, comm.size)
    arrays = [each for each in arguments.values() if isinstance(each, np.ndarray)]
    method = getattr(comm, row.call)
    if background:
        return heard_of(comm, lambda: method(**arguments, async_op=True).wait(), arrays)
    return heard_of(comm, lambda: method(**arguments), arrays)


def heard_of(comm, call, arrays=()) -> Heard:
    """What this rank hears of any call, which should leave the arrays alone."""
    before = [each.tobytes() for each in arrays]
    error, message, started = "", "", time.monotonic()
    try:
        call()
    except Exception as raised:
        error, message = type(raised).__name__, str(raised)
    seconds = time.monotonic() - started
    untouched = before == [each.tobytes() for each in arrays]
    return Heard(error, message, seconds, afterwards(comm), untouched)


def afterwards(comm) -> str:
    """What the next call comes to: "works", or the name of an error."""
    try:
        total = comm.all_reduce(np.ones(1))[0]
    except refcoll.RefcollError as error:
        return type(error).__name__
    return "works" if total == comm.size else f"{total}"


def different(comm, row) -> Heard:
    """Make the call of the others, or of the odd one: see ``bad_input_different``."""
    _, usual, odds, _, _ = row
    call = odds if comm.rank == odd(comm.size) else usual
    names = {"comm": comm, "size": comm.size, "last": comm.size - 1}
    return heard_of(comm, lambda: eval(f"comm.{call}", NAMES, names))


# ---- what every rank must have heard -----------------------------------------------------

SOON = 15
"""Seconds."""


def require_refused(row: Row, heard: list[Heard], wrong_on: list[int]) -> None:
    """Fail unless the mistake of some ranks was told to all, soon, and nothing was written.

    Where all are at fault the communicator works on; else it is poisoned.
    """
    size = len(heard)
    at_fault = [rank for rank in wrong_on if row.finds_fault(rank, size)]
    words = [word for rank in at_fault for word in row.words(rank, size)]
    for rank, each in enumerate(heard):
        where = f"{row.name}, wrong on {wrong_on}, rank {rank}: {each}"
        if rank in at_fault:
            assert each.error == "ArgumentError", where
            assert all(word in each.message for word in row.words(rank, size)), where
        else:
            assert each.error == "DisagreementError", where
            assert all(word in each.message for word in words), where
            assert f"  {named(at_fault)}: " in each.message, where
        assert each.then == ("works" if len(at_fault) == size else "PoisonedError"), where
        assert each.untouched, where
        assert each.seconds < SOON, where


def require_different(row, heard: list[Heard]) -> None:
    """Fail unless all ranks were told who said what, soon, and are poisoned."""
    size = len(heard)
    differs = odd(size)
    others = named([rank for rank in range(size) if rank != differs])
    here, there = (said.format(share=12 // size) for said in row[3:])
    for each in heard:
        lines = {line.split(":")[0].strip(): line for line in each.message.splitlines()}
        assert each.error == "DisagreementError", (row, each)
        assert here in lines[others], (row, each)
        assert there in lines[f"rank {differs}"], (row, each)
        assert each.then == "PoisonedError", (row, each)
        assert each.seconds < SOON, (row, each)
