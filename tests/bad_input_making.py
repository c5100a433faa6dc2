"""What rows of bad input are made of: expressions, what these may name, and what is said.

A row is (kind, what is given, what is said).  What is given is an expression, which the tests
evaluate and docs/bad-input.md shows; what is said is the message, or the parts of it that name
the argument, its value and the remedy, with " ... " between them.  Names in both:

    size, last, odd     ranks; the last of them; the one that is wrong where one is, and the root
    x, room             the right x, which is room[1:13] of a longer array
    n                   how many elements the call's result has on a rank that has one
    counts              the right counts
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import repeat

import numpy as np

import refcoll
from bad_input_words import COLLECTIVE, LISTS, NO_FILE, NO_INTEGER, NODES, PROGRAM, SECONDS
from refcoll.chunks import Layout
from refcoll.testing.inprocess import InProcess, World


def array(count=12, dtype="float32"):
    return np.arange(count).astype(dtype)


def read_only(count):
    made = array(count)
    made.flags.writeable = False
    return made


def in_one_place(count):
    return np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (count,), (0,))


class Trap:
    """Something that fails in its own way when it is looked at."""

    def __iter__(self):
        raise RuntimeError("a trap")


FIRST = refcoll.user_operator(lambda left, right: left, "first")
NAMES = {
    "np": np, "array": array, "read_only": read_only, "in_one_place": in_one_place, "Trap": Trap,
    "first": FIRST, "nan": float("nan"), "inf": float("inf"),
    "ring": refcoll.program("all_reduce", "ring", 4),
    "exchange": refcoll.program("all_to_all", "pairwise", 4),
    "ones": np.ones(4), "repeat": repeat, "Layout": Layout, "end": InProcess(World(1), 0),
    **{name: getattr(refcoll, name) for name in refcoll.__all__},
}  # fmt: skip
"""What expressions may name besides what depends on the rank."""


@dataclass(frozen=True)
class Bad:
    """One wrong value of one argument."""

    argument: str
    kind: str
    given: str
    said: str
    only: tuple[str, ...] = ()
    """The calls that it is for; by default all that take the argument."""
    beside: dict[str, str] = field(default_factory=dict)
    """Other arguments without which it would be right."""
    ranks: int = 0
    """The number of ranks on which it is wrong; by default any."""


def each(argument, *rows, **options):
    """Rows of (kind, what is given, what is said) for one argument."""
    return [Bad(argument, *row, **options) for row in rows]


# ---- what one rank does by itself ---------------------------------------------------------

MOST = 1 << 20
"""Of ranks, chunks, segments and the like."""


@dataclass(frozen=True)
class Local:
    """One wrong call of a function or method."""

    of: str
    argument: str
    kind: str
    call: str
    said: str
    error: type[Exception] = refcoll.ArgumentError

    @property
    def name(self) -> str:
        return f"{self.of}: {self.argument} {self.kind}"

    def make(self, **names: object) -> object:
        return eval(self.call, NAMES, names)

    @property
    def words(self) -> list[str]:
        return self.said.split(" ... ")


def of(name, *rows):
    """Rows of (argument, kind, the call, what is said) for one function or method."""
    return [Local(name, *row) for row in rows]


def whole_number(call, argument, least=None, most=None, negative=None):
    """Rows for a whole number: the least that is allowed, the most, and what is said of less
    than none, if it is not that."""
    for kind, given in (
        ("no integer", "2.5"), ("wrong type", "'4'"), ("None", "None"), ("a bool", "True"),
        ("NaN", "nan"), ("a list", "[4]"),
    ):  # fmt: skip
        yield argument, kind, call.format(given), f"{argument}={given} {NO_INTEGER}"
    if least is not None:
        said = negative or f"must be at least {least}"
        yield argument, "negative", call.format(-1), f"{argument}=-1 {said}"
    if least:
        said = f"{argument}={least - 1} must be at least {least}"
        yield argument, "too small", call.format(least - 1), said
    if most is not None:
        said = f"{argument}=1000 ... must be at most {most}"
        yield argument, "too large", call.format("10**30"), said


def collective_name(argument, call):
    """Rows for the name of a collective."""
    for kind, given in (("unknown name", "'all_to_none'"), ("empty", "''"), ("wrong type", "7"),
                        ("None", "None"), ("a list", "['ring']")):  # fmt: skip
        yield argument, kind, call.format(given), f"{argument}={given} {COLLECTIVE}"


def node_lists(call):
    for kind, given, said in (
        ("wrong type", "5", f"nodes=5 {LISTS}"),
        ("a string", "'2x2'", f"nodes='2x2' {LISTS}"),
        ("not nested", "[0, 1, 2, 3]", f"nodes=[0, 1, 2, 3] {LISTS}"),
        ("bools", "[[False, True], [2, 3]]", f"nodes=[[False, True], [2, 3]] {LISTS}"),
        ("empty", "[]", f"nodes=() {NODES}"),
        ("a rank twice", "[[0, 1], [1, 2, 3]]", f"nodes=((0, 1), (1, 2, 3)) {NODES}"),
        ("too few ranks", "[[0, 1], [2]]", f"nodes=((0, 1), (2,)) {NODES}"),
        ("too many ranks", "[[0, 1], [2, 3, 4]]", f"nodes=((0, 1), (2, 3, 4)) {NODES}"),
        ("an empty node", "[[0, 1], [], [2, 3]]", f"nodes=((0, 1), (), (2, 3)) {NODES}"),
        ("an empty switch", "[[[0, 1], [2, 3]], []]", "has a switch without nodes"),
    ):
        yield "nodes", kind, call.format(given), said


def root_rank(call):
    yield from whole_number(call, "root", 0, negative="must be a rank from 0 to 3")
    yield "root", "too large", call.format("4"), "root=4 must be a rank from 0 to 3"


def programs(call):
    for kind, given in (("wrong type", "'ring'"), ("None", "None"), ("a list", "[ring]")):
        yield (
            "program",
            kind,
            call.format(given),
            f"program={given[:2]} ... {PROGRAM}".replace("[r", "[<Program"),
        )


def time_limits(call):
    for kind, given, said in (
        ("zero", "0", "timeout=0"), ("negative", "-1", "timeout=-1"), ("NaN", "nan", "timeout=nan"),
        ("infinite", "inf", "timeout=inf"), ("too large", "10**400", "timeout=1000 ... "),
        ("wrong type", "'5'", "timeout='5'"), ("a bool", "True", "timeout=True"),
        ("complex", "5j", "timeout=5j"), ("a list", "[5]", "timeout=[5]"),
    ):  # fmt: skip
        yield "timeout", kind, call.format(given), f"{said} {SECONDS}".replace("...  ", "... ")


def tunings(call):
    for kind, given in (("wrong type", "7"), ("a list", "[]"), ("no such file", "'missing'"),
                        ("a directory", "'/'"), ("a NUL within", "'a\\0b'")):  # fmt: skip
        said = f"tuning='{eval(given)}' {NO_FILE}" if "NUL" not in kind else NO_FILE
        yield "tuning", kind, call.format(given), said


def unknown(call, said="unexpected keyword argument 'oops'"):
    return "any other", "unknown option", call, said, TypeError
