"""The handwritten digits that scikit-learn ships: 1,797 images of 8 x 8 pixels, ten classes.

(Alpaydin and Kaynak 1998, Optical Recognition of Handwritten Digits, UCI Machine Learning
Repository: https://doi.org/10.24432/C50P49)
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from refcoll.errors import ArgumentError
from refcoll.operators import Array

TESTED = 297
"""Images kept for testing; the other 1,500 are trained on."""


@dataclass(frozen=True)
class Images:
    """Pixels from 0 to 1, one row an image, and labels from 0 to 9."""

    x: Array
    labels: Array

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, places: Array) -> Images:
        """Those images."""
        return Images(self.x[places], self.labels[places])


def digits(dtype: str = "float32", seed: int = 0) -> tuple[Images, Images]:
    """For training and for testing, shuffled; the same for the same seed.

    Raises ArgumentError where scikit-learn is missing.
    """
    try:
        datasets: Any = import_module("sklearn.datasets")
    except ImportError as error:
        raise ArgumentError(
            f"the data set of digits comes with scikit-learn: {error}; pip install 'refcoll[train]'"
        ) from error
    pixels, labels = datasets.load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(labels))
    whole = Images((pixels / 16).astype(dtype)[order], labels[order])
    cut = len(whole) - TESTED
    return whole.take(np.arange(cut)), whole.take(np.arange(cut, len(whole)))
