"""Inputs of more than 2^31 bytes, and what their sum is."""

import numpy as np

BIG = (1 << 31) + 7
"""Elements, of one byte."""
_BLOCK = 1 << 24


def big_input(rank, empty=lambda n: np.empty(n, np.uint8)):
    """BIG bytes that tell where they are: (7 i + i // 2^24 + 31 rank) mod 256."""
    x = empty(BIG)
    ramp = (np.arange(_BLOCK) * 7).astype(np.uint8)
    for number, start in enumerate(range(0, BIG, _BLOCK)):
        block = x[start : start + _BLOCK]
        np.add(ramp[: block.size], np.uint8((number + 31 * rank) % 256), out=block)
    return x


def big_sum_is_right(x, size):
    """Whether x holds the sum over ranks of their inputs, mod 256, everywhere."""
    ramp = (np.arange(_BLOCK) * 7 * size).astype(np.uint8)
    ranks = 31 * sum(range(size))
    return x.size == BIG and all(
        np.array_equal(
            x[start : start + _BLOCK],
            ramp[: x[start : start + _BLOCK].size] + np.uint8((number * size + ranks) % 256),
        )
        for number, start in enumerate(range(0, BIG, _BLOCK))
    )


def available_memory():
    """Bytes that can be had without swapping."""
    with open("/proc/meminfo") as file:
        line = next(line for line in file if line.startswith("MemAvailable"))
    return int(line.split()[1]) << 10
