"""Faulty implementations of collectives, to try oracles and test-suites on.

    for mutant in MUTANTS:
        implementation = mutant.make(comm)          # as in refcoll.oracle.implementation
        mutant.shows_at                             # a collective, and how many ranks it takes

Each is a right implementation (``sound.Sound``) in which the mechanism of a fault replaces
one method.  ``score`` says how many of them the oracle finds, and what simpler checks would.
"""

from refcoll.oracle.mutants.catalogue import MUTANTS
from refcoll.oracle.mutants.mutant import Mutant, ShowsAt
from refcoll.oracle.mutants.scoring import Score, ScoreRow, expected, score

__all__ = ["MUTANTS", "Mutant", "Score", "ScoreRow", "ShowsAt", "expected", "score"]
