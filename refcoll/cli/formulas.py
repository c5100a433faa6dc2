"""How the command line says times in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from refcoll.algorithms.declaration import Algorithm
from refcoll.programs import Claims
from refcoll.rates import Ports


def time_lines(claims: Claims) -> Iterator[str]:
    """The formula, what it is here, and what its letters mean."""
    time = claims.time
    assert time is not None
    if not time.forms():
        yield "  T = 0: nobody sends anything"
        return
    sign = "<=" if "time" in claims.bounds else "="
    yield f"  T {sign} {time.formula()}  ({time.source})"
    yield f"    {sign} {_here(claims, 'several')}"
    if time.one is not time.several:
        yield f"  on one port T {sign} {time.formula('one')}"
        yield f"    {sign} {_here(claims, 'one')}"
    letters = time.several.where | time.one.where
    yield f"    where {'; '.join(f'{name}: {said}' for name, said in letters.items())}"


def time_content(claims: Claims) -> dict[str, Any]:
    """The same for JSON."""
    time = claims.time
    assert time is not None
    return {
        "formula": str(time.formula()),
        "forms": [str(form) for form in time.forms()],
        "one_port_formula": str(time.formula("one")),
        "one_port_forms": [str(form) for form in time.forms("one")],
        "where": time.several.where | time.one.where,
        "exact": "time" not in claims.bounds,
        "source": time.source,
    }


def algorithm_times(algorithm: Algorithm) -> dict[str, Any]:
    """What an algorithm declares, for any N, for JSON."""
    one = algorithm.one_port or algorithm.time
    return {
        "time": str(algorithm.time),
        "time_one_port": str(one),
        "time_where": algorithm.time.where | one.where,
        "time_exact": algorithm.time_exact.said,
        "time_source": algorithm.time_source,
    }


def _here(claims: Claims, ports: Ports) -> str:
    assert claims.time is not None
    forms = [str(form) for form in claims.time.forms(ports)] or ["0"]
    return forms[0] if len(forms) == 1 else f"max({', '.join(forms)})"
