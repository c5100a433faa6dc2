"""SGD and Adam against their formulas in exact or double arithmetic, and by shards."""

from fractions import Fraction

import numpy as np
import pytest

from refcoll.dataparallel.optimizers import Adam, Sgd
from refcoll.errors import ArgumentError

GRADIENTS = [np.array([1.0, -2.0, 0.5]), np.array([0.25, 4.0, -1.0]), np.array([3.0, 0.0, 2.0])]


def updated(optimizer, steps=3, dtype=np.float64):
    parameter = np.array([1.0, 2.0, -3.0], dtype)
    for gradient in GRADIENTS[:steps]:
        optimizer.step({"p": parameter}, {"p": gradient.astype(dtype)})
    return parameter


def test_sgd_is_exact_where_nothing_rounds():
    wanted = [Fraction(p) - Fraction(1, 8) * (a + b + c) for p, a, b, c in zip(
        [1, 2, -3], *[map(Fraction, each.tolist()) for each in GRADIENTS], strict=True
    )]  # fmt: skip
    assert updated(Sgd(0.125)).tolist() == [float(each) for each in wanted]


def test_momentum_is_a_decaying_sum_of_gradients():
    velocity, wanted = [Fraction(0)] * 3, [Fraction(1), Fraction(2), Fraction(-3)]
    for gradient in GRADIENTS:
        velocity = [v / 2 + Fraction(g) for v, g in zip(velocity, gradient.tolist(), strict=True)]
        wanted = [p - v / 4 for p, v in zip(wanted, velocity, strict=True)]
    assert updated(Sgd(0.25, momentum=0.5)).tolist() == [float(each) for each in wanted]


def test_weight_decay_pulls_to_zero():
    parameter = np.array([4.0])
    Sgd(0.5, weight_decay=0.25).step({"p": parameter}, {"p": np.array([0.0])})
    assert parameter.tolist() == [4 - 0.5 * 0.25 * 4]


def test_adam_s_first_step_is_lr_in_the_direction_of_the_sign():
    """m' / sqrt(v') = g / |g|, whatever the betas.  (Kingma and Ba 2015, section 2)"""
    moved = updated(Adam(0.1, eps=0.0), steps=1) - np.array([1.0, 2.0, -3.0])
    assert moved == pytest.approx([-0.1, 0.1, -0.1], rel=1e-12)


def test_adam_is_the_closed_form_of_its_averages():
    """m' and v' are means of the gradients and their squares with weights (1-b) b^(t-i)."""
    one, two, lr, eps = 0.9, 0.999, 0.01, 1e-8
    wanted = np.array([1.0, 2.0, -3.0])
    for t in range(1, 4):
        past = GRADIENTS[:t]
        mean = sum((1 - one) * one ** (t - i) * g for i, g in enumerate(past, 1)) / (1 - one**t)
        square = sum((1 - two) * two ** (t - i) * g**2 for i, g in enumerate(past, 1))
        wanted -= lr * mean / (np.sqrt(square / (1 - two**t)) + eps)
    assert updated(Adam(lr)) == pytest.approx(wanted, rel=1e-12)


def test_adam_w_decays_the_parameter_itself():
    parameter = np.array([4.0])
    Adam(0.5, weight_decay=0.25).step({"p": parameter}, {"p": np.array([0.0])})
    assert parameter.tolist() == [4 - 0.5 * 0.25 * 4]


@pytest.mark.parametrize("make", [lambda: Sgd(0.1, momentum=0.9), lambda: Adam(0.1)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_shards_are_updated_to_the_bits_of_the_whole(make, dtype):
    generator = np.random.default_rng(1)
    whole = generator.standard_normal(1001).astype(dtype)
    parts, one, other = whole.copy(), make(), make()
    for step in range(3):
        gradient = np.random.default_rng(step).standard_normal(1001).astype(dtype)
        one.update("all", whole, gradient)
        for key, (first, last) in enumerate([(0, 3), (3, 500), (500, 1001)]):
            shard = parts[first:last].copy()
            other.update(key, shard, gradient[first:last])
            parts[first:last] = shard
    assert whole.tobytes() == parts.tobytes()


def test_narrow_parameters_have_a_master_copy_that_small_steps_do_not_get_lost_in():
    parameter = np.array([1.0], np.float16)
    optimizer = Sgd(2.0**-12)
    for _ in range(16):
        optimizer.step({"p": parameter}, {"p": np.array([1.0], np.float16)})
    assert parameter.tolist() == [1 - 2.0**-8]  # in float16 alone 1 - 2^-12 is 1
    assert optimizer.nbytes == 4


def test_a_narrow_parameter_that_was_set_by_hand_is_gone_on_from():
    parameter, optimizer = np.array([1.0, 1.0], np.float16), Sgd(2.0**-12)
    gradients = {"p": np.ones(2, np.float16)}
    optimizer.step({"p": parameter}, gradients)
    parameter[1] = 99
    for _ in range(15):
        optimizer.step({"p": parameter}, gradients)
    assert parameter.tolist() == [1 - 2.0**-8, 99]


def test_a_gradient_of_no_parameter():
    with pytest.raises(ArgumentError, match="gradients: 'q' is no parameter; there are p"):
        Sgd(0.1).step({"p": np.zeros(1)}, {"q": np.zeros(1)})


def test_states_are_counted():
    optimizer = Adam()
    optimizer.step({"p": np.zeros(10, np.float32)}, {"p": np.ones(10, np.float32)})
    assert optimizer.nbytes == 2 * 4 * 10


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Sgd(-1), "lr=-1 must be a number"),
        (lambda: Sgd(0.1, momentum=float("nan")), "momentum=nan must be a number"),
        (lambda: Adam(True), "lr=True must be a number"),
        (lambda: Adam(betas=(0.9,)), "betas=.* must be two numbers from 0 to below 1"),
        (lambda: Adam(betas=5), "betas=5 must be two numbers"),
        (lambda: Adam(betas=(0.9, 1.0)), "betas=.* must be two numbers from 0 to below 1"),
    ],
)
def test_wrong_rates_are_refused(make, said):
    with pytest.raises(ArgumentError, match=said):
        make()
