"""Operators that are associative and do not commute: their inputs, and what they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.calls import Call


def matrices(call: Call, size: int, seed: int) -> list[Array]:
    """Entries 0, 1 and 2, not two of which products commute as a rule."""
    lengths = [call.input_length(rank, size) for rank in range(size)]
    make = [np.random.default_rng([seed, rank]) for rank in range(size)]
    upper = [m.integers(1, 3, (length, 4)) for m, length in zip(make, lengths, strict=True)]
    for rank, each in enumerate(upper):
        each[:, 2 - rank % 2] = 0  # triangular, upper and lower by turns: these never commute
    return upper


def strings(call: Call, size: int, seed: int) -> list[Array]:
    """One letter each: element i of rank r is the letter r + i, so that "abcd" is right."""
    lengths = [call.input_length(rank, size) for rank in range(size)]
    return [
        np.array([chr(ord("a") + (rank + i) % 26) for i in range(lengths[rank])], "U64")
        for rank in range(size)
    ]


def multiplied(left: Array, right: Array) -> Array:
    """Products of 2 x 2 matrices, one a row; modulo 2^64."""
    one, other = (x.reshape(-1, 2, 2) for x in (left, right))
    product: Array = np.einsum("nij,njk->nik", one, other).reshape(-1, 4)
    return product


def joined(left: Array, right: Array) -> Array:
    """The left string, then the right one."""
    return np.array([str(a) + str(b) for a, b in zip(left, right, strict=True)], "U64")


IN_RANK_ORDER: Mapping[str, Callable[[Array, Array], Array]] = {
    "matmul": multiplied, "concatenate": joined,
}  # fmt: skip
