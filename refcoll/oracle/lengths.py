"""Lengths at which implementations go wrong, each for a reason.

0, 1                        nothing to do; nothing to divide
N-1, N, N+1, 2N+1           empty chunks; the first chunk that is longer than others
131                         a prime, and more than vectors hold: the usual length
1,024 and 1,025             a power of two, as segments are, and one more
beyond 4 KiB                in every dtype, since limits count bytes: in shared memory Open MPI
                            sends messages up to there at once
64 KiB, and beyond          likewise by TCP; longer ones wait for their receiver
chunks beyond 64 KiB        the messages of algorithms that cut long vectors into N chunks
"""

from __future__ import annotations

from refcoll.testing.values import dtype_named

_KIB = 1024
USUAL = 131


def counts(size: int, thorough: bool = False) -> list[int]:
    """Of a dtype and operator that is tried at many lengths."""
    few = {0, 1, size - 1, size, size + 1, 2 * size + 1, USUAL, 1024, 1025}
    more = {2, 3, 3 * size - 1, 63, 64, 65, 127, 1023, 4099, 16_384, 65_535, 65_537, 262_147}
    return sorted(few | more if thorough else few)


def beyond_a_page(dtype: str) -> int:
    """An element more than 4 KiB."""
    return 4 * _KIB // dtype_named(dtype).itemsize + 1


def long(dtype: str, size: int) -> list[int]:
    """64 KiB, and an element more; N chunks, and 4 at least, that are each so long."""
    limit = 64 * _KIB // dtype_named(dtype).itemsize
    return [limit, limit + 1, max(4, size) * limit + size]
