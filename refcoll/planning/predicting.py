"""What a collective takes on a machine, by every algorithm that it could use."""

from __future__ import annotations

from dataclasses import dataclass

from refcoll.benchmarking import BUS_FACTORS
from refcoll.choosing import explain
from refcoll.errors import ArgumentError, integer
from refcoll.planning.machine import NETWORK, NODE, Machine
from refcoll.planning.tables import Table


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """One algorithm at one size on one machine."""

    collective: str
    algorithm: str
    """A name of refcoll's; of a measured table, the library's: "NCCL"."""
    ranks: int
    nbytes: int
    """Of the whole vector: S."""
    seconds: float
    sent: int
    """Bytes, by the rank that sends most."""
    received: int
    basis: str
    """ "model", "measured" (interpolated), or "extrapolated" from measured times."""

    @property
    def algbw(self) -> float:
        """S / time, in bytes per second."""
        return self.nbytes / self.seconds if self.seconds else 0.0

    @property
    def busbw(self) -> float:
        """The algorithm's bandwidth times nccl-tests' factor, such as 2(N-1)/N."""
        return self.algbw * BUS_FACTORS[self.collective](self.ranks)


def predict(
    machine: Machine, collective: str, nbytes: int, algorithm: str | None = None
) -> Prediction:
    """What ``algorithm`` takes for a vector of ``nbytes`` on all ranks of the machine.

    By default what its library was measured to take, where such a table is there, or else the
    algorithm of least predicted time.  Raises ArgumentError for what does not exist.
    """
    every = predictions(machine, collective, nbytes)
    if algorithm is None:
        measured = [each for each in every if each.basis != "model"]
        return measured[0] if measured else every[0]
    for each in every:
        if each.algorithm == algorithm:
            return each
    names = ", ".join(each.algorithm for each in every)
    raise ArgumentError(f"algorithm={algorithm!r} does not run there; use one of {names}")


def predictions(machine: Machine, collective: str, nbytes: int) -> list[Prediction]:
    """All algorithms, and measured tables that fit, best first."""
    if integer(nbytes, "nbytes") < 0:
        raise ArgumentError(f"nbytes={nbytes} must not be negative")
    found = [*_modelled(machine, collective, nbytes), *_measured(machine, collective, nbytes)]
    return sorted(found, key=lambda each: each.seconds)


def _modelled(machine: Machine, collective: str, nbytes: int) -> list[Prediction]:
    # Provisional: to be replaced by closed forms, with shared rails.
    link = machine.links[NODE if machine.nodes == 1 else NETWORK]
    rate = link.rate * (1 if machine.nodes == 1 else machine.rails)
    choices = explain(collective, machine.ranks, nbytes, nodes=machine.topology())
    return [
        Prediction(
            collective=collective, algorithm=each.algorithm, ranks=machine.ranks, nbytes=nbytes,
            seconds=machine.overhead + each.depth * link.latency
            + max(each.sent, each.received) / rate,
            sent=each.sent, received=each.received, basis="model",
        )
        for each in choices
    ]  # fmt: skip


def _measured(machine: Machine, collective: str, nbytes: int) -> list[Prediction]:
    return [
        Prediction(
            collective=collective, algorithm=table.algorithm, ranks=table.ranks, nbytes=nbytes,
            seconds=table.seconds(nbytes), sent=0, received=0,
            basis="measured" if table.covers(nbytes) else "extrapolated",
        )
        for table in machine.tables
        if _fits(table, machine, collective)
    ]  # fmt: skip


def _fits(table: Table, machine: Machine, collective: str) -> bool:
    shape = table.collective, table.ranks, table.nodes
    return shape == (collective, machine.ranks, machine.nodes)
