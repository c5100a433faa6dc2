"""A problem in which nothing rounds: least squares on small integers, steps of powers of two.

Of samples (x, y) and the loss (x w - y)^2 / 2 the gradient of the sum is x^T (x w - y).  With
integers below 2^53 float64 is exact, so any order of adding gives the same bits, and what a
data-parallel run gives can be compared with one device's to the bit.
"""

import numpy as np

SHAPES = {"w1": (3, 2), "b1": (2,), "w2": (4, 1), "b2": ()}


def parameters(seed=0):
    """Small integers."""
    generator = np.random.default_rng(seed)
    return {
        name: np.asarray(generator.integers(-4, 5, shape), np.float64)
        for name, shape in SHAPES.items()
    }


def batch(samples, seed):
    """Integers, one row a sample: as many as there are parameters, and the target."""
    generator = np.random.default_rng(seed)
    return generator.integers(-3, 4, (samples, count() + 1)).astype(np.float64)


def count():
    """Parameters."""
    return sum(int(np.prod(shape)) for shape in SHAPES.values())


def gradient_sums(values, samples):
    """The gradients of the sum of the losses, in the order in which a backward has them."""
    flat = np.concatenate([values[name].ravel() for name in SHAPES])
    errors = samples[:, :-1] @ flat - samples[:, -1]
    whole = samples[:, :-1].T @ errors
    start, found = 0, {}
    for name, shape in SHAPES.items():
        size = int(np.prod(shape))
        found[name] = whole[start : start + size].reshape(shape)
        start += size
    return dict(reversed(found.items()))


def same(one, other):
    """Alike to the bit, all parameters."""
    assert one.keys() == other.keys()
    for name in one:
        assert one[name].tobytes() == other[name].tobytes(), (name, one[name], other[name])
