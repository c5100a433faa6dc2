"""Compression trains a model nearly as well, and one bit does so by its error feedback."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest

from reducing import bucket_of
from refcoll import spawn
from refcoll.dataparallel.halves import Half
from refcoll.dataparallel.onebit import OneBit
from refcoll.dataparallel.powersgd import PowerSGD
from refcoll.dataparallel.reductions import AllReduce

RANKS, CLASSES, PIXELS, HIDDEN = 4, 10, 64, 32
DATA = ["clouds", *(["digits"] if find_spec("sklearn") else [])]
"""Ten overlapping clouds of points; and scikit-learn's handwritten digits, where installed."""


def clouds():
    random = np.random.default_rng(0)
    centres = random.standard_normal((CLASSES, PIXELS)) * np.linspace(0.02, 1, PIXELS)
    labels = random.integers(CLASSES, size=1600)
    return centres[labels] + 1.2 * random.standard_normal((1600, PIXELS)), labels


def digits():
    from sklearn.datasets import load_digits

    loaded = load_digits()
    return loaded.data[:1600] / 16, loaded.target[:1600]


@cache
def shards(name):
    """Equal parts of the data, one for each rank."""
    pixels, labels = {"clouds": clouds, "digits": digits}[name]()
    parts = np.split(pixels.astype(np.float32), RANKS)
    return list(zip(parts, np.split(labels, RANKS), strict=True))


def gradients(weights, pixels, labels):
    """The cross entropy of a network of one hidden layer, and its gradients."""
    hidden = np.tanh(pixels @ weights["t0"] + weights["t1"])
    scores = hidden @ weights["t2"] + weights["t3"]
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    odds /= odds.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(odds[rows, labels]).mean()
    odds[rows, labels] -= 1
    back = (odds @ weights["t2"].T) * (1 - hidden * hidden)
    grads = (pixels.T @ back, back.sum(axis=0), hidden.T @ odds, odds.sum(axis=0))
    return loss, [each / np.float32(len(labels)) for each in grads]


@cache
def trained(name, make, steps=200, rate=0.5):
    """The loss over all data in the end, by gradient descent in which all ranks take part."""
    bucket = bucket_of((PIXELS, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,))

    def body(comm):
        pixels, labels = shards(name)[comm.rank]
        start = np.random.default_rng(1).standard_normal(bucket.count).astype(np.float32)
        flat, bound = 0.1 * start, make().bind(comm, bucket)
        for _ in range(steps):
            _, grads = gradients(bucket.views(flat), pixels, labels)
            bound.memory()[...] = np.concatenate([each.ravel() for each in grads])
            flat -= rate * bound.run(comm.size)
        return flat, gradients(bucket.views(flat), pixels, labels)[0]

    ranks = spawn(RANKS, body, timeout=20)
    assert len({flat.tobytes() for flat, _ in ranks}) == 1
    return np.mean([loss for _, loss in ranks])


def half():
    return Half("bfloat16")


def without_feedback():
    return OneBit(error_feedback=False)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize(("make", "times"), [(half, 1.02), (PowerSGD, 1.1), (OneBit, 1.1)])
def test_the_loss_is_close_to_that_without_compression(name, make, times):
    assert trained(name, AllReduce) < 0.3 * np.log(CLASSES)  # of one that knows nothing
    assert trained(name, make) < times * trained(name, AllReduce)


@pytest.mark.parametrize("name", DATA)
def test_one_bit_needs_its_error_feedback(name):
    assert trained(name, without_feedback) > 1.5 * trained(name, OneBit)
