"""What ranks tell one another besides gradients.

At the beginning of each step: how many samples there are, and who is still there.

Twenty-four bytes are all-reduced beside backward: the rank's weight, whether it has samples,
whether it leaves.  So a rank that leaves while others go on is an error on all of them, at
once, and not a wait until the time is up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from refcoll.communicator import Communicator
from refcoll.errors import DisagreementError
from refcoll.inorder import Handle
from refcoll.words import ranked


@dataclass(frozen=True)
class Roll:
    """What all ranks together have said."""

    weight: float
    active: int
    """Ranks that have samples."""


class RollCall:
    """One rank's part in it.  Making one is collective."""

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm
        self._values = np.zeros(3)
        self._plan = comm.plan(
            "all_reduce", self._values, out=self._values, algorithm="recursive_doubling"
        )

    def start(self, weight: float, active: bool, leaves: bool = False) -> Handle[Roll]:
        """Begin, on the communication thread.

        The handle raises DisagreementError, on all ranks, where some leave and others do not.
        """
        return self._comm.submit(lambda: self._call(weight, active, leaves))

    def _call(self, weight: float, active: bool, leaves: bool) -> Roll:
        self._values[:] = weight, active, leaves
        self._plan.run()
        total, having, leaving = self._values.tolist()
        if 0 < leaving < self._comm.size:
            raise self._parted(leaves)
        return Roll(total, int(having))

    def _parted(self, leaves: bool) -> DisagreementError:
        record = {"collective": "roll call", "leaves": leaves}
        everyone = self._comm.agreement.collect(record, (), self._comm.timeout)
        gone = [rank for rank, each in enumerate(everyone) if each["leaves"]]
        return DisagreementError(
            f"{ranked(gone)} left the replica, and the others "
            "began another step: give all ranks as many steps, or make the replica with "
            "uneven=True and let ranks that have run out of batches call join()"
        )


def names_used(comm: Communicator, names: Sequence[str], came: set[str]) -> set[str]:
    """Of which parameters a gradient has come on any rank.  Collective."""
    mine = np.array([name in came for name in names])
    used = comm.all_reduce(mine, "max", algorithm="recursive_doubling")
    return {name for name, each in zip(names, used, strict=True) if each}


def arrival_on_rank_0(
    comm: Communicator, names: Sequence[str], arrivals: Sequence[str]
) -> list[str]:
    """The order in which gradients came there; those that did not, backwards at the end."""
    late = [name for name in reversed(names) if name not in arrivals]
    order = np.array([names.index(name) for name in [*arrivals, *late]])
    return [names[place] for place in comm.broadcast(order)]
