"""What ranks tell one another besides gradients.

At the beginning of each step: how many samples there are, and who is still there.

Twenty-four bytes are all-reduced beside backward: the rank's weight, whether it has samples,
whether it leaves.  So a rank that leaves while others go on is an error on all of them, at
once, and not a wait until the time is up.  With shards there are sixteen more, for what the last
step was made with (h, a hash of it): all are alike if and only if N sum(h^2) = sum(h)^2, which
every rank sees of the sums.  (Of 18 bits: a step's difference goes unseen once in 260,000.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar
from zlib import crc32

import numpy as np

from refcoll.communicator import Communicator
from refcoll.errors import DisagreementError, RefcollError, ours
from refcoll.inorder import Handle
from refcoll.words import ranked

T = TypeVar("T")
_HASHED = 18
"""Bits of a hash: so that sums of its squares are exact for more than 100,000 ranks."""


@dataclass(frozen=True)
class Roll:
    """What all ranks together have said."""

    weight: float
    active: int
    """Ranks that have samples."""


class RollCall:
    """One rank's part in it.  Making one is collective; with shards ``compares`` how they step."""

    def __init__(self, comm: Communicator, compares: bool = False) -> None:
        self._comm = comm
        self._values = np.zeros(5 if compares else 3)
        self._plan = comm.plan(
            "all_reduce", self._values, out=self._values, algorithm="recursive_doubling"
        )

    def start(
        self, weight: float, active: bool, leaves: bool = False, made_with: str = ""
    ) -> Handle[Roll]:
        """Begin, on the communication thread.

        The handle raises DisagreementError, on all ranks, where some leave and others do not,
        or where their last steps were ``made_with`` something else.
        """
        return self._comm.submit(lambda: self._call(weight, active, leaves, made_with))

    def _call(self, weight: float, active: bool, leaves: bool, made_with: str) -> Roll:
        hashed = crc32(made_with.encode()) >> 32 - _HASHED
        self._values[:] = [weight, active, leaves, hashed, hashed**2][: self._values.size]
        self._plan.run()
        total, having, leaving, *sums = self._values.tolist()
        if 0 < leaving < self._comm.size:
            raise self._parted(leaves)
        if sums and self._comm.size * int(sums[1]) != int(sums[0]) ** 2:
            said = {"collective": "the last step", "optimizer": made_with}
            self._comm.agreement.require(said, None, self._comm.timeout)
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


def agreed_on(comm: Communicator, what: str, make: Callable[[], tuple[dict[str, object], T]]) -> T:
    """What ``make`` makes beside a record of it, which must be the same on all ranks.  Collective.

    What ``make`` raises, or finds to be different, is an error on every rank.
    """

    def agree() -> T:
        record: dict[str, object] = {}
        made: list[T] = []
        error: RefcollError | None = None
        try:
            record, found = make()
            made.append(found)
        except Exception as wrong:
            error = ours(wrong, f"an argument of {what}")
        comm.agreement.require({"collective": what, **record}, error, comm.timeout)
        return made[0]

    return comm.submit(agree).wait()
