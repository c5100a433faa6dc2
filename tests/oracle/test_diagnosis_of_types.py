"""What came of one dtype's bytes in another, of accumulators, of parts; and what is no such thing.

Right values are made here, by numpy's own casts and Python's integers.
"""

import struct

import numpy as np
import pytest

from oracle_evidence import SIZE, in_full, said
from refcoll.oracle.calls import Call
from refcoll.oracle.guarded import poison
from refcoll.oracle.probes import inputs
from refcoll.testing.values import DTYPES, dtype_named

SUM = Call("all_reduce", 131)


def added_as(dtype):
    """All ranks' bytes, added as elements of that dtype, what is left over as their own."""

    def change(rank, right, given):
        taken = dtype_named(dtype)
        whole = right.nbytes // taken.itemsize * taken.itemsize // right.itemsize
        total = sum(x[:whole].view(taken) for x in given[1:]) + given[0][:whole].view(taken)
        right[:whole] = total.astype(taken).view(right.dtype)
        return right

    return change


@pytest.mark.parametrize(
    ("own", "taken", "much"),
    [
        ("int32", "float32", ""), ("float32", "int32", ""), ("bfloat16", "float16", ""),
        ("float16", "bfloat16", ""), ("int64", "float64", ""), ("complex64", "float64", ""),
        ("int8", "int32", ", 4 to one"), ("float64", "float32", ", 2 to each"),
    ],
)  # fmt: skip
def test_one_dtype_for_another(own, taken, much):
    words = said(Call("all_reduce", 131, own), added_as(taken))
    assert words.endswith(f": {own} taken for {taken}{much}")


def test_one_element_of_another_dtype():
    """As struct reads it: 2.5f and 1.0f are 0x40200000 and 0x3f800000."""
    given = [struct.unpack("i", struct.pack("f", x))[0] for x in (2.5, 1.0)]
    assert given == [0x40200000, 0x3F800000]
    words = said(Call("all_reduce", 1), added_as("int32"), size=2)
    assert words == "on all ranks: the one element: float32 taken for int32"


@pytest.mark.parametrize("op", ["min", "max"])
def test_extremes_of_another_dtype(op):
    """The bits of negative floats are in the wrong order as integers; -0.0 is the least of all."""

    def change(rank, right, given):
        return getattr(np, op)([x.view(np.int32) for x in given], axis=0).view(np.float32)

    words = said(Call("all_reduce", 131, op=op), change)
    assert words.endswith(": float32 taken for int32")


def test_what_is_not_of_another_dtype():
    """Noise, zeros, one unit: whatever the dtype, it is not taken for another."""
    generator = np.random.default_rng(0)
    for dtype in set(DTYPES) - {"bool"}:
        call = Call("all_reduce", 131, dtype)

        def noise(rank, right, given):
            return np.frombuffer(generator.bytes(right.nbytes), right.dtype)

        for change in (noise, lambda rank, right, given: right * 0):
            assert "taken for" not in said(call, change, again=in_full)


@pytest.mark.parametrize(("dtype", "taken"), [("uint64", "float64"), ("float32", "int32")])
def test_products_that_are_0_are_not_of_another_dtype(dtype, taken):
    """Though they would be 0 there: of floats below the normal range, of integers modulo 2^32."""
    call = Call("all_reduce", 131, dtype, "prod")
    with np.errstate(all="ignore"):
        other = np.prod([x.view(taken) for x in inputs("coded", call, SIZE, 0)], axis=0)
    assert (other.astype(taken) == 0).all()
    words = said(call, lambda rank, right, given: right * 0)
    assert words == "on all ranks: zeros in all 131 elements"


# ---- saturated ---------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["sum", "prod"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_unsigned_integers_that_saturate(dtype, op):
    end = 2 ** (8 * np.dtype(dtype).itemsize) - 1

    def change(rank, right, given):
        columns = zip(*(x.tolist() for x in given), strict=True)
        exact = [sum(c) if op == "sum" else c[0] * c[1] * c[2] * c[3] for c in columns]
        return np.array([min(each, end) for each in exact], dtype)

    words = said(Call("all_reduce", 131, dtype, op), change, "extremes")
    assert words.endswith(f"saturated at the end of the range of {dtype}")


def test_the_end_of_the_range_is_no_saturation_where_the_sum_is_not_beyond_it():
    """A sum of int32 that fits, passed through float32, may come out as the greatest int32."""

    def change(rank, right, given):
        return np.where(right > 2**30, 2**31 - 1, right)

    assert "saturated" not in said(Call("all_reduce", 131, "int32"), change, again=in_full)


# ---- accumulators, truths, poison --------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, float(np.finfo(np.float32).tiny)])
def test_what_an_accumulator_starts_at(value):
    words = said(
        Call("all_reduce", 131, op="max"), lambda rank, right, given: right.clip(min=value)
    )
    assert f": {np.float32(value)!s}, as if that were one more input" in words


def test_the_least_of_unsigned_integers_that_is_0_may_be_anything():
    call = Call("all_reduce", 131, "uint16", "min")
    words = said(call, lambda rank, right, given: right * 0)
    assert words == "on all ranks: zeros in all 131 elements"


@pytest.mark.parametrize(
    ("op", "told"), [("bitwise_or", "zeros in"), ("bitwise_and", "wrong, the")]
)
def test_truths_that_were_all_0_before_are_no_stale_memory(op, told):
    """Of the conjunction three are wrong, and so few are the same as many others by chance."""
    words = said(
        Call("all_reduce", 131, "bool", op), lambda rank, right, given: right & False,
        before=lambda earlier: [np.zeros(131, bool)] * SIZE,
    )  # fmt: skip
    assert told in words
    assert "stale" not in words


def test_a_bool_that_was_never_written_is_not_added_as_bytes():
    call, never = Call("all_reduce", 131, "bool", "bitwise_or"), poison(np.dtype(bool)).view(bool)
    words = said(call, lambda rank, right, given: np.resize(never, 131))
    assert words == "on all ranks: all 131 elements not written at all"


def test_bytes_that_are_poison_by_chance_are_not_told_apart():
    """Of so many wrong bytes one in 256 is the poison's."""
    call, generator = Call("all_reduce", 5000, "uint8"), np.random.default_rng(0)
    noise = np.frombuffer(generator.bytes(5000), np.uint8)
    assert (noise == poison(np.dtype("u1"))).any()
    words = said(call, lambda rank, right, given: noise.copy(), again=in_full)
    assert "not written" not in words


def test_an_accumulator_that_is_not_cleared():
    """The tail is added to what the call before gave, made here from its inputs."""
    earlier = sum(inputs("coded", SUM, SIZE, 1))
    right = sum(inputs("coded", SUM, SIZE, 0))
    tail = np.arange(131) >= 100

    def change(rank, right, given):
        return right + earlier * tail

    words = said(SUM, change, before=lambda given: [earlier] * SIZE, again=in_full)
    assert words == (
        "on all ranks: elements 100-130: what an earlier call gave, and this one's added to it: an "
        "accumulator that is not cleared"
    )
    other = said(SUM, change, before=lambda given: [right] * SIZE, again=in_full)
    assert "not cleared" not in other


# ---- means, parts, cut sums --------------------------------------------------------------------


@pytest.mark.parametrize(("divisor", "much"), [(3, "N - 1, which is 3"), (5, "N + 1, which is 5")])
def test_the_wrong_number_of_ranks(divisor, much):
    words = said(Call("all_reduce", 131, op="avg"), lambda rank, right, given: sum(given) / divisor)
    assert words == f"on all ranks: all 131 elements: divided by {much}, not by N"


def test_the_mean_of_one_part():
    def change(rank, right, given):
        return right.real + 4j * right.imag

    words = said(Call("all_reduce", 131, "complex128", "avg"), change)
    assert words.endswith("the real parts are right, the imaginary ones 4 times what is right")


def test_one_part_is_not_merged():
    words = said(
        Call("all_reduce", 131, "complex64"),
        lambda rank, right, given: given[2].real + 1j * right.imag, again=in_full,
    )  # fmt: skip
    assert words.endswith(
        "the imaginary parts are right, the real ones rank 2's alone, nothing merged into them"
    )


def test_sums_of_bfloat16_that_are_cut():
    """The upper half of a float32, as a shift leaves it."""

    def cut(rank, right, given):
        total = given[0]
        for each in given[1:]:
            wide = total.astype(np.float32) + each.astype(np.float32)
            total = (wide.view(np.uint32) >> 16).astype(np.uint16).view(right.dtype)
        return total

    words = said(Call("all_reduce", 1025, "bfloat16"), cut, "rough", again=in_full)
    assert "too near to zero: cut, not rounded" in words


def test_results_that_are_too_large_are_not_cut():
    words = said(
        Call("all_reduce", 131, "bfloat16"),
        lambda rank, right, given: (right.astype(np.float32) * 1.02).astype(right.dtype), "rough",
        again=in_full,
    )  # fmt: skip
    assert "cut" not in words


# ---- what comes and goes -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "change", "who"),
    [
        ("sum", lambda r, right, given: right - given[2], "rank 2 missing"),
        ("sum", lambda r, right, given: right + given[1], "rank 1 twice"),
        ("max", lambda r, right, given: np.max(given[:3], axis=0), "rank 3 missing"),
        ("min", lambda r, right, given: np.minimum(np.min(given[1:], axis=0), 0),
         "zeros for rank 0's input"),
    ],
)  # fmt: skip
def test_who_was_missing_though_not_when_asked_again(op, change, who):
    call = Call("all_reduce", 131, "int64", op)

    def again(given):
        return [getattr(np, op)(given, axis=0)] * SIZE

    words = said(call, change, again=again)
    assert words.startswith(f"on all ranks: {who} in ")
    assert words.endswith("asked again, it was there")


@pytest.mark.parametrize("op", ["sum", "max"])
def test_who_is_missing_when_asked_is_not_to_blame_for_other_values(op):
    """Rank 1 is missing when asked; what was wrong is something else."""
    call, generator = Call("all_reduce", 131, "int32", op), np.random.default_rng(0)
    noise = generator.integers(-(2**31), 2**31, 131).astype(np.int32)

    def again(given):
        return [getattr(np, op)([given[0], given[2], given[3]], axis=0).astype(np.int32)] * SIZE

    words = said(call, lambda rank, right, given: noise.copy(), again=again)
    assert "missing" not in words
    words = said(call, lambda rank, right, given: again(given)[0], again=again)
    assert words.startswith("on all ranks: rank 1 missing in ")


def test_an_exscan_that_keeps_its_own_input():
    call = Call("exscan", 131, op="avg")
    given = inputs("coded", call, SIZE, 0)

    def again(asked):
        return [None, asked[1], (asked[0] + asked[1]) / 2, (asked[0] + asked[1] + asked[2]) / 3]

    words = said(call, lambda rank, right, g: g[1] if rank == 1 else right, again=again)
    assert words == "on rank 1: rank 0 missing, rank 1 too many in all 131 elements"
    assert (given[1] != given[0]).any()


def test_one_rank_that_flushes_its_subnormal_numbers():
    words = said(SUM, lambda rank, right, given: right - given[2], "tiny", again=in_full)
    assert words == (
        "on all ranks: rank 2 missing in all 131 elements: only subnormal numbers of its, taken "
        "for zeros"
    )


# ---- blocks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stride", "how"), [(12, "padded"), (8, "one on the other")])
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_blocks_that_stand_further_apart_or_nearer(dtype, stride, how):
    """Of 9 elements; what lies between was never written."""

    def change(rank, right, given):
        put = np.resize(poison(right.dtype).view(right.dtype), SIZE * 9)
        for block, x in enumerate(given):
            place = slice(block * stride, min(block * stride + 9, put.size))
            put[place] = x[: place.stop - place.start]
        return put

    words = said(Call("gather", 9, dtype, None), change, "bits")
    assert words.endswith(f"block r stands at element {stride} r, not at 9 r: blocks are {how}")
