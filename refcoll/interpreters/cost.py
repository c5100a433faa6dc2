"""What a program costs in time, on links of one speed (the alpha-beta-gamma model).

    T of the ring all-reduce = 2(N-1) alpha + 2(N-1)/N S / bandwidth + (N-1)/N S gamma

(Hockney's alpha and beta; gamma as in Thakur, Rabenseifner and Gropp 2005.)  See ``clock``
for how steps overlap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from refcoll.errors import ArgumentError
from refcoll.interpreters.clock import Rates, finish_times
from refcoll.programs import Program
from refcoll.topology import LINKS


def cost(
    program: Program,
    nbytes: int,
    *,
    latency: float,
    bandwidth: float,
    reduce_bandwidth: float | None = None,
    ports: Literal["several", "one"] = "several",
    links: Mapping[str, tuple[float, float]] | None = None,
) -> float:
    """Seconds for a vector of ``nbytes`` bytes.

    ``latency`` is alpha in seconds per message, ``bandwidth`` in bytes per second and
    direction of each rank's link, ``reduce_bandwidth`` in bytes merged per second (free if
    None).  With one port, messages of a step pay the latency one after another.  ``links``
    gives (latency, bandwidth) of classes of links that differ, named as in
    ``refcoll.topology.LINKS``: "between nodes", ...  Raises ArgumentError for a latency below
    0, a bandwidth not above 0, or another class.
    """
    for link, (far_latency, far_bandwidth) in (links or {}).items():
        if link not in LINKS or far_latency < 0 or far_bandwidth <= 0:
            raise ArgumentError(
                f"links[{link!r}]={far_latency, far_bandwidth} must be a latency and a bandwidth "
                f"of one of {', '.join(LINKS)}"
            )
    for name, value in (("bandwidth", bandwidth), ("reduce_bandwidth", reduce_bandwidth)):
        if value is not None and value <= 0:
            raise ArgumentError(f"{name}={value} must be above 0 bytes per second")
    if latency < 0:
        raise ArgumentError(f"latency={latency} must not be negative")
    gamma = 1 / reduce_bandwidth if reduce_bandwidth else 0.0
    far = {link: (alpha, 1 / rate) for link, (alpha, rate) in (links or {}).items()}
    rates = Rates(alpha=latency, beta=1 / bandwidth, gamma=gamma, ports=ports, far=far)
    return max(finish_times(program, program.layout(nbytes), rates))
