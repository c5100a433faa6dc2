"""Operators that do not commute: the simulator applies them in rank order."""

from __future__ import annotations

from functools import reduce

import numpy as np
from hypothesis import strategies as st

from drawn_programs import defined, programs
from refcoll import algorithms, check, program, simulate, user_operator
from samples import drawn, through

PRIME = 10007


def packed(a, b):
    """The map x -> a x + b modulo a prime, as one integer."""
    return a * PRIME + b


def after(left, right):
    """First ``left``, then ``right``: (a2 a1) x + (a2 b1 + b2)."""
    (a1, b1), (a2, b2) = divmod(left, PRIME), divmod(right, PRIME)
    return packed(a2 * a1 % PRIME, (a2 * b1 + b2) % PRIME)


IN_ORDER = [each for each in algorithms() if each.in_rank_order]


@drawn(200, programs(IN_ORDER, roots=False), st.integers(0, 40), st.integers(0, 2**32))
def test_maps_are_composed_in_rank_order(made, count, seed):
    random = np.random.default_rng(seed)
    maps = packed(*random.integers(1, PRIME, (2, made.size, count)))
    results = simulate(made, list(maps), user_operator(after, "after"))
    for rank, _, where, who in defined(made, count):
        for element in range(where.start, where.stop):
            expected = reduce(after, [int(each) for each in maps[who, element]])
            assert results[rank][element] == expected


def times(left, right):
    """The product of 2 x 2 matrices of numbers modulo 251, each packed into 32 bits."""
    a, b, c, d = (left >> shift & 255 for shift in (24, 16, 8, 0))
    e, f, g, h = (right >> shift & 255 for shift in (24, 16, 8, 0))
    entries = (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)
    return sum((entry % 251) << shift for entry, shift in zip(entries, (24, 16, 8, 0), strict=True))


def digits(number):
    """How many hexadecimal digits a positive number has."""
    return sum((number >> 4 * k > 0) * 1 for k in range(15))


def joined(left, right):
    """The digits of one behind those of the other."""
    return (left << 4 * digits(right)) + right


@through([1, 2, 3, 4, 6, 8], IN_ORDER)
def test_matrices_and_strings_are_joined_in_rank_order(each, size):
    made = program(each.collective, each.name, size, segments=2, radix=3, shards=2)
    random = np.random.default_rng(size)
    matrices = random.integers(0, 251, (4, size, 7))
    packed_matrices = sum(m << s for m, s in zip(matrices, (24, 16, 8, 0), strict=True))
    products = simulate(made, list(packed_matrices), user_operator(times, "times"))
    names = [np.full(7, rank + 1) for rank in range(size)]
    strings = simulate(made, names, user_operator(joined, "joined"))
    for rank, _, where, who in defined(made, 7):
        wanted = int("".join(f"{r + 1:x}" for r in who), 16)
        assert np.all(strings[rank][where] == wanted)
        for element in range(where.start, where.stop):
            left = np.eye(2, dtype=int)
            for r in who:
                left = left @ matrices[:, r, element].reshape(2, 2) % 251
            unpacked = [int(products[rank][element]) >> s & 255 for s in (24, 16, 8, 0)]
            assert left.reshape(-1).tolist() == unpacked


@through([1, 2, 3, 5, 8, 9], IN_ORDER)
def test_the_leftmost_is_the_first_and_the_rightmost_the_last(each, size):
    x = [np.full(7, rank) for rank in range(size)]
    made = program(each.collective, each.name, size)
    for pick, which in [(lambda a, b: a, 0), (lambda a, b: b, -1)]:
        results = simulate(made, x, user_operator(pick, "pick"))
        for rank, _, where, who in defined(made, 7):
            assert np.all(results[rank][where] == who[which])


def test_the_ring_merges_a_chunk_from_the_next_rank_round_to_its_own():
    """Chunk c comes by c + 1, c + 2, ..., c; each puts itself left of a higher rank's."""
    value = check(program("all_reduce", "ring", 4)).values[0]
    assert [str(value[chunk]) for chunk in range(4)] == [
        "(x0+((x1+x2)+x3))",  # 1, 2, 3, then 0 on the left
        "((x0+(x2+x3))+x1)",  # 2, 3, then 0 on the left of them, then 1 on the right of 0
        "(((x0+x3)+x1)+x2)",  # 3, then 0 on its left, then 1 and 2 on the right
        "(((x0+x1)+x2)+x3)",
    ]
