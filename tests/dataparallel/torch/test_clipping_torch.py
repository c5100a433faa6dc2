"""Clipping and saved states beside PyTorch's own."""

from math import inf, nan

import numpy as np
import pytest

from refcoll.dataparallel import Adam, NotFiniteError, Sgd, clip_grad_norm_

torch = pytest.importorskip(
    "torch",
    reason="needs torch: pip install torch==2.13.0 (a CPU build) and run pytest "
    "tests/dataparallel/torch",
)

SHAPES = {"a": (5, 3), "b": (), "c": (0,), "d": (70_000,)}


def gradients_of(dtype, scale=1.0):
    generator = np.random.default_rng(1)
    return {n: np.asarray(scale * generator.standard_normal(s), dtype) for n, s in SHAPES.items()}


def clipped_by_torch(gradients, max_norm, **options):
    parameters = [torch.zeros(each.shape, dtype=torch.from_numpy(each).dtype) for each in
                  gradients.values()]  # fmt: skip
    for parameter, each in zip(parameters, gradients.values(), strict=True):
        parameter.grad = torch.from_numpy(each.copy())
    norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm, **options)
    return float(norm), [each.grad.numpy() for each in parameters]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("scale", "max_norm"), [(1, 1.0), (1, 1e9), (1e-9, 1e-8), (1, 0.0)])
def test_norms_and_gradients_are_torch_s(dtype, scale, max_norm):
    gradients = gradients_of(dtype, scale)
    norm, wanted = clipped_by_torch(gradients, max_norm)
    rounding = 8 * float(np.finfo(dtype).eps)
    assert clip_grad_norm_(gradients, max_norm) == pytest.approx(norm, rel=rounding)
    for found, right in zip(gradients.values(), wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=rounding)


@pytest.mark.parametrize("bad", [[inf], [nan], [-inf, nan]])
def test_what_becomes_of_norms_that_are_not_finite(bad):
    gradients = gradients_of(np.float32)
    gradients["d"][: len(bad)] = bad
    norm, wanted = clipped_by_torch(gradients, 1.0)
    for clip in (clipped_by_torch, clip_grad_norm_):
        with pytest.raises((RuntimeError, NotFiniteError), match=r"the gradients is|non-finite"):
            clip(gradients, 1.0, error_if_nonfinite=True)
    np.testing.assert_equal(clip_grad_norm_(gradients, 1.0), norm)
    for found, right in zip(gradients.values(), wanted, strict=True):
        np.testing.assert_array_equal(found, right)


def saved_by_torch(make):
    """Its optimizer's states after two steps, by parameter."""
    values = {name: torch.nn.Parameter(torch.ones(s, dtype=torch.float64)) for name, s in
              SHAPES.items()}  # fmt: skip
    optimizer = make(values.values())
    for scale in (1.0, 2.0):
        for name, each in gradients_of(np.float64, scale).items():
            values[name].grad = torch.from_numpy(each)
        optimizer.step()
    return dict(zip(values, optimizer.state_dict()["state"].values(), strict=True))


@pytest.mark.parametrize(
    ("make", "theirs", "names"),
    [
        (
            lambda: Sgd(0.1, 0.9, 0.01),
            lambda ps: torch.optim.SGD(ps, 0.1, 0.9, weight_decay=0.01),
            {"momentum": "momentum_buffer"},
        ),
        (
            lambda: Adam(0.1, weight_decay=0.1),
            lambda ps: torch.optim.AdamW(ps, 0.1, weight_decay=0.1),
            {"step": "step", "mean": "exp_avg", "square": "exp_avg_sq"},
        ),
    ],
)
def test_states_are_those_of_torch_s_optimizers(make, theirs, names):
    optimizer, values = make(), {name: np.ones(s) for name, s in SHAPES.items()}
    for scale in (1.0, 2.0):
        optimizer.step(values, gradients_of(np.float64, scale))
    state = optimizer.state_dict(values)["state"]
    for name, wanted in saved_by_torch(theirs).items():
        for ours, other in names.items():
            np.testing.assert_allclose(state[name][ours], wanted[other].numpy(), rtol=1e-12)
