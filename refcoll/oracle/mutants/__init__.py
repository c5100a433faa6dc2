"""Faulty implementations of collectives, to try oracles and test-suites on.

    for mutant in MUTANTS:
        implementation = mutant.make(comm)          # as in refcoll.oracle.implementation
        mutant.shows_at                             # a collective, and how many ranks it takes

Each is a right implementation (``sound.Sound``) in which the mechanism of a fault replaces
one method.  ``score`` says how many of them the oracle finds, and what simpler checks would.
"""

from __future__ import annotations

from collections.abc import Sequence

from refcoll.oracle.mutants import (
    aliasing,
    bits,
    contributions,
    ending,
    guards,
    layout,
    mapping,
    memory,
    operations,
    partition,
    precision,
    widths,
)
from refcoll.oracle.mutants.mutant import Mutant, ShowsAt

_CLASSES = (
    partition, mapping, contributions, aliasing, guards, widths, operations, precision, layout,
    memory, bits, ending,
)  # fmt: skip

MUTANTS: Sequence[Mutant] = tuple(mutant for each in _CLASSES for mutant in each.MUTANTS)
__all__ = ["MUTANTS", "Mutant", "ShowsAt"]
