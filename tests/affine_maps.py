"""Maps x -> a x + b: composing them is associative, and does not commute."""

from __future__ import annotations

from functools import reduce

from refcoll import user_operator


def composed(*maps: tuple[int, int]) -> tuple[int, int]:
    """a x + b after one another, the first outermost: associative, not commutative."""
    return reduce(lambda f, g: (f[0] * g[0], f[0] * g[1] + f[1]), maps)


COMPOSE = user_operator(
    lambda f, g: f.real * g.real + 1j * (f.real * g.imag + f.imag), "compose", commutative=False
)
"""The map x -> a x + b as the number a + bi."""
