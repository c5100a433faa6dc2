"""A machine from samples of logs: whose figures, by the algorithms' formulas, explain them best.

On one class of links the counts are those of ``claims.time``.  Where nodes have several ranks
they are the planner's, which knows how ranks share rails: it is asked for each class alone,
once for latency and once for bandwidth.  A flat algorithm's rounds then wait for the network;
links within its nodes are not told, only that they are no slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refcoll.errors import ArgumentError
from refcoll.forms import Form
from refcoll.planning.calibration_patterns import MERGE, OVERHEAD, gap, latency, per_byte
from refcoll.planning.defaults import by_default
from refcoll.planning.fitting import Counts, Errors, Fit, Observed, fitted
from refcoll.planning.logs import BANDWIDTH, LATENCY, Sample
from refcoll.planning.logs_machine import interpolated, machine_of, tables_of
from refcoll.planning.machine import NETWORK, NODE, Link, Machine
from refcoll.planning.tables import LIBRARY
from refcoll.registry import algorithms, find, program

_FREE = 1e30
"""Bytes per second that cost nothing."""


@dataclass(frozen=True)
class Fitted:
    """What the logs say."""

    machine: Machine
    fit: Fit
    samples: Sequence[Sample]
    algorithms: Sequence[str]
    """Of each sample, the one whose formula was used."""
    tables: Errors | None
    """Of the measured tables, each inner size interpolated without itself."""


def machine_from(
    samples: Sequence[Sample], algorithm: str | None = None, name: str = "logged", rails: int = 1
) -> Fitted:
    """Fit to all of them.  ``algorithm`` is what the library has used (by default ``assumed``).

    Raises ArgumentError where that, or what the logs can tell, is not enough.
    """
    used = [each for each in samples if _algorithm(each, algorithm)]
    if not used:
        there = ", ".join(dict.fromkeys(each.contender for each in samples))
        raise ArgumentError(
            f"algorithm is not said: which one did {there} use? Say it by --algorithm ring; see "
            "`refcoll list`"
        )
    observed = [_observed(each, _algorithm(each, algorithm), rails) for each in used]
    fit = fitted(observed, _names())
    tables = tables_of(samples)
    machine = machine_of(fit, used, name, rails, tables)
    names = [_algorithm(each, algorithm) for each in used]
    return Fitted(machine, fit, used, names, interpolated(tables))


def _algorithm(sample: Sample, said: str | None) -> str:
    """Its algorithm; empty where nobody knows."""
    if sample.collective in (LATENCY, BANDWIDTH):
        return sample.collective
    if sample.contender == LIBRARY:
        return said or assumed(sample.collective)
    return (said or "") if sample.contender == "MPI" else sample.contender


def assumed(collective: str) -> str:
    """What NCCL is taken to use where nobody says: the first of the registry's that are its own,
    a ring or chain; it does so for long vectors."""
    own = (each.name for each in algorithms(collective) if LIBRARY in each.also_known_as)
    return next(own, "")


def _names() -> list[str]:
    both = [figure(link) for figure in (latency, per_byte) for link in (NODE, NETWORK)]
    return [*both, *map(gap, (NODE, NETWORK)), OVERHEAD, MERGE]


def _observed(sample: Sample, algorithm: str, rails: int) -> Observed:
    link = NETWORK if sample.nodes > 1 else NODE
    wide = rails if link == NETWORK else 1
    if sample.collective in (LATENCY, BANDWIDTH):
        first = latency(link) if sample.collective == LATENCY else gap(link)
        forms: tuple[Counts, ...] = ({first: 1.0, per_byte(link): sample.nbytes / wide},)
    elif sample.nodes in (1, sample.ranks):
        forms = _own(sample, algorithm, link, wide)
    else:
        forms = (_planned(sample, algorithm, rails),)
    return Observed(forms, sample.seconds, sample.nbytes)


def _own(sample: Sample, algorithm: str, link: str, wide: int) -> tuple[Counts, ...]:
    """By its formula, where all links are of one class."""
    claims = program(sample.collective, algorithm, sample.ranks).claims
    assert claims is not None
    assert claims.time is not None

    def counts(form: Form) -> Counts:
        terms = {name: float(count) for name, count in form.terms.items()}
        moved, merged = (terms.get(f"S {name}", 0.0) * sample.nbytes for name in ("beta", "gamma"))
        return {
            OVERHEAD: 1.0, latency(link): terms.get("alpha", 0.0), per_byte(link): moved / wide,
            MERGE: merged,
        }  # fmt: skip

    return tuple(map(counts, claims.time.forms())) or ({OVERHEAD: 1.0},)


def _planned(sample: Sample, algorithm: str, rails: int) -> Counts:
    """By the planner, of each class of links alone."""
    knows_nodes = "nodes" in find(sample.collective, algorithm).options
    counts = {OVERHEAD: 1.0}
    for link in (NODE, NETWORK) if knows_nodes else (NETWORK,):
        alone = _probe(sample.nodes, sample.ranks, rails, link, 1.0, _FREE)
        moving = _probe(sample.nodes, sample.ranks, rails, link, 0.0, 1.0)
        counts[latency(link)] = _asked(alone, sample, algorithm)
        counts[per_byte(link)] = _asked(moving, sample, algorithm)
    return counts


def _asked(machine: Machine, sample: Sample, algorithm: str) -> float:
    found = by_default(machine, sample.collective, algorithm)
    if found is None:
        said = f"algorithm={algorithm!r} on {machine.ranks} ranks is not known to the planner"
        raise ArgumentError(f"{said}; say another, or see `refcoll plan`")
    return found.clock.seconds(sample.nbytes)


def _probe(
    nodes: int, ranks: int, rails: int, link: str, seconds: float, bandwidth: float
) -> Machine:
    """A machine on which only one figure costs something, 1 each."""
    free = Link(latency=0.0, bandwidth=_FREE)
    links = {
        **dict.fromkeys((NODE, NETWORK), free),
        link: Link(latency=seconds, bandwidth=bandwidth),
    }
    on_node = ranks // nodes
    return Machine(name="probe", links=links, nodes=nodes, ranks_per_node=on_node, rails=rails)
