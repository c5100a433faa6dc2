"""Bits, for what is only moved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.guarded import poisoned
from refcoll.oracle.probing.asked import Asked
from refcoll.oracle.probing.floating import tiny


def bits(asked: Asked) -> Array:
    """Any bits, NaNs with payloads included; of bools 0 and 1; of floats some -0.0, too.

    But not those that results are poisoned with: an element that is never written would be right.
    """
    if asked.dtype.kind == "b":
        return asked.whole(0, 1).astype(asked.dtype)
    raw = asked.generator.bytes(asked.length * asked.dtype.itemsize)
    values = np.frombuffer(raw, asked.dtype).copy()
    if asked.kind == "f":
        chosen = asked.whole(0, 23)
        for number, special in enumerate((-0.0, 0.0, np.inf)):
            values[chosen == number] = special
        subnormal = chosen == 3
        values[subnormal] = tiny(replace(asked, length=int(subnormal.sum())))
    values[poisoned(values)] = 0
    return values
