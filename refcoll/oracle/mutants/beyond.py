"""Memory on both sides of an array: what code reaches that miscounts, in languages without bounds.

Only for arrays that lie in larger memory, as those of ``guarded`` do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from refcoll.operators import Array


def padded(values: Array, elements: int, ahead: int = 0) -> Array:
    """A view that goes past the ends of ``values``: what C code has that miscounts."""
    start = values.ctypes.data - ahead * values.itemsize
    shape: Any = (values.size + elements + ahead,)
    holder = _Memory(start, shape[0] * values.itemsize, values)
    return np.asarray(holder).view(values.dtype)


class _Memory:
    """Bytes at an address, for numpy."""

    def __init__(self, address: int, nbytes: int, owner: Array) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (address, False), "shape": (nbytes,), "typestr": "|u1", "version": 3,
        }  # fmt: skip
