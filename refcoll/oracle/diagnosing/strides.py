"""A hypothesis: blocks that ranks give stand further apart than they should, or nearer."""

from __future__ import annotations

from refcoll.operators import Array
from refcoll.oracle.diagnosing.evidence import Evidence

_MOST = 64
"""Elements that blocks are padded by."""


def other_stride(e: Evidence, rank: int) -> str | None:
    """As where each block is rounded up to a multiple: the r-th stands at r times that."""
    count, got, wanted = e.call.count, e.got(rank), e.wanted(rank)
    if not e.gathers or count < 2 or e.size < 2:
        return None
    most = min(count + _MOST, 2 * count - 1)  # else there is next to nothing of them
    for stride in (*range(count + 1, most), *range(count - 1, count // 2, -1)):
        if all(_stands(got, wanted, block, stride, count) for block in range(1, e.size)):
            return (
                f"{e.where(e.wrong[rank])}: block r stands at element {stride} r, not at "
                f"{count} r: blocks are {'padded' if stride > count else 'one on the other'}"
            )
    return None


def _stands(got: Array, wanted: Array, block: int, stride: int, count: int) -> bool:
    """Whether the block begins there; the next one may stand on its end."""
    length = min(count, stride, got.size - block * stride)
    piece = wanted[block * count :][: max(length, 0)]
    return got[block * stride :][: piece.size].tobytes() == piece.tobytes()
