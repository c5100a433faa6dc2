"""A case as JSON has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refcoll.operators import Array
from refcoll.oracle.vectors.cases import Case
from refcoll.oracle.vectors.encoding import bits, encoded, hexadecimal, kind_named
from refcoll.oracle.vectors.expected import Interval
from refcoll.oracle.vectors.orders import in_known_orders
from refcoll.oracle.vectors.results import Right, rights
from refcoll.testing.values import dtype_named

Record = dict[str, Any]


def record(case: Case) -> Record:
    """With the keys that docs/vectors.md describes."""
    call = case.call
    made: Record = {
        "id": case.id,
        "collective": call.collective,
        "ranks": case.size,
        "count": call.count,
        "dtype": call.dtype,
        "operator": call.op,
        "root": call.root,
        "in_place": call.in_place,
        "flags": sorted(case.flags),
        **({"comment": case.comment} if case.comment else {}),
        "rules": _rules(case),
        "inputs": [_input(case, rank) for rank in range(case.size)],
        "results": [_result(case, right) for right in rights(case)],
    }
    if known := _in_known_orders(case):
        made["in_known_orders"] = known
    return made


def _rules(case: Case) -> Record:
    made: Record = {"compare": case.compare}
    if case.call.op is not None and kind_named(case.call.dtype) in "fc":
        made["nan"] = "propagate_or_ignore" if case.compare == "either" else "propagate"
        made["zero_sign"] = "any"
    if case.call.collective == "all_reduce" and case.compare == "interval":
        made["agreement"] = "same_bits"
    return made


def _input(case: Case, rank: int) -> Record:
    if case.compare == "bits":
        return {"bits": bits(case.inputs[rank])}
    return values_and_bits(case.inputs[rank], case.call.dtype)


def values_and_bits(values: Array, dtype: str) -> Record:
    """The values, and of 16-bit floats the bits beside."""
    made: Record = {"values": encoded(values, dtype)}
    if dtype in ("float16", "bfloat16"):
        made["bits"] = bits(values)
    return made


def _result(case: Case, right: Right) -> Record:
    made: Record = {"ranks": list(right.ranks)}
    if case.compare == "bits":
        return made | {"bits": bits(right.exact)}
    dtype = case.call.dtype
    made |= values_and_bits(right.exact, dtype)
    if right.ignoring_nan is not None:
        made["values_ignoring_nan"] = encoded(right.ignoring_nan, dtype)
    if right.intervals is not None:
        made |= _bounds(right.intervals, dtype)
    return made


def _bounds(intervals: Sequence[Interval], dtype: str) -> Record:
    """Of complex numbers in pairs."""
    of_complex = kind_named(dtype) == "c"
    native = dtype_named(dtype).type(0).real.dtype if of_complex else dtype_named(dtype)
    columns: Record = {
        "rational": [str(each.exact) for each in intervals],
        "bound": [hexadecimal(each.upper_bound()) for each in intervals],
        "low": [hexadecimal(each.low(native)) for each in intervals],
        "high": [hexadecimal(each.high(native)) for each in intervals],
    }
    if not of_complex:
        return columns
    return {
        key: [list(pair) for pair in zip(said[::2], said[1::2], strict=True)]
        for key, said in columns.items()
    }


def _in_known_orders(case: Case) -> list[Record]:
    """Orders that give some ranks the same together."""
    found: dict[str, Record] = {}
    for each in in_known_orders(case):
        said = {"ranks": list(each.ranks), **values_and_bits(each.values, case.call.dtype)}
        found.setdefault(str(said), {"orders": [], **said})["orders"].append(each.name)
    return list(found.values())
