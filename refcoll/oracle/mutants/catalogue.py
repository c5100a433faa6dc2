"""All mutants."""

from __future__ import annotations

from collections.abc import Sequence

from refcoll.oracle.mutants import (
    accumulators,
    aliasing,
    averages,
    bits,
    complexes,
    contributions,
    datatypes,
    ending,
    guards,
    late,
    layout,
    mapping,
    memory,
    nans,
    operations,
    partition,
    passing,
    precision,
    rounding,
    thresholds,
    views,
    widths,
)
from refcoll.oracle.mutants.mutant import Mutant

_CLASSES = (
    partition, mapping, contributions, passing, aliasing, guards, widths, thresholds, averages,
    operations, accumulators, datatypes, nans, precision, complexes, rounding, layout, views,
    memory, late, bits, ending,
)  # fmt: skip

MUTANTS: Sequence[Mutant] = tuple(mutant for each in _CLASSES for mutant in each.MUTANTS)
