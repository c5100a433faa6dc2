"""What links and merging cost: the alpha, beta and gamma of the cost model.

    time of a message of n elements = alpha + n beta;     of merging n elements = n gamma

(Hockney's alpha and beta, The communication challenge for MPP, 1994; gamma as in Thakur,
Rabenseifner and Gropp 2005.)  An element may be a byte.  Where all rates are whole numbers or
``fractions.Fraction``, and one at least a Fraction, the interpreters reckon exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import lcm
from numbers import Real
from sys import float_info
from typing import Any, Literal, TypeAlias

from refcoll.errors import ArgumentError, within
from refcoll.topology import LINKS

Number: TypeAlias = float | Fraction
Ports: TypeAlias = Literal["several", "one"]


@dataclass(frozen=True)
class Rates:
    """Seconds per message (alpha), per element moved (beta) and per element reduced (gamma)."""

    alpha: Number = 0
    beta: Number = 0
    gamma: Number = 0
    ports: Ports = "several"
    """Whether messages of a step pay their alphas together, or one after another."""
    far: Mapping[str, tuple[Number, Number]] = field(default_factory=dict)
    """(alpha, beta) of those classes of ``topology.LINKS`` that differ."""
    rails: Mapping[str, int] = field(default_factory=dict)
    """Of classes whose links the ranks of a node share: how many a node has.  Its i-th rank uses
    link i modulo that; elsewhere every rank has a link of its own."""
    gaps: Mapping[str, Number] = field(default_factory=dict)
    """By class: seconds that a message waits for each other one that its sender sends, or its
    receiver receives, on such links in the same step."""

    def of(self, link: str) -> tuple[Number, Number]:
        """(alpha, beta) of a class of links."""
        return self.far.get(link, (self.alpha, self.beta))

    @property
    def exact(self) -> bool:
        """Whether to reckon with rational numbers."""
        numbers = list(self._numbers())
        return any(isinstance(each, Fraction) for each in numbers) and not any(
            isinstance(each, float) for each in numbers
        )

    def in_units(self) -> tuple[Rates, int]:
        """Exact rates as whole numbers of a unit of time, and how many units are a second."""
        a_second = lcm(*(Fraction(each).denominator for each in self._numbers()))
        far = {
            link: (int(alpha * a_second), int(beta * a_second))
            for link, (alpha, beta) in self.far.items()
        }
        gaps = {link: int(gap * a_second) for link, gap in self.gaps.items()}
        whole = (int(each * a_second) for each in (self.alpha, self.beta, self.gamma))
        alpha, beta, gamma = whole
        changed = replace(self, alpha=alpha, beta=beta, gamma=gamma, far=far, gaps=gaps)
        return changed, a_second

    def _numbers(self) -> Iterator[Number]:
        yield from (self.alpha, self.beta, self.gamma)
        for pair in self.far.values():
            yield from pair
        yield from self.gaps.values()


def checked_rates(
    latency: float,
    bandwidth: float,
    reduce_bandwidth: float | None = None,
    ports: Ports = "several",
    links: Mapping[str, tuple[float, float]] | None = None,
    rails: Mapping[str, int] | None = None,
) -> Rates:
    """Rates from seconds per message, bytes per second, and bytes merged per second.

    Merging is free if ``reduce_bandwidth`` is None; ``links`` gives (latency, bandwidth) of
    classes of links that differ, ``rails`` how many of a class a node has for its ranks to
    share.  Raises ArgumentError for a latency below 0, a bandwidth not above 0, other ports,
    another class, or no rail.
    """
    if ports not in ("several", "one"):
        raise ArgumentError(f'ports={ports!r} must be "several" or "one"')
    _require_rate("latency", latency, "bandwidth", bandwidth)
    if reduce_bandwidth is not None:
        _require_rate("latency", latency, "reduce_bandwidth", reduce_bandwidth)
    gamma = 1 / reduce_bandwidth if reduce_bandwidth else 0.0
    return Rates(
        alpha=latency, beta=1 / bandwidth, gamma=gamma, ports=ports, far=_checked_links(links),
        rails=_checked_rails(rails),
    )  # fmt: skip


def _checked_links(
    links: Mapping[str, tuple[float, float]] | None,
) -> Mapping[str, tuple[float, float]]:
    """(alpha, beta) by class, from (latency, bandwidth)."""
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
    return {link: (alpha, 1 / rate) for link, (alpha, rate) in (links or {}).items()}


def _checked_rails(rails: Mapping[str, int] | None) -> Mapping[str, int]:
    if not isinstance(rails, Mapping | None):
        raise ArgumentError(f"rails={rails!r:.80} must be a dict, such as {{{LINKS[1]!r}: 8}}")
    shared = LINKS[:3]
    for link in rails or {}:
        if link not in shared:
            raise ArgumentError(f"rails[{link!r}]: there are no such links; {', '.join(shared)}")
    return {link: within(count, f"rails[{link!r}]", 1) for link, count in (rails or {}).items()}


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
