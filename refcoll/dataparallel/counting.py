"""How many samples a step has over all ranks, and how many ranks still have any."""

from __future__ import annotations

import numpy as np

from refcoll.communicator import Communicator
from refcoll.inorder import Handle

Totals = tuple[float, int]


class Counting:
    """Sixteen bytes are all-reduced at the beginning of a step, beside backward."""

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm
        self._values = np.zeros(2)
        self._plan = comm.plan(
            "all_reduce", self._values, out=self._values, algorithm="recursive_doubling"
        )

    def start(self, weight: float, active: bool) -> Handle[Totals]:
        """Begin; the handle gives the sum of the weights, and the number of active ranks."""
        return self._comm.submit(lambda: self._count(weight, active))

    def _count(self, weight: float, active: bool) -> Totals:
        self._values[:] = weight, active
        self._plan.run()
        return float(self._values[0]), int(self._values[1])
