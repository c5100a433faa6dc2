"""What a program costs in time, on links of one speed (the alpha-beta-gamma model).

    T of the ring all-reduce = 2(N-1) alpha + 2(N-1)/N S / bandwidth + (N-1)/N S gamma

(Hockney's alpha and beta; gamma as in Thakur, Rabenseifner and Gropp 2005.)  See ``clock``
for how steps overlap.
"""

from __future__ import annotations

from collections.abc import Mapping

from refcoll.errors import ArgumentError, integer
from refcoll.interpreters.clock import finish_times
from refcoll.interpreters.fitting import require_fit
from refcoll.programs import Program, require_program
from refcoll.rates import Ports, checked_rates


def cost(
    program: Program,
    nbytes: int,
    *,
    latency: float,
    bandwidth: float,
    reduce_bandwidth: float | None = None,
    ports: Ports = "several",
    links: Mapping[str, tuple[float, float]] | None = None,
    rails: Mapping[str, int] | None = None,
) -> float:
    """Seconds for a vector of ``nbytes`` bytes.

    ``latency`` is alpha in seconds per message, ``bandwidth`` in bytes per second and
    direction of each rank's link, ``reduce_bandwidth`` in bytes merged per second (free if
    None).  With one port, messages of a step pay the latency one after another.  ``links``
    gives (latency, bandwidth) of classes of links that differ, named as in
    ``refcoll.topology.LINKS``: "between nodes", ...  ``rails`` gives, of classes whose links
    the ranks of a node share, how many a node has: {"between nodes": 1} is one network card for
    all its ranks.  Raises ArgumentError for a latency below 0, a bandwidth not above 0, another
    class, no rail, or rails for a program whose messages do not stand in rounds, and
    ScheduleError where sends and receives do not match, or name what does not exist.
    """
    require_program(program)
    if integer(nbytes, "nbytes") < 0:
        raise ArgumentError(f"nbytes={nbytes} must not be negative")
    rates = checked_rates(latency, bandwidth, reduce_bandwidth, ports, links, rails)
    layout = program.layout(nbytes)
    require_fit(program, layout)
    return float(max(finish_times(program, layout, rates)))
