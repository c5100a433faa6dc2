"""All-reduce by switches that add: NVLink SHARP within a node, SHARP between nodes.

    ranks of a node  >  its NVLink switch  >  its rails  >  the network's switches, and back

The vector streams through all stages at once, so the slowest sets the pace, and each stage
adds its latency once up and once down:

    time = overhead + 2 (latency within + latency between) + S max(1 / rate within,
                                                                   1 / rate of all rails)

A rank sends S and receives S, where ranks alone must move 2(N-1)/N S.  (The schedule
``in_network`` sends whole vectors level by level; switches forward while they receive.)
Where only the network adds, the node's part is that of ``rails``: a ring reduce-scatter, then
an all-gather.  (Graham et al., SHARP, 2016; NCCL's NVLS and CollNet.)
"""

from __future__ import annotations

from dataclasses import replace

from refcoll.planning.hierarchies import rails_all_reduce
from refcoll.planning.machine import NETWORK, NODE, Machine
from refcoll.planning.rounds import Shape, Timed


def adds_up(machine: Machine) -> bool:
    """Whether its switches can do a whole all-reduce."""
    needed = NODE if machine.nodes == 1 else NETWORK
    return machine.ranks > 1 and needed in machine.in_network


class Streamed:
    """How long that takes, for vectors of any size."""

    def __init__(self, machine: Machine) -> None:
        stages = dict(machine.in_network)
        if machine.nodes == 1:
            stages.pop(NETWORK, None)
        self._within = None
        if NODE not in stages and machine.ranks_per_node > 1:
            alone = replace(Shape.of(machine), nodes=1, nodes_per_switch=1)
            self._within = Timed(replace(machine, overhead=0.0), rails_all_reduce(alone))
        wide = {NODE: 1, NETWORK: machine.rails}
        self._latency = machine.overhead + 2 * sum(link.latency for link in stages.values())
        self._beta = max(1 / (link.rate * wide[name]) for name, link in stages.items())

    def seconds(self, nbytes: float) -> float:
        """For a vector of so many bytes."""
        within = self._within.seconds(nbytes) if self._within else 0.0
        return self._latency + self._beta * nbytes + within
