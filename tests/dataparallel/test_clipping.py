"""Clipping by the global norm: exact, the same bits however gradients are cut, on all ranks."""

import warnings
from fractions import Fraction
from math import inf, isnan, nan, nextafter

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import refcoll
from refcoll.dataparallel import (
    Adam,
    DataParallel,
    NotFiniteError,
    ParameterServer,
    Sgd,
    Zero2,
    clip_grad_norm_,
)
from refcoll.dataparallel.squares import DOUBLE, SINGLE, Squares, format_of
from refcoll.errors import ArgumentError, DisagreementError, RefcollError

TIMEOUT = 20
FORMATS = {
    np.dtype(np.float16): SINGLE, np.dtype(ml_dtypes.bfloat16): SINGLE,
    np.dtype(np.float32): SINGLE, np.dtype(np.float64): DOUBLE,
}  # fmt: skip


def exact(values):
    """The sum of squares of finite values, in rational numbers."""
    return sum(
        (Fraction(each) ** 2 for each in np.ravel(values).astype(float).tolist()), Fraction()
    )


def require_nearest_root(found, square):
    """No float64 is nearer to the root: the square lies between those of the midpoints beside."""
    below = (Fraction(found) + Fraction(nextafter(found, -inf))) / 2
    above = (Fraction(found) + Fraction(nextafter(found, inf))) / 2
    assert max(below, Fraction()) ** 2 <= square <= above**2


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_norm_is_the_float64_nearest_to_the_exact_one(data):
    """Of any finite numbers, cut and ordered in any way, in rational arithmetic."""
    dtype = data.draw(st.sampled_from([*FORMATS]))
    bits = data.draw(st.lists(st.integers(0, 2 ** (8 * dtype.itemsize) - 1), max_size=12))
    raw = np.array(bits, f"u{dtype.itemsize}").view(dtype)
    values = raw[np.isfinite(raw)]
    cut = data.draw(st.integers(0, len(values)))
    parts = [Squares(format_of([dtype])) for _ in range(2)]
    parts[0].add(values[cut:])
    parts[1].add(values[:cut])
    total = Squares(FORMATS[dtype])
    total.take(parts[0].words() + parts[1].words())
    square = exact(values)
    assert total.units * Fraction(2) ** (2 * total.format.least) == square
    require_nearest_root(total.root(), square)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_more_elements_than_a_block(dtype):
    """1^2 + ... + n^2 = n (n + 1) (2n + 1) / 6."""
    n = 200_001
    found = Squares(format_of([np.dtype(dtype)]))
    found.add(np.arange(1, n + 1, dtype=dtype))
    require_nearest_root(found.root(), Fraction(n * (n + 1) * (2 * n + 1), 6))


def test_a_root_just_above_the_middle_between_two_floats_is_rounded_up():
    """a^2 + b^2 = c^2, c odd and of 54 digits: a float would be c - 1 or c + 1; and 1 beside it,
    so small that 64 digits more do not show it.  c = p^2 + q^2 is 1 modulo 4: even is below."""
    p, q = 90_000_000, 37_279_221
    a, b, c = p * p - q * q, 2 * p * q, p * p + q * q
    assert a * a + b * b == c * c
    assert max(a, b) < 1 << 53 < c < 1 << 54
    values = Squares(DOUBLE)
    values.add(np.array([a * 2.0**-1064, b * 2.0**-1064, 5e-324]))
    assert values.root() == (c + 1) * 2.0**-1064


def test_what_travels_are_two_counts_and_words_for_twice_the_range_of_exponents():
    """float32: from 2^-298 to 2^256, and 2^64 of them: 618 bits.  float64: 4260 bits."""
    assert Squares(SINGLE).words().nbytes == 8 * (2 + 20) == 176
    assert Squares(DOUBLE).words().nbytes == 8 * (2 + 134) == 1088


@pytest.mark.parametrize("dtype", [*FORMATS], ids=str)
def test_the_greatest_numbers_of_many_ranks_fit_into_the_words(dtype):
    """1024 ranks with four of them each: the norm is 64 times as much, or infinite."""
    greatest = ml_dtypes.finfo(dtype).max
    found = Squares(format_of([dtype]))
    found.add(np.array([greatest] * 4, dtype))
    found.take(found.words() * 1024)
    assert found.units * Fraction(2) ** (2 * found.format.least) == 4096 * exact([greatest])
    assert found.root() == 64 * float(greatest)


@pytest.mark.parametrize(
    ("values", "norm"),
    [
        ([3.0, 4.0], 5.0), ([3e200, 4e200], 5e200), ([3e-200, -4e-200], 5e-200), ([], 0.0),
        ([-0.0], 0.0), ([5e-324], 5e-324), ([1.7e308, 1.7e308], inf), ([inf, 1.0], inf),
        ([nan, inf], nan), ([-inf], inf),
    ],
)  # fmt: skip
def test_norms_that_a_sum_of_squares_in_float64_would_miss(values, norm):
    found = clip_grad_norm_({"p": np.array(values)}, inf)
    assert isnan(found) if isnan(norm) else found == pytest.approx(norm, rel=1e-15)


@pytest.mark.parametrize("dtype", [*FORMATS], ids=str)
def test_gradients_are_scaled_by_max_norm_over_the_norm(dtype):
    """(6, 8) has norm 10; to at most 5: by 5 / (10 + 1e-6), and a shorter one not at all."""
    gradients = {"a": np.array([[6.0]], dtype), "b": np.array(8.0, dtype)}
    assert clip_grad_norm_(gradients, 5.0) == 10.0
    factor = 5 / (10 + 1e-6)
    for name, was in (("a", 6), ("b", 8)):
        assert float(gradients[name].item()) == pytest.approx(was * factor, rel=float(
            ml_dtypes.finfo(dtype).eps
        ))  # fmt: skip
    kept = {name: each.tobytes() for name, each in gradients.items()}
    assert clip_grad_norm_(gradients, 5.1) <= 5.001
    assert kept == {name: each.tobytes() for name, each in gradients.items()}


# ---- over ranks --------------------------------------------------------------------------

SHAPES = {"w1": (7, 5), "b1": (5,), "w2": (5, 3), "b2": (3,), "scale": (), "none": (0, 2)}


def gradients_of(rank, step):
    generator = np.random.default_rng((rank, step))
    return {
        name: np.asarray(generator.standard_normal(shape) * 10.0**step, np.float32)
        for name, shape in reversed(SHAPES.items())
    }


def fed(replica, gradients, weight=1):
    with replica.backward(weight) as ready:
        for name, gradient in gradients.items():
            ready(name, gradient)


def start():
    return {name: np.ones(shape, np.float32) for name, shape in SHAPES.items()}


def unsharded(comm):
    values, optimizer, norms = start(), Adam(0.01), []
    with DataParallel(comm, values, deterministic=True) as replica:
        for step in range(2):
            fed(replica, gradients_of(comm.rank, step), comm.rank + 1)
            means = replica.wait()
            square = exact(np.concatenate([each.ravel() for each in means.values()]))
            norms.append(clip_grad_norm_(means, 3.0))
            require_nearest_root(norms[-1], square)
            optimizer.step(values, means)
    return norms, {name: each.tobytes() for name, each in values.items()}


def sharded(comm, kind=Zero2, **options):
    values, norms = start(), []
    with kind(comm, values, Adam(0.01), deterministic=True, **options) as replica:
        for step in range(2):
            fed(replica, gradients_of(comm.rank, step), comm.rank + 1)
            norms.append(replica.clip_grad_norm_(3.0))
            replica.step()
    return norms, {name: each.tobytes() for name, each in values.items()}


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_sharded_runs_clip_by_the_same_bits_as_unsharded_ones(size):
    """Balanced, padded, owned by one rank, in whatever buckets; means alike, by one tree."""
    ways = [
        {}, {"buckets": "single"}, {"ownership": "padded"},
        {"ownership": "padded", "buckets": "whole"}, {"kind": ParameterServer},
    ]  # fmt: skip
    (wanted,) = {repr(each) for each in refcoll.spawn(size, unsharded, timeout=TIMEOUT)}
    for way in ways:
        for found in refcoll.spawn(size, lambda comm, way=way: sharded(comm, **way)):
            assert repr(found) == wanted, way


@pytest.mark.parametrize("ownership", ["balanced", "padded"])
def test_the_norm_is_that_of_all_shards_and_padding_has_no_part_in_it(ownership):
    """One element a rank, the third rank's a 2 or padding: not 1, 2 and 2 are the norms, but 3."""

    def run(comm):
        values = {"p": np.zeros(5), "q": np.zeros(1)}
        options = {"ownership": ownership, "buckets": "single"}
        with Zero2(comm, values, Sgd(1.0), **options) as replica:
            fed(replica, {"q": np.full(1, 2.0), "p": np.array([1.0, 0, 0, 0, 2.0])})
            norm = replica.clip_grad_norm_(1.5)
            replica.step()
        return norm, values["p"].tolist(), values["q"].tolist()

    factor = 1.5 / (3 + 1e-6)
    for norm, p, q in refcoll.spawn(3, run, timeout=TIMEOUT):
        assert norm == 3.0
        assert p == [-factor, 0, 0, 0, -2 * factor]
        assert q == [-2 * factor]


@pytest.mark.parametrize(("bad", "said"), [(nan, "nan"), (inf, "inf"), (-inf, "inf")])
def test_what_is_not_finite_on_one_rank_is_so_on_all_and_the_step_can_be_left_out(bad, said):
    """Element 0 is owned by rank 0, and comes from rank 2 alone."""

    def run(comm):
        values = {"p": np.zeros(6, np.float32)}
        with Zero2(comm, values, Sgd(1.0)) as replica:
            gradient = np.ones(6, np.float32)
            gradient[0] = bad if comm.rank == 2 else 1
            fed(replica, {"p": gradient})
            norm = replica.clip_grad_norm_(inf)
            with pytest.raises(NotFiniteError, match=f"the norm of the gradients is {said}"):
                replica.clip_grad_norm_(1.0, error_if_nonfinite=True)
            fed(replica, {"p": np.ones(6, np.float32)})  # no step: the gradients are dropped
            replica.step()
        return str(norm), values["p"].tolist()

    assert refcoll.spawn(3, run, timeout=TIMEOUT) == [(said, [-1.0] * 6)] * 3


def test_an_error_for_what_is_not_finite_is_every_rank_s_own():
    """None hears of it from another, which was done sooner: of five ranks the last gets the norm
    from the first, a message after the others."""

    def use(replica, _):
        for shard in replica.wait_for_shards():
            shard *= nan
        replica.clip_grad_norm_(1.0, error_if_nonfinite=True)

    for _ in range(3):
        for kind, said in heard(use, size=5):
            assert (kind, said[:32]) == (NotFiniteError, "the norm of the gradients is nan")


def test_ranks_that_have_run_out_of_batches_clip_with_the_others():
    """Rank 1 alone has a second batch, of mean (3, 4): the norm is 5 on all."""

    def run(comm):
        values, norms = {"p": np.zeros(2)}, []
        with Zero2(comm, values, Sgd(1.0), uneven=True) as replica:
            for _ in range(1 + (comm.rank == 1)):
                fed(replica, {"p": np.array([3.0, 4.0])})
                norms.append(replica.clip_grad_norm_(inf))
                replica.step()
            for _ in replica.join():
                norms.append(replica.clip_grad_norm_(inf))
                replica.step()
        return norms, values["p"].tolist()

    assert refcoll.spawn(3, run, timeout=TIMEOUT) == [([5.0, 5.0], [-6.0, -8.0])] * 3


def heard(use, size=3):
    """What each of the ranks hears of ``use(replica, rank)``, after a backward."""

    def listen(comm):
        try:
            with Zero2(comm, {"p": np.zeros(6)}, Sgd(1.0)) as replica:
                fed(replica, {"p": np.ones(6)})
                use(replica, comm.rank)
                replica.step()
        except RefcollError as error:
            return type(error), str(error)
        return None

    return refcoll.spawn(size, listen, timeout=TIMEOUT)


WRONG = [
    ({"max_norm": value}, f"max_norm={value!r} must be a number, not negative")
    for value in (-1.0, nan, "1", None, True, -(10**70))
] + [({"max_norm": 1.0, "error_if_nonfinite": 1}, "error_if_nonfinite=1 must be True or False")]


@pytest.mark.parametrize(("options", "said"), WRONG)
def test_wrong_options_are_refused_on_every_rank(options, said):
    with pytest.raises(ArgumentError, match=said.replace("(", "\\(")):
        clip_grad_norm_({"p": np.zeros(1)}, **options)
    for kind, words in heard(lambda replica, _: replica.clip_grad_norm_(**options)):
        assert (kind, said in words) == (ArgumentError, True)
    one = heard(
        lambda replica, rank: replica.clip_grad_norm_(**(options if rank else {"max_norm": 1}))
    )
    assert [kind for kind, _ in one] == [DisagreementError, ArgumentError, ArgumentError]
    assert all(said in words for _, words in one)


def test_ranks_that_clip_to_different_norms_hear_of_it():
    for kind, said in heard(lambda replica, rank: replica.clip_grad_norm_(1.0 + rank)):
        assert kind is DisagreementError
        assert "rank 2: collective=clip_grad_norm_, max_norm=3.0" in said


def test_gradients_that_are_no_dict():
    with pytest.raises(ArgumentError, match=r"of shards: replica.clip_grad_norm_\(max_norm\)"):
        clip_grad_norm_([np.zeros(1)], 1.0)


def test_a_greatest_norm_beyond_all_floats_is_refused_on_every_rank():
    for kind, said in heard(lambda replica, _: replica.clip_grad_norm_(10**400)):
        assert (kind, said[:13]) == (ArgumentError, "max_norm=1000")


def read_only():
    array = np.ones(2)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (np.array([6, 8], np.int32), "has dtype=int32; gradients are of float dtypes"),
        (np.array([3 + 4j]), "has dtype=complex128"), ([3.0, 4.0], "must be a numpy array"),
        (read_only(), "is read-only"),
    ],
)  # fmt: skip
def test_gradients_that_cannot_be_scaled_are_refused_before_others_are(wrong, said):
    """Integers of more digits than a float32 would have another norm, and come out as zeros."""
    right = np.array([3.0])
    with pytest.raises(ArgumentError, match=rf"gradients\['wrong'\].* ?{said}"):
        clip_grad_norm_({"right": right, "wrong": wrong}, 1.0)
    assert right.tolist() == [3.0]


def test_signalling_nans_are_nans_without_a_warning():
    """Of quiet bit 0: to widen one is an invalid operation.  (IEEE 754)"""
    gradients = {"p": np.array([0x7F800001], np.uint32).view(np.float32)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isnan(clip_grad_norm_(gradients, 1.0))


def test_a_step_is_made_once():
    def twice(replica, rank):
        replica.clip_grad_norm_(1.0)
        replica.step()

    assert all("step() comes once" in said for _, said in heard(twice))


def test_gradients_that_were_scaled_for_half_precision_are_scaled_back_in_place():
    """Loss scaling: by 1024 in the loss, and back in the shards, before the norm is asked for."""

    def run(comm):
        values = {"p": np.zeros(6, np.float32)}
        with Zero2(comm, values, Sgd(1.0)) as replica:
            fed(replica, {"p": np.full(6, 1024 * 2.0, np.float32)})
            for shard in replica.wait_for_shards():
                shard /= 1024
            norm = replica.clip_grad_norm_(inf)
            replica.step()
        return norm**2, values["p"].tolist()

    for square, values in refcoll.spawn(3, run, timeout=TIMEOUT):
        assert (square, values) == (pytest.approx(24), [-2.0] * 6)
