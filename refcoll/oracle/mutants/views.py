"""Mutants that take any array for one whose elements lie side by side, and aligned."""

from __future__ import annotations

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.calls import MISALIGNED, STRIDED
from refcoll.oracle.mutants.beyond import padded
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants


class StridesNotSeen(Faulty):
    """Stores the result from the view's address on, without gaps."""

    shows_at = ShowsAt("all_reduce", counts="2 and more; strided", layout=STRIDED)
    says = "between the elements of a strided buffer"

    def store(self, values: Array, out: Array) -> None:
        padded(out, 0)[:] = values


class StridesNotRead(Faulty):
    """Sends what lies from the view's address on: gaps, too."""

    shows_at = ShowsAt("broadcast", counts="2 and more; strided", layout=STRIDED)
    says = "gaps of a strided view were taken for its elements"

    def broadcast(self, x: Array | None, out: Array, root: int) -> None:
        super().broadcast(None if x is None else padded(x, 0).copy(), out, root)


class ContiguousCopyNotReturned(Faulty):
    """Works on a contiguous copy of a strided output, and returns the original
    (as NVIDIA/Megatron-LM#5337)."""

    shows_at = ShowsAt("all_gather", counts="any; strided", layout=STRIDED)
    says = "not written"

    def store(self, values: Array, out: Array) -> None:
        np.ascontiguousarray(out)[:] = values


class AddressRoundedDown(Faulty):
    """Stores to the last multiple of the element's width before the address."""

    shows_at = ShowsAt("scatter", counts="any; misaligned", layout=MISALIGNED)
    says = "right, but 1 byte too early"

    def store(self, values: Array, out: Array) -> None:
        off = out.ctypes.data % out.itemsize
        if off and out.flags.c_contiguous:
            padded(out.view(np.uint8), 0, off)[: out.nbytes] = values.view(np.uint8)
        else:
            super().store(values, out)


MUTANTS = mutants(
    "views", StridesNotSeen, StridesNotRead, ContiguousCopyNotReturned, AddressRoundedDown
)
