"""What may be wrong with each argument of the calls that all ranks make together.

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

import numpy as np

import refcoll


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


def _each(argument, *rows, **options):
    return [Bad(argument, *row, **options) for row in rows]


NOT_AN_ARRAY = "not a numpy array; use numpy.asarray"
NOT_NUMERIC = "is not numeric: use bool, an integer, float or complex dtype"
NOT_AN_OPERATOR = "is not an operator; use one of sum, prod, ... or refcoll.user_operator(...)"
SECONDS = "must be a number of seconds above 0, and at most 1e+09"
A_FLAG = "must be True or False"
NO_INTEGER = "is not an integer; use an int"
LISTS = "must be a list of lists of ranks; refcoll.node_shape((4, 4)) makes them from sizes"
EACH_ONCE = "must hold each of the ranks 0 to {last} once, and no empty node"
LENGTHS = "must be {size} lengths, none negative"
SAME_SHAPE = ("all_reduce", "broadcast", "reduce", "all_to_all", "scan", "exscan", "plan")
COUNTED = ("reduce_scatter", "all_gather", "gather", "scatter", "plan")
MEMBERS = "must be integers; color may be None to stay out"
NARROW = "cannot hold every value of dtype=float32: use a dtype of the same kind"

BAD = [
    *_each(
        "x",
        ("wrong type", "[1, 2]", f"x=[1, 2] is a list, {NOT_AN_ARRAY}"),
        ("a number", "np.float64(3)", f"x=np.float64(3.0) is a float64, {NOT_AN_ARRAY}"),
        ("None", "None", f"x=None is a NoneType, {NOT_AN_ARRAY}"),
        ("objects", "np.array([{}] * 12)", f"x: dtype=object {NOT_NUMERIC}"),
        ("strings", "np.array(['a'] * 12)", f"x: dtype=<U1 {NOT_NUMERIC}"),
        ("structured", "np.zeros(12, 'f4, i4')", f"x: dtype=[('f0', ... {NOT_NUMERIC}"),
        ("dates", "np.zeros(12, 'M8[s]')", f"x: dtype=datetime64[s] {NOT_NUMERIC}"),
    ),
    Bad(
        "x", "wrong length", "array(4 * size + 1)",
        "elements, which cannot be cut into {size} equal chunks, one for each rank; pad it",
        only=("all_to_all",),
    ),
    Bad(
        "x", "missing", "", "missing a required argument: 'x'; it takes x",
        only=("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "gather",
              "scatter", "all_to_all", "scan", "exscan"),
    ),
    *_each(
        "op",
        ("unknown name", "'median'", f"op='median' {NOT_AN_OPERATOR}"),
        ("empty", "''", f"op='' {NOT_AN_OPERATOR}"),
        ("wrong type", "7", f"op=7 {NOT_AN_OPERATOR}"),
        ("None", "None", f"op=None {NOT_AN_OPERATOR}"),
        ("a list", "['sum']", f"op=['sum'] {NOT_AN_OPERATOR}"),
        ("numpy's own", "np.add", f"op=<ufunc 'add'> {NOT_AN_OPERATOR}"),
    ),
    Bad("op", "not for complex", "'max'", "op='max' is not defined for dtype=complex64, only for "
        "bool, integers, floats", beside={"x": "array(12, 'complex64')"}),
    Bad("op", "not for bool", "'sum'", "op='sum' is not defined for dtype=bool, only for "
        "integers, floats, complex numbers", beside={"x": "array(12, 'bool')"}),
    Bad("op", "not for integers", "'avg'", "op='avg' is not defined for dtype=int32, only for "
        "floats, complex numbers", beside={"x": "array(12, 'int32')"}),
    Bad("op", "not for floats", "'bitwise_or'", "op='bitwise_or' is not defined for "
        "dtype=float32, only for bool, integers"),
    Bad("op", "order asked of a root", "first", "no algorithm for reduce with root={odd} keeps "
        "rank order ... use root=0", only=("reduce",)),
    *_each(
        "root",
        ("too large", "99", "root=99 must be a rank from 0 to {last}"),
        ("negative", "-1", "root=-1 must be a rank from 0 to {last}"),
        ("no integer", "1.0", f"root=1.0 {NO_INTEGER}"),
        ("wrong type", "'0'", f"root='0' {NO_INTEGER}"),
        ("None", "None", f"root=None {NO_INTEGER}"),
        ("a bool", "True", f"root=True {NO_INTEGER}"),
        ("a list", "[0]", f"root=[0] {NO_INTEGER}"),
        ("NaN", "nan", f"root=nan {NO_INTEGER}"),
    ),
    Bad("root", "not applicable", "1", "root=1 has no meaning for all_reduce: leave it out",
        only=("plan",), beside={"collective": "'all_reduce'"}),
    *_each(
        "out",
        ("wrong type", "[0.0] * n", f"out=[0.0, ... is a list, {NOT_AN_ARRAY}"),
        ("a number", "np.float32(0)", f"out=np.float32(0.0) is a float32, {NOT_AN_ARRAY}"),
        ("objects", "np.array([{}] * n)", f"out: dtype=object {NOT_NUMERIC}"),
        ("structured", "np.zeros(n, 'f4, i4')", f"out: dtype=[('f0', ... {NOT_NUMERIC}"),
        ("wrong length", "array(n + 1)",
         "out has shape ( ... but the result has ({n},) ... pass such an array"),
        ("wrong shape", "array(n).reshape(1, n)",
         "out has shape (1, {n}) ... but the result has ({n},) ... pass such an array"),
        ("wrong dtype", "array(n, 'float64')",
         "out has ... dtype <f8 (float64), but the result has ... <f4 (float32); pass such an "
         "array"),
        ("wrong byte order", "array(n, '>f4')",
         "out has ... dtype >f4 (float32), but the result has ... <f4 (float32); pass such an "
         "array"),
        ("read-only", "read_only(n)", "out is read-only; pass an array that may be written"),
        ("overlapping", "room[:n]",
         "out overlaps x without being x; pass x itself, or separate memory"),
        ("in one place", "in_one_place(n)",
         "out has several elements in one place ... pass an array that has room for each"),
    ),
    Bad("out", "x backwards", "x[::-1]", "out overlaps x without being x; pass x itself, or "
        "separate memory", only=SAME_SHAPE),
    *_each(
        "counts",
        ("wrong type", "3", "counts=3 must be a list of integers"),
        ("a string", "'3' * size", "counts='3 ... must be a list of integers"),
        ("no integers", "[3.0] * size", "counts=[3.0 ... must be a list of integers"),
        ("bools", "[True] * size", "counts=[True ... must be a list of integers"),
        ("None within", "[None] * size", "counts=[None ... must be a list of integers"),
        ("empty", "[]", f"counts=[] {LENGTHS}"),
        ("too few", "counts[1:]", f"counts=[ ... {LENGTHS}"),
        ("too many", "[*counts, 0]", f"counts=[ ... {LENGTHS}"),
        ("negative", "[-1, *counts[1:]]", f"counts=[-1, ... {LENGTHS}"),
        ("wrong sum", "[each + 1 for each in counts]", "x has 12 elements, but ... counts"),
        ("too large", "[10**30] * size", "x has 12 elements, but ... counts"),
        ("that fails", "Trap()", "cannot be used: RuntimeError('a trap')"),
        only=COUNTED,
    ),
    Bad("counts", "not applicable", "[3] * size", "counts=[3, ... has no meaning for all_reduce: "
        "leave it out", only=("plan",), beside={"collective": "'all_reduce'"}),
    *_each(
        "algorithm",
        ("unknown name", "'magic'", "algorithm='magic' does not exist for ... there are"),
        ("empty", "''", "algorithm='' does not exist for ... there are"),
        ("wrong type", "7", "algorithm=7 does not exist for ... there are"),
        ("None", "None", "algorithm=None does not exist for ... there are"),
        ("a list", "['ring']", "algorithm=['ring'] does not exist for ... there are"),
        ("another's", "'dissemination'",
         "algorithm='dissemination' does not exist for ... there are"),
    ),
    Bad("algorithm", "needs more ranks", "'parameter_server_alone'",
        "algorithm='parameter_server_alone' needs 1 more ranks than take part: it can be counted, "
        "checked and simulated, but not run", only=("all_reduce", "plan")),
    Bad("algorithm", "not for N ranks", "'bine'",
        "size=3: bine all_reduce is defined for N a power of two only",
        only=("all_reduce", "plan"), ranks=3),
    Bad("algorithm", "loses the order", "'ring'",
        "op='first' does not commute, and algorithm='ring' does not keep rank order; see "
        "`refcoll list all_reduce`", only=("all_reduce", "plan"), beside={"op": "first"}),
    *_each(
        "accumulate",
        ("unknown name", "'wide'", "accumulate='wide' is not a dtype; use one such as 'float32'"),
        ("wrong type", "7", "accumulate=7 is not a dtype; use one such as 'float32'"),
        ("a bool", "True", "accumulate=True is not a dtype; use one such as 'float32'"),
        ("narrower", "'float16'", f"accumulate=float16 {NARROW}"),
        ("another kind", "'int64'", f"accumulate=int64 {NARROW}"),
        ("objects", "'O'", f"accumulate: dtype=object {NOT_NUMERIC}"),
        ("structured", "'f4, i4'", f"accumulate: dtype=[('f0', ... {NOT_NUMERIC}"),
    ),
    *_each(
        "async_op",
        ("wrong type", "'yes'", f"async_op='yes' {A_FLAG}"),
        ("None", "None", f"async_op=None {A_FLAG}"),
        ("a number", "1", f"async_op=1 {A_FLAG}"),
    ),
    *_each(
        "check",
        ("wrong type", "'no'", f"check='no' {A_FLAG}"),
        ("None", "None", f"check=None {A_FLAG}"),
        ("a number", "0", f"check=0 {A_FLAG}"),
    ),
    *_each(
        "timeout",
        ("zero", "0", f"timeout=0 {SECONDS}"),
        ("negative", "-1", f"timeout=-1 {SECONDS}"),
        ("NaN", "nan", f"timeout=nan {SECONDS}"),
        ("infinite", "inf", f"timeout=inf {SECONDS}"),
        ("too large", "10**400", f"timeout=1000 ... {SECONDS}"),
        ("wrong type", "'5'", f"timeout='5' {SECONDS}"),
        ("a bool", "True", f"timeout=True {SECONDS}"),
        ("complex", "np.complex64(5)", f"timeout=np.complex64(5+0j) {SECONDS}"),
        ("a list", "[5]", f"timeout=[5] {SECONDS}"),
    ),
    *_each(
        "collective",
        ("unknown name", "'all_to_none'", "collective='all_to_none' does not exist; there are"),
        ("empty", "''", "collective='' does not exist; there are all_reduce"),
        ("wrong type", "7", "collective=7 does not exist; there are all_reduce"),
        ("None", "None", "collective=None does not exist; there are all_reduce"),
        ("a list", "['barrier']", "collective=['barrier'] does not exist; there are all_reduce"),
        ("missing", "", "missing a required argument: 'collective'; it takes collective"),
    ),
    *_each(
        "nodes",
        ("wrong type", "2", f"nodes=2 {LISTS}"),
        ("a string", "'2x2'", f"nodes='2x2' {LISTS}"),
        ("not nested", "[*range(size)]", f"nodes=[0, 1 ... {LISTS}"),
        ("no integers", "[[0.0, *range(1, size)]]", f"nodes=[[0.0 ... {LISTS}"),
        ("bools", "[[False, True, *range(2, size)]]", f"nodes=[[False ... {LISTS}"),
        ("None within", "[[*range(size)], None]", f"nodes=[[0 ... {LISTS}"),
        ("empty", "[]", f"nodes=() {EACH_ONCE}"),
        ("an empty node", "[[*range(size)], []]", f"nodes=((0, ... {EACH_ONCE}"),
        ("too few ranks", "[[*range(last)]]", f"nodes=((0, ... {EACH_ONCE}"),
        ("too many ranks", "[[*range(size + 1)]]", f"nodes=((0, ... {EACH_ONCE}"),
        ("a rank twice", "[[*range(size)], [0]]", f"nodes=((0, ... {EACH_ONCE}"),
        ("a negative rank", "[[*range(last), -1]]", f"nodes=((0, ... {EACH_ONCE}"),
        ("an empty switch", "[[[*range(size)]], []]", "nodes=[[[0, ... has a switch without nodes"),
    ),
    *(
        bad
        for option, least in (("segments", 1), ("radix", 2), ("shards", 1))
        for bad in _each(
            option,
            ("too small", f"{least - 1}", f"{option}={least - 1} must be at least {least}"),
            ("negative", "-1", f"{option}=-1 must be at least {least}"),
            ("too large", "2**20 + 1", f"{option}=1048577 must be at most 1048576"),
            ("no integer", "2.5", f"{option}=2.5 {NO_INTEGER}"),
            ("wrong type", "'8'", f"{option}='8' {NO_INTEGER}"),
            ("None", "None", f"{option}=None {NO_INTEGER}"),
            ("a bool", "True", f"{option}=True {NO_INTEGER}"),
            ("NaN", "nan", f"{option}=nan {NO_INTEGER}"),
        )
    ),
    *_each(
        "color",
        ("wrong type", "'red'", f"color='red', key=0 {MEMBERS}"),
        ("no integer", "1.5", f"color=1.5, key=0 {MEMBERS}"),
        ("NaN", "nan", f"color=nan, key=0 {MEMBERS}"),
        ("a list", "[0]", f"color=[0], key=0 {MEMBERS}"),
        ("missing", "", "missing a required argument: 'color'; it takes color, key"),
    ),
    *_each(
        "key",
        ("wrong type", "'first'", f"key='first' {MEMBERS}"),
        ("no integer", "1.5", f"key=1.5 {MEMBERS}"),
        ("None", "None", f"key=None {MEMBERS}"),
    ),
    *_each(
        "any other",
        ("unknown option", "oops=1", "unexpected keyword argument 'oops'; it takes"),
    ),
]  # fmt: skip
