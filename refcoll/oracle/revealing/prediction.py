"""Does what was revealed predict the results, to the bit, on floats of all sizes?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.calls import Call
from refcoll.oracle.revealing.arithmetic import Arithmetic, exactly
from refcoll.oracle.revealing.asking import Ask
from refcoll.oracle.revealing.masks import MASKS
from refcoll.oracle.revealing.orders import Orders
from refcoll.testing.values import dtype_named

Vectors = list[tuple[list[Array], "list[Array | None]"]]
"""Inputs by rank, and results by rank."""


@dataclass(frozen=True)
class Prediction:
    """How often it held."""

    vectors: int
    vectors_right: int
    """Calls in which every element on every rank was as predicted."""
    elements: int
    elements_right: int
    telling: int
    """Elements in which the exact sum, rounded, has other bits: there the order shows."""
    mismatches: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Always."""
        return self.elements > 0 and self.elements_right == self.elements


def tried(ask: Ask, call: Call, size: int, seed: int, vectors: int) -> Vectors:
    """Results on ``vectors`` random vectors, every other one off an aligned address."""
    generator = np.random.default_rng([seed, size, call.count])
    found: Vectors = []
    for number in range(vectors):
        inputs = [_rough(generator, call.input_length(0, size), call.dtype) for _ in range(size)]
        found.append((inputs, ask(call, inputs, number % 2)))
    return found


def _rough(generator: np.random.Generator, length: int, dtype: str) -> Array:
    """Of either sign, and of sizes that differ by up to as many bits as the dtype has."""
    bits = min(MASKS[dtype][2], 20)
    scale = 2.0 ** generator.integers(-bits // 2, bits // 2 + 1, length)
    signs = generator.choice([-1.0, 1.0], length)
    values: Array = signs * scale * generator.uniform(1, 2, length)
    return values.astype(dtype_named(dtype))


def best(
    arithmetics: Iterable[Arithmetic], call: Call, found: Orders, seen: Vectors
) -> tuple[Arithmetic, Prediction]:
    """The first arithmetic with which the prediction always holds; else the one with which it
    does most often, and of equal ones the first."""
    chosen: tuple[Arithmetic, Prediction] | None = None
    for each in arithmetics:
        held = predicted(each, call, found, seen)
        if chosen is None or held.elements_right > chosen[1].elements_right:
            chosen = each, held
        if held.holds:
            break
    assert chosen is not None
    return chosen


def predicted(arithmetic: Arithmetic, call: Call, found: Orders, seen: Vectors) -> Prediction:
    """Elements without a tree count as not predicted."""
    vectors = elements = right = telling = 0
    shown: list[str] = []
    for inputs, results in seen:
        wrong = 0
        told = _told(arithmetic, call, found, inputs)
        for rank, result in enumerate(results):
            if result is not None:
                wanted, exact, known = told(rank)
                differs = _other_bits(result, wanted) | ~known
                telling += int(_other_bits(wanted, exact).sum())
                elements, wrong = elements + result.size, wrong + int(differs.sum())
                shown += _shown(rank, result, wanted, np.flatnonzero(differs & known))
        right -= wrong
        vectors += wrong == 0
    return Prediction(
        len(seen), vectors, elements, elements + right, telling, tuple(shown[:_SHOWN])
    )


_SHOWN = 5


def _shown(rank: int, result: Array, wanted: Array, places: Sequence[int] | Array) -> list[str]:
    return [
        f"rank {rank}, element {place}: {float(result[place]).hex()}, predicted "
        f"{float(wanted[place]).hex()}"
        for place in map(int, places[:_SHOWN])
    ]


Expected = tuple[Array, Array, Array]
"""Predicted, exact, and whether there is a prediction; by element of a rank's result."""


def _told(
    arithmetic: Arithmetic, call: Call, found: Orders, inputs: Sequence[Array]
) -> Callable[[int], Expected]:
    """What is expected of a rank; found once for ranks of the same order and elements."""
    known: list[tuple[object, Expected]] = []

    def told(rank: int) -> Expected:
        what = rank if call.collective == "reduce_scatter" else found[rank]
        for before, expected in known:
            if before == what:
                return expected
        known.append((what, _expected(arithmetic, call, found, inputs, rank)))
        return known[-1][1]

    return told


def _expected(
    arithmetic: Arithmetic, call: Call, found: Orders, inputs: Sequence[Array], rank: int
) -> Expected:
    offset = rank * call.count if call.collective == "reduce_scatter" else 0
    wanted = np.zeros(call.count, inputs[0].dtype)
    exact, known = wanted.copy(), np.zeros(call.count, bool)
    for each in found[rank]:
        if each.tree is not None:
            place = slice(each.start, each.stop)
            values = {r: x[offset + each.start : offset + each.stop] for r, x in enumerate(inputs)}
            wanted[place] = arithmetic.predict(each.tree, values)
            exact[place], known[place] = exactly(each.tree, values), True
    return wanted, exact, known


def _other_bits(one: Array, other: Array) -> Array:
    width = one.dtype.itemsize
    raw = [np.ascontiguousarray(x).view(np.uint8).reshape(-1, width) for x in (one, other)]
    differs: Array = (raw[0] != raw[1]).any(axis=1)
    return differs
