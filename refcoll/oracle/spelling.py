"""A call from its words, as reports write it: "reduce sum float32 x 131 to root 2 in place"."""

from __future__ import annotations

import re

from refcoll.errors import ArgumentError
from refcoll.oracle.calls import (
    COLLECTIVES,
    CONTIGUOUS,
    IN_PLACE,
    MISALIGNED,
    REDUCING,
    ROOTED,
    STRIDED,
    Call,
    operators_for,
)
from refcoll.testing.values import DTYPES

_SPELLED = re.compile(
    r"(?P<collective>\w+)( (?P<op>\w+))? (?P<dtype>\w+) x (?P<count>\d+)"
    r"( (to|from) root (?P<root>\d+))?(?P<in_place> in place)?(, (?P<layout>\w+))?"
)


def spelled(words: str, size: int) -> Call:
    """What ``str(call)`` gives, read again.

    Raises ArgumentError for what is no call on ``size`` ranks.
    """
    found = _SPELLED.fullmatch(words.strip())
    if found is None:
        raise _no_call(words, "write it as reports do: 'all_reduce sum float32 x 131'")
    call = Call(
        found["collective"], int(found["count"]), found["dtype"], found["op"],
        int(found["root"] or 0), bool(found["in_place"]), found["layout"] or CONTIGUOUS,
    )  # fmt: skip
    if (why := _senseless(call, size)) is not None:
        raise _no_call(words, why)
    return call


def _senseless(call: Call, size: int) -> str | None:
    if call.collective not in COLLECTIVES:
        return f"there are {', '.join(COLLECTIVES)}"
    if call.dtype not in DTYPES:
        return f"of dtypes there are {', '.join(DTYPES)}"
    operators = operators_for(call.dtype) if call.collective in REDUCING else ["none"]
    if (call.op or "none") not in operators:
        return f"of operators there {'are' if call.op else 'must be one:'} {', '.join(operators)}"
    if call.root >= (size if call.collective in ROOTED else 1):
        return f"there is no root {call.root} on {size} ranks"
    if call.in_place and call.collective not in IN_PLACE:
        return f"in place there are {', '.join(IN_PLACE)}"
    if call.layout not in (CONTIGUOUS, STRIDED, MISALIGNED):
        return f"of layouts there are {STRIDED} and {MISALIGNED}"
    return None


def _no_call(words: str, why: str) -> ArgumentError:
    return ArgumentError(f"after={words!r} is no call: {why}")
