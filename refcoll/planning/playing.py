"""Predictions beside what the schedules themselves take, event by event."""

from __future__ import annotations

from collections.abc import Sequence

from refcoll.interpreters.uniform import uniform
from refcoll.planning.machine import Machine
from refcoll.planning.predicting import Prediction
from refcoll.planning.simulating import simulated
from refcoll.registry import find, program

PLAYABLE = 256
"""Ranks up to which any schedule is played; uniform ones, such as the ring, beyond."""
_UNIFORM = 4096


def played(machine: Machine, predicted: Sequence[Prediction]) -> dict[str, float]:
    """Seconds by algorithm, of those that can be played; none where switches share uplinks,
    which the clock does not know."""
    if machine.shares_uplinks:
        return {}
    where = machine.topology()
    found: dict[str, float] = {}
    for each in predicted:
        if each.measured or find(each.collective, each.algorithm).needs_helpers:
            continue
        if machine.ranks > _UNIFORM:
            continue
        made = program(each.collective, each.algorithm, machine.ranks, nodes=where, **each.options)
        if machine.ranks <= PLAYABLE or uniform(made) is not None:
            found[each.algorithm] = simulated(machine, made, each.nbytes)
    return found
