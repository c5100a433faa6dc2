"""Which algorithms can be seen from above: closed forms for any number of ranks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from refcoll.planning import double_trees, exchanges, hierarchies, patterns
from refcoll.planning.patterns import Pattern
from refcoll.planning.rounds import Round, Shape

_PATTERNS: dict[tuple[str, str], Pattern] = {
    ("all_reduce", "ring"): patterns.ring_all_reduce,
    ("all_reduce", "segmented_ring"): patterns.segmented_ring_all_reduce,
    ("all_reduce", "binomial"): hierarchies.binomial_all_reduce,
    ("all_reduce", "linear"): patterns.linear_all_reduce,
    ("all_reduce", "one_shot"): patterns.one_shot_all_reduce,
    ("all_reduce", "two_shot"): patterns.two_shot_all_reduce,
    ("all_reduce", "parameter_server"): patterns.hosted_servers_all_reduce,
    ("all_reduce", "hierarchical_rails"): hierarchies.rails_all_reduce,
    ("all_reduce", "hierarchical_leaders"): hierarchies.leaders_all_reduce,
    ("all_reduce", "three_level_rails"): hierarchies.three_level_rails_all_reduce,
    ("all_reduce", "three_level_leaders"): hierarchies.three_level_leaders_all_reduce,
    ("all_reduce", "recursive_doubling"): exchanges.recursive_doubling_all_reduce,
    ("all_reduce", "rabenseifner"): exchanges.rabenseifner_all_reduce,
    ("all_reduce", "rabenseifner_half_folding"): exchanges.half_folding_all_reduce,
    ("all_reduce", "recursive_multiplying"): exchanges.multiplying_all_reduce,
    ("all_reduce", "bcube"): exchanges.bcube_all_reduce,
    ("all_reduce", "swing_latency"): exchanges.swing_latency_all_reduce,
    ("all_reduce", "swing"): exchanges.swing_all_reduce,
    ("all_reduce", "bine"): exchanges.bine_all_reduce,
    ("all_reduce", "double_binary_tree"): double_trees.double_tree_all_reduce,
    ("reduce_scatter", "ring"): patterns.ring_reduce_scatter,
    ("reduce_scatter", "direct"): patterns.direct_reduce_scatter,
    ("reduce_scatter", "bruck"): patterns.bruck_reduce_scatter,
    ("reduce_scatter", "pat"): patterns.pat_reduce_scatter,
    ("reduce_scatter", "recursive_halving"): exchanges.recursive_halving_reduce_scatter,
    ("all_gather", "ring"): patterns.ring_all_gather,
    ("all_gather", "direct"): patterns.direct_all_gather,
    ("all_gather", "bruck"): patterns.bruck_all_gather,
    ("all_gather", "pat"): patterns.pat_all_gather,
    ("all_gather", "recursive_doubling"): exchanges.recursive_doubling_all_gather,
    ("all_to_all", "linear"): patterns.linear_all_to_all,
}
_POWERS_OF_TWO_ONLY = {("reduce_scatter", "recursive_halving")}
"""Their schedules serve every N, their patterns do not."""


def pattern(collective: str, name: str, ranks: int) -> Pattern | None:
    """That of an algorithm, or of a pair A+B, on so many ranks; None where there is none."""
    if "+" in name and collective == "all_reduce":
        first, _, second = name.partition("+")
        scatter = pattern("reduce_scatter", first, ranks)
        gather = pattern("all_gather", second, ranks)
        return _joined(scatter, gather) if scatter and gather else None
    if (collective, name) in _POWERS_OF_TWO_ONLY and ranks & (ranks - 1):
        return None
    return _PATTERNS.get((collective, name))


def _joined(scatter: Pattern, gather: Pattern) -> Pattern:
    def both(shape: Shape) -> Iterator[Round]:
        return chain(scatter(shape), gather(shape))

    return both
