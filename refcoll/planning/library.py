"""Which algorithms a library has to choose from: NCCL's own."""

from __future__ import annotations

from refcoll.algorithms.declaration import Algorithm
from refcoll.planning.machine import Machine
from refcoll.planning.tables import LIBRARY
from refcoll.registry import algorithms


def own_algorithms(machine: Machine, collective: str) -> list[Algorithm]:
    """Those that it would take there unless asked for another."""
    known = [each for each in algorithms(collective) if LIBRARY in each.also_known_as]
    return [each for each in known if _taken(machine, each)]


def _taken(machine: Machine, each: Algorithm) -> bool:
    """Within a node not its trees, which are chains there; between nodes not SHARP, which must be
    asked for; PAT on one rank a node alone (ncclPatEnable in NCCL's src/graph/tuning.cc)."""
    if each.name == "double_binary_tree":
        return machine.nodes > 1
    if each.name == "pat":
        return machine.ranks_per_node == 1
    return machine.nodes == 1 or not each.needs_helpers
