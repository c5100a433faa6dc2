"""What a program costs in time, on links of one speed (the alpha-beta-gamma model).

    T of the ring all-reduce = 2(N-1) alpha + 2(N-1)/N S / bandwidth + (N-1)/N S gamma

(Hockney's alpha and beta; gamma as in Thakur, Rabenseifner and Gropp 2005.)  See ``clock``
for how steps overlap.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from sys import float_info
from typing import Any, Literal

from refcoll.errors import ArgumentError, integer
from refcoll.interpreters.clock import Rates, finish_times
from refcoll.programs import Program, require_program
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
    require_program(program)
    if integer(nbytes, "nbytes") < 0:
        raise ArgumentError(f"nbytes={nbytes} must not be negative")
    if ports not in ("several", "one"):
        raise ArgumentError(f'ports={ports!r} must be "several" or "one"')
    _require_rate("latency", latency, "bandwidth", bandwidth)
    if reduce_bandwidth is not None:
        _require_rate("latency", latency, "reduce_bandwidth", reduce_bandwidth)
    if not isinstance(links, Mapping | None):
        raise ArgumentError(
            f"links={links!r:.80} must be a dict, such as {{{LINKS[1]!r}: {(20e-6, 1e9)}}}"
        )
    for link, rate in (links or {}).items():
        if link not in LINKS or not isinstance(rate, tuple) or len(rate) != 2:
            raise ArgumentError(
                f"links[{link!r}]={rate!r} must be (latency, bandwidth), of one of "
                f"{', '.join(LINKS)}"
            )
        _require_rate(
            f"latency of links[{link!r}]", rate[0], f"bandwidth of links[{link!r}]", rate[1]
        )
    gamma = 1 / reduce_bandwidth if reduce_bandwidth else 0.0
    far = {link: (alpha, 1 / rate) for link, (alpha, rate) in (links or {}).items()}
    rates = Rates(alpha=latency, beta=1 / bandwidth, gamma=gamma, ports=ports, far=far)
    return max(finish_times(program, program.layout(nbytes), rates))


def _require_rate(latency_name: str, latency: Any, name: str, bandwidth: Any) -> None:
    """Raise ArgumentError for what is no number, or out of range; NaN is.

    A link may be infinitely fast, as where only latency is of interest, but not late for ever.
    """
    if not _is_number(latency) or not 0 <= latency <= float_info.max:
        raise ArgumentError(
            f"{latency_name}={latency!r:.80} must be seconds, not negative, and finite"
        )
    if not _is_number(bandwidth) or not bandwidth > 0:
        raise ArgumentError(f"{name}={bandwidth!r:.80} must be above 0 bytes per second")


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
