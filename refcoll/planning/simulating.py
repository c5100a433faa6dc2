"""What the schedule itself takes on a machine, event by event (``interpreters.clock``)."""

from __future__ import annotations

from refcoll.interpreters.clock import finish_times
from refcoll.planning.machine import NODE, Machine
from refcoll.programs import Program
from refcoll.rates import Rates


def rates(machine: Machine) -> Rates:
    """The machine in the clock's terms: a striped node has one link, as fast as all its rails."""
    near = machine.links.get(NODE)
    shared = {name: link for name, link in machine.links.items() if name != NODE}
    wide = machine.rails if machine.striped else 1
    return Rates(
        alpha=near.latency if near else 0.0,
        beta=1 / near.rate if near else 0.0,
        gamma=1 / machine.reduce_bandwidth if machine.reduce_bandwidth else 0.0,
        far={name: (link.latency, 1 / (link.rate * wide)) for name, link in shared.items()},
        rails=dict.fromkeys(shared, 1 if machine.striped else machine.rails),
        gaps={name: link.gap for name, link in machine.links.items() if link.gap},
    )


def simulated(machine: Machine, program: Program, nbytes: int) -> float:
    """Seconds for a vector of ``nbytes`` on a program that was made with its topology."""
    layout = program.layout(program.whole(nbytes))
    ends = finish_times(program, layout, rates(machine))
    return machine.overhead + float(max(ends))
