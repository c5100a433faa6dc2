"""What ``refcoll train`` trains, and the ways to train it in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.dataparallel.digits import Images
from refcoll.dataparallel.mlp import Parameters, initialised
from refcoll.dataparallel.optimizers import Adam, Optimizer, Sgd
from refcoll.dataparallel.parallel import DataParallel
from refcoll.dataparallel.sharded import Sharded
from refcoll.operators import Array

OPTIMIZERS: Mapping[str, Callable[[float], Optimizer]] = {
    "sgd": lambda lr: Sgd(lr),
    "momentum": lambda lr: Sgd(lr, momentum=0.9),
    "adam": lambda lr: Adam(lr),
}


@dataclass(frozen=True)
class Task:
    """What is trained on what; the same on all ranks."""

    train: Images
    test: Images
    widths: tuple[int, ...]
    epochs: int
    batch: int
    """Samples a step, of all ranks together."""
    optimizer: str = "momentum"
    lr: float = 0.1
    seed: int = 0

    def steps(self, epoch: int) -> Iterator[Array]:
        """Which samples each step of the epoch takes."""
        order = np.random.default_rng((self.seed, epoch)).permutation(len(self.train))
        for start in range(0, len(order), self.batch):
            yield order[start : start + self.batch]

    def begun(self) -> tuple[Parameters, Optimizer]:
        """Parameters to start from, and an optimizer of its own."""
        made = initialised(self.widths, self.seed)
        parameters = {name: each.astype(self.train.x.dtype) for name, each in made.items()}
        return parameters, OPTIMIZERS[self.optimizer](self.lr)


@dataclass(frozen=True)
class How:
    """A way to train in parallel."""

    name: str
    kind: type[DataParallel | Sharded] = DataParallel
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the replica."""
    accumulate: int = 1
    """Micro-batches a step and rank."""
    delay: float = 0.0
    """Seconds that this rank's backward takes longer."""

    def replica(
        self, comm: Communicator, parameters: Parameters, optimizer: Optimizer
    ) -> DataParallel | Sharded:
        """Made on all ranks together."""
        if issubclass(self.kind, DataParallel):
            return self.kind(comm, parameters, **self.options)
        assert issubclass(self.kind, Sharded)
        return self.kind(comm, parameters, optimizer, **self.options)
