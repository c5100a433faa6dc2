"""A multi-layer perceptron in numpy, whose backward hands over gradients as they are computed.

    x -> [tanh(x W1 + b1)] -> ... -> [x WL + bL] -> softmax, cross-entropy

Backward goes from the last layer to the first, so that the gradients of layer L are there, and
may be reduced, while those of layer L - 1 are being computed.

tanh has no kink.  At that of a rectifier a rounding may switch a gradient on or off, after which
two runs that are both right differ by a thousand times as much as they did before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from refcoll.operators import Array

Parameters = dict[str, Array]


def initialised(widths: Sequence[int], seed: int = 0) -> Parameters:
    """Weights (inputs x outputs) and biases of the layers, float32.  (LeCun et al. 1998)"""
    generator = np.random.default_rng(seed)
    made: Parameters = {}
    for layer, (inputs, outputs) in enumerate(pairwise(widths), 1):
        spread = np.sqrt(1 / inputs)
        weights = generator.standard_normal((inputs, outputs)) * spread
        made[f"layer{layer}.weight"] = weights.astype(np.float32)
        made[f"layer{layer}.bias"] = np.zeros(outputs, np.float32)
    return made


def forward(parameters: Parameters, x: Array) -> list[Array]:
    """What enters each layer, and the logits last."""
    layers = len(parameters) // 2
    values = [x]
    for layer in range(1, layers + 1):
        out = values[-1] @ parameters[f"layer{layer}.weight"] + parameters[f"layer{layer}.bias"]
        values.append(np.tanh(out) if layer < layers else out)
    return values


def losses(logits: Array, labels: Array) -> Array:
    """The cross-entropy of each sample."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    total: Array = np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(labels)), labels]
    return total


def backward(
    parameters: Parameters, values: Sequence[Array], labels: Array
) -> Iterator[tuple[str, Array]]:
    """The gradients of the *mean* of the samples' losses, last layer first."""
    logits = values[-1]
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    delta = shifted / shifted.sum(axis=1, keepdims=True)
    delta[np.arange(len(labels)), labels] -= 1
    delta /= len(labels)
    for layer in range(len(parameters) // 2, 0, -1):
        yield f"layer{layer}.bias", delta.sum(axis=0)
        yield f"layer{layer}.weight", values[layer - 1].T @ delta
        if layer > 1:
            delta = delta @ parameters[f"layer{layer}.weight"].T
            delta *= 1 - values[layer - 1] ** 2  # the slope of tanh
