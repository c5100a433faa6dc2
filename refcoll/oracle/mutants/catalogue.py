"""All mutants."""

from __future__ import annotations

from collections.abc import Sequence

from refcoll.oracle.mutants import (
    aliasing,
    averages,
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
from refcoll.oracle.mutants.mutant import Mutant

_CLASSES = (
    partition, mapping, contributions, aliasing, guards, widths, averages, operations, precision,
    layout, memory, bits, ending,
)  # fmt: skip

MUTANTS: Sequence[Mutant] = tuple(mutant for each in _CLASSES for mutant in each.MUTANTS)
