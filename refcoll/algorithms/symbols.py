"""The counts that formulas are made of: N, and what follows from it."""

from __future__ import annotations

from refcoll.formulas import (
    Count,
    S,
    alpha,
    alpha_inter,
    alpha_switch,
    beta,
    beta_inter,
    beta_switch,
    gamma,
    most,
    over,
)

__all__ = [
    "FOLDED",
    "LOG2_N",
    "Count",
    "L",
    "M",
    "N",
    "S",
    "alpha",
    "alpha_inter",
    "alpha_switch",
    "beta",
    "beta_inter",
    "beta_switch",
    "gamma",
    "k",
    "log2_p",
    "most", "over",
    "p",
    "shards",
]  # fmt: skip

N = Count("N", "ranks", lambda size, **_: size)
L = Count("L", "log2 N, rounded up", lambda size, **_: (size - 1).bit_length())
p = Count("p", "the greatest power of 2 up to N", lambda size, **_: 1 << size.bit_length() - 1)
log2_p = Count("log2 p", "of p, the greatest power of 2 up to N",
               lambda size, **_: size.bit_length() - 1)  # fmt: skip
FOLDED = Count("[N>p]", "1 where N is no power of 2, else 0",
               lambda size, **_: int(size & (size - 1) != 0))  # fmt: skip
LOG2_N = Count("log2 N", "N being a power of 2", lambda size, **_: size.bit_length() - 1)
M = Count("M", "segments", lambda size, segments, **_: segments)
k = Count("k", "radix", lambda size, radix, **_: radix)
shards = Count("m", "shards", lambda size, shards, **_: shards)
