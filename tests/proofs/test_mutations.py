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
from refcoll.algorithms import declaration, recursive, reduce_scatter, ring, tree

FUNCTIONS = {
    schedule: ("on_ranks", "padded", "reverse", "_turned", "_with_peer"),
    declaration: ("log2_ceiling",),
    ring: ("ring_reduce_scatter", "ring_all_gather"),
    reduce_scatter: ("pairwise_reduce_scatter",),
    tree: ("binomial_broadcast",),
    recursive: (
        "doubling", "halving", "folded", "fold_in", "recursive_doubling_all_reduce",
        "rabenseifner_all_reduce", "power_below", "survivors", "folding", "_log2",
    ),
}  # fmt: skip
"""What is changed, module by module, in the order of their imports."""
NO_DIFFERENCE = {
    "_turned: isinstance(turned, Copy) or (into is Reduce and isinstance(turned, Send))"
    " -> isinstance(turned, Copy) and (into is Reduce and isinstance(turned, Send))":
        "it guards against schedules that cannot be reversed, which none of these is",
    "fold_in: size > power_below(size) -> size >= power_below(size)":
        "where they are equal, folded does not ask it",
    "folded: size - power_below(size) -> size + power_below(size)":
        "where nobody folds, what is done for those who fold is nothing",
    "halving: rank < other -> rank <= other":
        "they always differ",
}  # fmt: skip
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
    assert {each.function for each in found} <= set(FUNCTIONS[module])
    missed = {str(each) for each in found if not noticed(module, each)}
    assert missed == NO_DIFFERENCE.keys() & set(map(str, found))


def test_without_a_change_nothing_differs():
    assert not differs(built(FUNCTIONS, schedule, None))
