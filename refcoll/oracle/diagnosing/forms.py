"""Hypotheses about single elements: their bytes, signs, payloads and parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.guarded import poisoned
from refcoll.oracle.merging import is_nan


def flipped_bit(e: Evidence, rank: int) -> str | None:
    """The same bit is another one in all wrong elements, set here and cleared there.

    That of a float's sign is its own matter, and one that is always set is an offset.
    """
    places, got = e.wrong[rank], e.got(rank)
    if e.probe in ("rough", "special") or kind(got.dtype) not in "if" or len(places) < _FEWEST:
        return None
    if str(e.call.op).startswith(("avg", "logical")):  # rounded, or of one bit
        return None
    one, other = (
        np.ascontiguousarray(x[places]).view(f"u{got.dtype.itemsize}")
        for x in (got, e.wanted(rank))
    )
    mask = int(one[0] ^ other[0])
    bit, sign = mask.bit_length() - 1, 8 * got.dtype.itemsize - 1
    if mask.bit_count() != 1 or ((one ^ other) != mask).any() or len({*(one & mask)}) == 1:
        return None
    if kind(got.dtype) == "f" and bit == sign:
        return None
    return f"{e.where(places)}: right, but with bit {bit} flipped"


_FEWEST = 4
"""Elements: by chance one bit tells two numbers apart now and then."""


def byte_order(e: Evidence, rank: int) -> str | None:
    """Every element with its bytes, or its two halves, the other way round."""
    wanted = e.wanted(rank)
    half = wanted.dtype.itemsize // 2
    if half == 0:
        return None
    if _same_bits(e, rank, wanted.byteswap()):
        return f"{e.where(e.wrong[rank])}: right, but with the bytes in reverse order"
    if kind(wanted.dtype) == "c" or half == 1:  # parts; the same as bytes
        return None
    halves = np.ascontiguousarray(wanted).view(f"u{half}").reshape(-1, 2)[:, ::-1]
    if not _same_bits(e, rank, np.ascontiguousarray(halves).ravel().view(wanted.dtype)):
        return None
    return f"{e.where(e.wrong[rank])}: right, but with the upper and lower {8 * half} bits swapped"


def swapped_parts(e: Evidence, rank: int) -> str | None:
    """Real for imaginary, or all real parts before all imaginary ones."""
    wanted = e.wanted(rank)
    if kind(wanted.dtype) != "c":
        return None
    parts = np.ascontiguousarray(wanted).view(wanted.real.dtype).reshape(-1, 2)
    if _same_bits(e, rank, _complex(parts[:, ::-1], wanted)):
        return f"{e.where(e.wrong[rank])}: real and imaginary parts in each other's place"
    if _same_bits(e, rank, _complex(parts.T, wanted)):
        return f"{e.where(e.wrong[rank])}: all real parts, then all imaginary ones: in planes"
    return None


def _complex(parts: Array, like: Array) -> Array:
    return np.ascontiguousarray(parts).ravel().view(like.dtype)


def other_bits(e: Evidence, rank: int) -> str | None:
    """Moved numbers that are the same, and zeros and NaNs that have become other ones."""
    wanted, got = (x[e.wrong[rank]] for x in (e.wanted(rank), e.got(rank)))
    if e.call.op is not None or kind(wanted.dtype) not in "fc":
        return None
    nan = is_nan(wanted)
    if not ((wanted == got) | (nan & is_nan(got))).all():
        return None
    lost = ["the sign of zero"] if not nan.all() else []
    lost += ["the payload of NaNs"] if nan.any() else []
    return (
        f"{e.where(e.wrong[rank])}: {' and '.join(lost)} lost: the data were moved as numbers, not "
        "as bits"
    )


def not_a_bool(e: Evidence, rank: int) -> str | None:
    """A byte in a bool that is neither 0 nor 1."""
    got = e.got(rank)[e.wrong[rank]]
    if got.dtype.kind != "b" or not (got.view(np.uint8) > 1).all() or poisoned(got).all():
        return None
    shown = sorted({int(each) for each in got.view(np.uint8)})
    return (
        f"{e.where(e.wrong[rank])}: bools that are neither 0 nor 1 but {shown[0]}: added as bytes"
    )


def _same_bits(e: Evidence, rank: int, other: Array) -> bool:
    """In all wrong places; a NaN may be another one."""
    places, width = e.wrong[rank], other.dtype.itemsize
    one, two = (
        np.ascontiguousarray(x[places]).view(np.uint8).reshape(-1, width)
        for x in (e.got(rank), other)
    )
    return bool((one == two).all())


FORMS: Sequence[Callable[[Evidence, int], str | None]] = (
    byte_order, swapped_parts, other_bits, not_a_bool, flipped_bit,
)  # fmt: skip
