"""What a program says that it takes, in closed form: the time without the schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import mul
from typing import Any, TypeAlias

from refcoll.expressions import Formula
from refcoll.forms import Form
from refcoll.rates import Number, Ports, Rates
from refcoll.topology import LINKS, Topology

Links: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class TimeClaim:
    """The alpha-beta-gamma time of one program, by formula; see ``refcoll.formulas``.

    It is that of the cost interpreter (``interpreters.clock``) for a vector of equal chunks,
    all ranks starting together; for one whose size its chunks do not divide it is near.
    """

    size: int
    options: Mapping[str, Any]
    several: Formula
    """Where the messages of a step pay their alphas together."""
    one: Formula
    """Where they pay them one after another."""
    links: Links
    """For alpha, alpha_inter and alpha_switch, the classes of links that they stand for."""
    source: str

    def formula(self, ports: Ports = "several") -> Formula:
        """The formula for any N, to be printed."""
        return self.several if ports == "several" else self.one

    def forms(self, ports: Ports = "several") -> tuple[Form, ...]:
        """The linear forms, here, of which the time is the greatest; none where nobody talks."""
        return self._forms[ports]

    @property
    def of_one_speed(self) -> bool:
        """Whether no alpha stands for links of more than one class."""
        return all(len(links) <= 1 for links in self.links)

    def __call__(self, nbytes: int, rates: Rates) -> Number:
        """Seconds for a vector of ``nbytes``: exact, a Fraction, where the rates are.

        Of several classes of links that one alpha stands for the slowest counts.
        """
        prices = self._prices(nbytes, rates)
        if rates.exact:
            return max((form(prices) for form in self.forms(rates.ports)), default=0)
        forms = self._floats[rates.ports]
        return max((sum(map(mul, counts, prices)) for counts in forms), default=0.0)

    def _prices(self, nbytes: int, rates: Rates) -> list[Number]:
        """What each of ``forms.TERMS`` takes."""
        prices: list[Number] = []
        for links in self.links:
            pairs = [rates.of(link) for link in links] or [(0, 0)]
            prices += [max(alpha for alpha, _ in pairs), nbytes * max(beta for _, beta in pairs)]
        return [*prices, nbytes * rates.gamma]

    @cached_property
    def _forms(self) -> dict[Ports, tuple[Form, ...]]:
        if not any(self.links):
            return {"several": (), "one": ()}
        several = self.several.forms(self.size, **self.options)
        same = self.one is self.several
        return {
            "several": several,
            "one": several if same else self.one.forms(self.size, **self.options),
        }

    @cached_property
    def _floats(self) -> dict[Ports, list[list[float]]]:
        return {
            ports: [[float(count) for count in form.counts] for form in forms]
            for ports, forms in self._forms.items()
        }


def links_of(where: Topology, helpers: int, options: Sequence[str]) -> Links:
    """The classes of links that alpha, alpha_inter and alpha_switch stand for.

    For an algorithm that knows nodes (or switches too) the first is that within nodes; for
    any other it is all that are in use, and where helpers take part those to them.
    """
    within, between, across, helping = LINKS
    if helpers:
        return (helping,), (), ()
    used = where.links
    if "switches" in options:
        levels: list[tuple[str, ...]] = [(within,), (between,), (across,)]
    elif "nodes" in options:
        levels = [(within,), (between, across), ()]
    else:
        levels = [(within, between, across), (), ()]
    near, middle, far = (tuple(link for link in level if link in used) for level in levels)
    return near, middle, far
