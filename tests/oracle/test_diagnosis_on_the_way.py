"""What a rank puts in arrives as something else: shifted, rounded, without its sign."""

import numpy as np
import pytest

from oracle_evidence import SIZE, said
from refcoll.oracle.calls import Call
from refcoll.testing.values import dtype_named

SUM = Call("all_reduce", 131)


def words_of(change, call=SUM, ranks=(2,)):
    """Of an implementation in which some ranks' inputs become something else, and asked so."""

    def given_to(inputs):
        return [change(x) if rank in ranks else x for rank, x in enumerate(inputs)]

    merge = {"sum": np.add, "max": np.maximum, "min": np.minimum}[call.op].reduce
    piece = lambda rank: slice(rank * call.count, (rank + 1) * call.count)  # noqa: E731

    def results(inputs):
        total = merge(np.stack(given_to(inputs))).astype(call.dtype)
        scatters = call.collective == "reduce_scatter"
        return [total[piece(rank)] if scatters else total for rank in range(SIZE)]

    return said(call, lambda rank, right, inputs: results(inputs)[rank], again=results)


def first_chunk_of_the_second(x):
    """As of a buffer that was filled again too early."""
    return np.concatenate([x[33:66], x[33:]])


@pytest.mark.parametrize(
    ("change", "call", "words"),
    [
        (lambda x: np.roll(x, -1), SUM, "that of element i + 1 in all 131 elements"),
        (lambda x: np.roll(x, 3), SUM, "that of element i - 3 in all 131 elements"),
        (
            first_chunk_of_the_second, SUM,
            "that of element i + 33 in elements 0-32 (chunk 0 of 4, as in a ring)",
        ),
        (np.abs, SUM, "without its sign in elements "),
        (lambda x: x.astype("f2").astype(x.dtype), SUM, "rounded to float16 in elements "),
        (lambda x: x.byteswap(), Call("all_reduce", 131, "int64"),
         "with its bytes in reverse order in all 131 elements"),
        (lambda x: x.astype("f4").astype(x.dtype), Call("all_reduce", 131, "float64"),
         "rounded to float32 in "),
        (lambda x: np.roll(x, -5), Call("all_reduce", 131, "int16", "max"),
         "that of element i + 5 in all 131 elements"),
        (lambda x: np.roll(x, -5), Call("all_reduce", 131, "float32", "min"),
         "that of element i + 5 in all 131 elements"),
    ],
)  # fmt: skip
def test_one_rank_s_input(change, call, words):
    found = words_of(change, call)
    assert f"what rank 2 puts in is {words}" in found


def test_two_ranks_inputs_and_pieces():
    """The whole input is shifted, and each rank gets a piece of it."""
    call = Call("reduce_scatter", 40)
    assert words_of(lambda x: np.roll(x, -2), call, ranks=(1, 3)) == (
        "on all ranks: what ranks 1, 3 put in is that of element i + 2 in all 40 elements"
    )


def test_what_all_ranks_round_is_how_sums_are_kept():
    narrow = dtype_named("bfloat16")
    found = words_of(lambda x: x.astype(narrow).astype(x.dtype), ranks=range(SIZE))
    assert ": rounded on the way, as to float16 or with a common scale" in found


def test_nothing_is_said_that_does_not_give_the_wrong_result():
    """Alone it is shifted; together something else is wrong as well."""

    def change(rank, right, given):
        right[3:90] += np.arange(87) ** 2
        return right

    alone = lambda given: [np.add.reduce([np.roll(given[0], 1), *given[1:]])] * SIZE  # noqa: E731
    assert "puts in" not in said(SUM, change, again=alone)


def test_few_values_elsewhere_are_chance():
    """Two elements of small numbers are those of other places soon."""

    def change(x):
        x = x.copy()
        x[:2] = x[[70, 71]]
        return x

    assert "that of element" not in words_of(change, Call("all_reduce", 131, "int8"))
    assert "element i + 70 in elements 0-1" in words_of(change, SUM)


# ---- bits, ends, zeros ---------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "bit"), [("float32", 2), ("int32", 17), ("float64", 51)])
def test_a_bit_in_each_line(dtype, bit):
    def change(rank, right, given):
        width = right.itemsize
        right.view(f"u{width}")[:: 64 // width] ^= np.uint64(1 << bit).astype(f"u{width}")
        return right

    found = said(Call("broadcast", 131, dtype, None), change, "bits")
    every = f"(every {64 // np.dtype(dtype).itemsize}th)"
    assert found.endswith(f"{every}: right, but with bit {bit} flipped")


@pytest.mark.parametrize(("dtype", "half"), [("float64", 32), ("int32", 16), ("uint64", 32)])
def test_halves_of_every_other_element(dtype, half):
    """It was once called a contribution that is missing."""

    def change(rank, right, given):
        raw = right.view(f"u{right.itemsize}")
        width = raw.dtype.type(half)
        raw[1::2] = raw[1::2] >> width | raw[1::2] << width
        return right

    found = said(Call("all_reduce", 131, dtype), change)
    assert found.endswith(f"(every 2nd): right, but with the upper and lower {half} bits swapped")


def test_a_bit_that_is_always_set_is_an_offset():
    def change(rank, right, given):
        right[right & 4 == 0] += 4
        return right

    assert "flipped" not in said(Call("all_reduce", 131, "int32"), change)


def test_truth_values_are_no_flipped_bits():
    def change(rank, right, given):
        right[::2] ^= 1
        return right

    assert "flipped" not in said(Call("all_reduce", 131, "int32", "logical_xor"), change)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_what_is_beyond_a_limit_is_the_limit(dtype):
    found = said(Call("all_reduce", 131, dtype), lambda r, right, given: right.clip(-999, 999))
    assert found.endswith("clamped to -999 to 999")


def test_one_constant_that_is_not_a_limit_for_others():
    """Right ones are larger."""

    def change(rank, right, given):
        order = np.argsort(right)
        right[order[-40:-20]] = right[order[-41]]
        return right

    assert "clamped" not in said(SUM, change)


@pytest.mark.parametrize(
    ("op", "dtype", "probe"),
    [("max", "int32", "extremes"), ("min", "uint8", "extremes"), ("prod", "float32", "special"),
     ("min", "float32", "huge"), ("bitwise_and", "int16", "coded"),
     ("logical_and", "int32", "coded")],
)  # fmt: skip
def test_zeros_that_count_as_no_inputs(op, dtype, probe):
    """Merged one after the other by Python, without the zeros."""
    merge = {
        "max": np.maximum, "min": np.minimum, "prod": np.multiply, "bitwise_and": np.bitwise_and,
        "logical_and": np.logical_and,
    }[op]  # fmt: skip

    def change(rank, right, given):
        columns = ([x for x in column if x != 0] for column in np.stack(given).T)
        return np.array([merge.reduce(np.array(each, dtype)) if each else 0 for each in columns])

    found = said(Call("all_reduce", 131, dtype, op), change, probe)
    assert found.endswith(": zeros are left out, as if they were no inputs")


def test_infinities_of_the_wrong_sign():
    found = said(SUM, lambda r, right, given: np.where(np.isinf(right), -right, right), "huge")
    assert found.endswith(": infinite, but of the wrong sign")
