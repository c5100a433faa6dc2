"""Each hypothesis with a case: wrong values in, what went wrong out."""

import numpy as np
import pytest

from oracle_evidence import SIZE, in_full, said
from refcoll.oracle.calls import Call
from refcoll.oracle.diagnosing.places import where
from refcoll.oracle.guarded import Guarded
from refcoll.oracle.probes import inputs
from refcoll.oracle.truth import truth
from refcoll.testing.values import dtype_named

SUM = Call("all_reduce", 131)


def put(first, end, value):
    def change(rank, right, given):
        right[first:end] = value
        return right

    return change


def test_the_tail_that_was_not_written():
    poison = Guarded(1, np.dtype("f4")).array
    words = said(SUM, put(128, 131, poison))
    assert words == (
        "on all ranks: elements 128-130 not written at all: the tail, from element 128 on, "
        "is not processed"
    )


def test_zeros():
    words = said(SUM, lambda rank, right, given: right * 0 if rank == 2 else right)
    assert words == "on rank 2: zeros in all 131 elements"


@pytest.mark.parametrize("rank", range(SIZE))
def test_the_rank_s_own_input(rank):
    words = said(SUM, lambda r, right, given: given[r] if r == rank else right)
    assert words == (
        f"on rank {rank}: all 131 elements: the rank's own input alone, nothing merged into it"
    )


def test_another_rank_s_input():
    words = said(SUM, lambda r, right, given: given[1])
    assert "on ranks 0, 2-3: all 131 elements: rank 1's input alone" in words


def test_the_previous_call():
    before = lambda earlier: [truth("coded", SUM, earlier, rank).wanted for rank in range(SIZE)]  # noqa: E731
    listed = inputs("coded", SUM, SIZE, 1)
    words = said(SUM, lambda r, right, given: before(listed)[r], before=before)
    assert words.endswith("what the previous call gave, so stale memory was read")


def test_one_rank_s_input_of_the_previous_call():
    old = inputs("coded", SUM, SIZE, 1)
    words = said(
        SUM, lambda r, right, given: right - given[2] + old[2],
        before=lambda earlier: [None] * SIZE,
        again=lambda given: [sum(given)] * SIZE,
    )  # fmt: skip
    assert words.endswith("the input of rank 2 is that of the previous call")


def test_a_rotated_piece():
    call = Call("reduce_scatter", 9)
    rights = [truth("coded", call, inputs("coded", call, SIZE, 0), r).wanted for r in range(SIZE)]
    words = said(call, lambda r, right, given: rights[(r + 2) % SIZE])
    assert words == "on all ranks: the chunk of rank (r + 2) mod 4: rotated by 2"


def test_blocks():
    call = Call("all_gather", 5, op=None)
    blocks = lambda right: right.reshape(SIZE, -1)  # noqa: E731
    rotated = said(call, lambda r, right, given: np.roll(blocks(right), -1, 0).ravel(), "bits")
    assert rotated == "on all ranks: block i holds block (i + 1) mod 4: rotated by 1"
    same = said(call, lambda r, right, given: np.tile(blocks(right)[2], SIZE), "bits")
    assert same == "on all ranks: every block holds block 2: do they share memory?"
    swapped = said(call, lambda r, right, given: blocks(right)[[0, 2, 1, 3]].ravel(), "bits")
    assert swapped == "on all ranks: blocks in a wrong place: 1 holds 2, 2 holds 1"


def test_blocks_of_other_ranks():
    call = Call("all_to_all", 5, op=None)
    words = said(call, lambda r, right, given: given[r] if r == 1 else right, "bits")
    assert "block 0 holds block 0 of rank 1's input" in words


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r, right, given: right[::-1], "all 130 elements: in reverse order"),
        (lambda r, right, given: np.roll(right, 2), "shifted: element i holds element i - 2"),
        (
            lambda r, right, given: right.reshape(5, -1).T.ravel(),
            "in storage order of a 5-row transpose",
        ),
        (lambda r, right, given: right.byteswap(), "with the bytes in reverse order"),
        (lambda r, right, given: np.sort(right), "right values of other elements"),
    ],
)
def test_permutations(change, words):
    assert words in said(Call("broadcast", 130, "float32", None), change, "coded")


def test_signs_and_payloads_of_what_is_moved():
    call = Call("broadcast", 2000, "float32", None)
    words = said(call, lambda r, right, given: np.where(right == 0, np.abs(right), right), "bits")
    assert "the sign of zero lost: the data were moved as numbers" in words
    words = said(
        call, lambda r, right, given: np.where(right != right, np.float32(np.nan), right), "bits"
    )
    assert "the payload of NaNs lost" in words


def test_complex_parts():
    call = Call("broadcast", 9, "complex64", None)
    words = said(call, lambda r, right, given: right.imag + 1j * right.real, "coded")
    assert "real and imaginary parts in each other's place" in words


@pytest.mark.parametrize(
    ("op", "factor", "words"),
    [
        ("avg", 4, "the sum, not the mean: never divided by N"),
        ("avg", 1 / 4, "divided by N twice"),
        ("avg", 4 / 131, "divided by the number of elements, 131, not by N = 4"),
        ("sum", 1 / 4, "the mean, not the sum: divided by N"),
        ("sum", 2, "twice what is right"),
        ("sum", -1, "of the opposite sign"),
        ("sum", 1 / 8, "divided by 8 once too often, as by the size of a group of ranks"),
        ("sum", 1.0123, "1.0123 times what is right"),
    ],
)
def test_factors(op, factor, words):
    got = said(Call("all_reduce", 131, op=op), lambda r, right, given: right * np.float32(factor))
    assert words in got


@pytest.mark.parametrize(
    ("op", "merge", "words"),
    [
        ("max", lambda x: np.min(x, 0), "the minimum, not the max"),
        ("min", lambda x: np.max(x, 0), "the maximum, not the min"),
        ("prod", lambda x: np.sum(x, 0), "the sum, not the prod"),
        ("bitwise_xor", lambda x: np.bitwise_or.reduce(x), "the bitwise_or, not the bitwise_xor"),
        ("logical_and", lambda x: np.bitwise_and.reduce(x), "the bitwise_and, not the logical_and"),
    ],
)
def test_other_operators(op, merge, words):
    call = Call("all_reduce", 131, "int32", op)
    assert words in said(call, lambda r, right, given: merge(np.stack(given)))


def test_signedness_and_saturation():
    call = Call("all_reduce", 131, "uint32", "max")
    change = lambda r, right, given: np.max(np.stack(given).view("i4"), 0).view("u4")  # noqa: E731
    assert "uint32 compared as int32" in said(call, change, "extremes")
    call = Call("all_reduce", 131, "uint16")
    change = lambda r, right, given: np.minimum(right, 32767)  # noqa: E731
    assert "saturated at the end of the range of int16" in said(call, change, "extremes")


def test_nans():
    call = Call("all_reduce", 131, op="min")

    def ignores_those_of_rank_1(rank, right, given):
        parts = np.stack(given)
        parts[1] = np.where(parts[1] != parts[1], np.inf, parts[1])
        return np.minimum.reduce(parts)

    words = said(call, ignores_those_of_rank_1, "special")
    assert "a NaN on ranks 0, 2-3 comes through; a NaN on rank 1 is ignored" in words
    total = Call("all_reduce", 131)
    lost = lambda r, right, given: np.where(  # noqa: E731
        (np.stack(given) != np.stack(given)).any(0), np.nansum(np.stack(given), 0), right
    )
    assert "a NaN on ranks 0-3 is lost" in said(total, lost, "special")


def test_infinities():
    clipped = lambda r, right, given: np.where(np.isinf(right), np.sign(right) * 9, right)  # noqa: E731
    assert "infinite, but came out as -9.0, 9.0" in said(SUM, clipped, "special")


def test_flushing():
    words = said(SUM, lambda r, right, given: right * 0, "tiny")
    assert words == "on all ranks: all 131 elements: subnormal, and flushed to zero"


@pytest.mark.parametrize(
    ("dtype", "narrow"),
    [
        ("float32", "bfloat16"), ("float32", "float16"), ("float64", "float32"),
        ("bfloat16", "float8_e4m3fn"),
    ],
)  # fmt: skip
def test_precision(dtype, narrow):
    def in_steps(rank, right, given):
        total = given[0].astype(dtype_named(narrow))
        for each in given[1:]:
            total = (total + each.astype(total.dtype)).astype(total.dtype)
        return total.astype(right.dtype)

    words = said(Call("all_reduce", 131, dtype), in_steps, "rough", again=in_full)
    assert f"accumulated in {narrow}, not {dtype}: off by up to" in words


def test_integers_through_floats():
    def change(rank, right, given):
        return right.astype(np.float32).astype(np.int64).clip(-(2**31), 2**31 - 1)

    words = said(Call("all_reduce", 131, "int32"), change, "extremes")
    assert "integers passed through float32, which has 24 digits" in words


def test_a_mean_cut_to_whole_numbers():
    words = said(Call("all_reduce", 131, op="avg"), lambda r, right, given: np.trunc(right))
    assert "the mean cut to a whole number" in words


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, 1, 0, 1], "rank 2 missing in all 131 elements"),
        ([0, 2, 1, 1], "rank 0 missing, rank 1 twice in all 131 elements"),
        ([3, 1, 3, 1], "ranks 0, 2 three times in all 131 elements"),
        ([1, 1, 1, -1], "rank 3 with the opposite sign (subtracted) in all 131 elements"),
        ([8, 1, 0, 0], "ranks 2-3 missing, rank 0 8 times in all 131 elements"),
    ],
)
@pytest.mark.parametrize("probe", ["coded", "rough"])
def test_contributors(weights, words, probe):
    """One rank missing among rough values is not taken for lack of precision."""

    def weighted(given):
        return sum(weight * x for weight, x in zip(weights, given, strict=True)).astype("f4")

    got = said(
        SUM, lambda r, right, given: weighted(given), probe,
        again=lambda given: [weighted(given)] * SIZE,
    )  # fmt: skip
    assert got == f"on all ranks: {words}"


def test_contributors_to_a_minimum():
    call = Call("all_reduce", 131, op="min")
    without = lambda given: np.min(np.stack(given)[[0, 1, 3]], 0)  # noqa: E731
    got = said(call, lambda r, right, given: without(given), again=lambda g: [without(g)] * SIZE)
    assert got.startswith("on all ranks: rank 2 missing in elements")


def test_some_not_written_and_the_rest_explained():
    poison = Guarded(1, np.dtype("f4")).array

    def change(rank, right, given):
        right = given[rank].copy()
        right[100:] = poison
        return right

    words = said(SUM, change)
    assert "elements 100-130 not written at all; elements 0-99: the rank's own input alone" in words


def test_what_nothing_explains_is_shown():
    words = said(SUM, put(7, 8, 12345.0))
    assert words.startswith("on all ranks: element 7 wrong, the first is np.float32(12345.0) and")


@pytest.mark.parametrize(
    ("places", "total", "words"),
    [
        (range(131), 131, "all 131 elements"),
        ([0], 1, "the one element"),
        ([7], 131, "element 7"),
        (range(99, 131), 131, "elements 99-130 (chunk 3 of 4, as in a ring)"),
        (range(33), 131, "elements 0-32 (chunk 0 of 4, as in a ring)"),
        (range(32), 131, "elements 0-31 (chunk 0 of 4, as in a ring)"),  # floor(131 i / 4)
        (range(25, 75), 100, "elements 25-74 (chunks 1-2 of 4, as in a ring)"),
        (range(12, 25), 100, "elements 12-24 (chunk 1 of 8, as in two rings)"),
        (range(512, 1024), 2000, "elements 512-1023 (segment 1 of 512 elements)"),
        ([0, 2, 4, 6, 8, 10], 20, "elements 0, 2, 4, 6, ... (every 2nd)"),
        ([5, 26, 47], 131, "elements 5, 26, 47 (every 21st)"),
        ([5, 26, 48], 131, "elements 5, 26, 48"),
        ([5, 17], 131, "elements 5, 17"),
    ],
)
def test_places(places, total, words):
    assert where(list(places), total, 4) == words


def test_halves_among_eight():
    assert where(range(50), 100, 8) == "elements 0-49 (chunk 0 of 2, as in halving)"
