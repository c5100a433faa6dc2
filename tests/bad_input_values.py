"""What may be wrong with each argument of the calls that all ranks make together."""

from __future__ import annotations

from bad_input_making import Bad, each
from bad_input_options import OPTIONS
from bad_input_words import LENGTHS, NO_INTEGER, NOT_AN_ARRAY, NOT_AN_OPERATOR, NOT_NUMERIC

SAME_SHAPE = ("all_reduce", "broadcast", "reduce", "all_to_all", "scan", "exscan", "plan")
COUNTED = ("reduce_scatter", "all_gather", "gather", "scatter", "plan")

BAD = [
    *each(
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
    *each(
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
    *each(
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
    *each(
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
    *each(
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
    *OPTIONS,
]  # fmt: skip
