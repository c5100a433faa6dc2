"""Whoever changes an index in Python hears of it.

Every number, operator and comparison in the functions that the bound algorithms are made of
is changed in turn; Python's schedules are then no longer what Coq has printed.
"""

from __future__ import annotations

from types import ModuleType

import pytest
from index_mutants import Mutant, built, mutants

from coq_golden import golden, kept
from coq_terms import instances, program_term
from refcoll import schedule
from refcoll.algorithms import (
    declaration,
    leaders,
    rails,
    recursive,
    reduce_scatter,
    ring,
    shares,
    tree,
)

FUNCTIONS = {
    schedule: (
        "on_ranks", "on_chunks", "together", "padded", "reverse", "_turned", "_with_peer",
        "_widened",
    ),
    declaration: ("log2_ceiling",),
    ring: ("ring_reduce_scatter", "ring_all_gather"),
    reduce_scatter: ("pairwise_reduce_scatter",),
    tree: ("binomial_broadcast",),
    recursive: (
        "doubling", "halving", "folded", "fold_in", "recursive_doubling_all_reduce",
        "rabenseifner_all_reduce", "power_below", "survivors", "folding", "_log2",
    ),
    shares: ("_cuts", "_places", "owners", "shares", "home", "_homes", "largest"),
    rails: ("rails_all_reduce", "rails_over", "_rails"),
    leaders: ("leaders_all_reduce", "leaders_over"),
}  # fmt: skip
"""What is changed, module by module, in the order of their imports."""
TURNED = "_turned: if isinstance(turned, Copy) {} (into is Reduce and isinstance(turned, Send)):"
RANGE = "_widened: if isinstance(chunks, range) and chunks.step {} and chunks:"
WIDE = "_widened: return wide[{}] if len(wide) {} else tuple(chain.from_iterable(wide))"
HALVES = "halving: kept, given = (low, high) if rank {} other else (high, low)"
CUTS = "_rails: cuts = range(piece * chunks, (piece + {}) * chunks + {})"
NO_DIFFERENCE = {
    # It guards against schedules that cannot be reversed, which none of these is.
    (TURNED.format("or"), TURNED.format("and")),
    # A range is the indices in it; and the schedules that are widened name one chunk at a time.
    *((RANGE.format("== 1"), RANGE.format(other)) for other in ("!= 1", "== 2", "== 0")),
    *((WIDE.format(0, "== 1"), WIDE.format(*other)) for other in
      ((0, "!= 1"), (0, "== 2"), (0, "== 0"), (-1, "== 1"))),
    # Where they are equal, folded does not ask it.
    ("fold_in: if size > power_below(size):", "fold_in: if size >= power_below(size):"),
    # Where nobody folds, what is done for those who fold is nothing.
    ("folded: extra = size - power_below(size)", "folded: extra = size + power_below(size)"),
    # They always differ.
    (HALVES.format("<"), HALVES.format("<=")),
    # Nobody asks for a cut beyond.
    (CUTS.format(1, 1), CUTS.format(1, 2)),
    (CUTS.format(1, 1), CUTS.format(2, 1)),
}  # fmt: skip
"""Changes of a line after which the schedules are the same."""
SIZES = range(1, 9)
PRINTED = golden("schedules.txt")


def differs(modules: dict[str, ModuleType]) -> bool:
    """Whether these modules' schedules are not what Coq has printed, or none at all."""
    declared = {
        (each.collective, each.name): each
        for module in modules.values()
        for each in getattr(module, "ALGORITHMS", ())
    }
    for each in instances(SIZES):
        algorithm = declared.get((each.bound.collective, each.bound.algorithm))
        try:
            if algorithm and kept(program_term(each.steps(algorithm))) != PRINTED[each.schedule]:
                return True
        except Exception:
            return True
    return False


def noticed(module: ModuleType, mutant: Mutant) -> bool:
    """Whether the schedules of the module, and of those that import it, differ."""
    later = list(FUNCTIONS)[list(FUNCTIONS).index(module) :]
    return differs(built(later, module, mutant.tree))


@pytest.mark.parametrize("module", FUNCTIONS, ids=lambda module: module.__name__)
def test_every_changed_index_is_noticed(module):
    found = list(mutants(module, FUNCTIONS[module]))
    assert found
    missed = {each.lines for each in found if not noticed(module, each)}
    assert missed == NO_DIFFERENCE & {each.lines for each in found}


def test_without_a_change_nothing_differs():
    assert not differs(built(FUNCTIONS, schedule, None))
