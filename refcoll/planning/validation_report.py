"""All that is known of the model's error, in one object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from refcoll.planning.held_out import HeldOut, held_out
from refcoll.planning.presets import presets
from refcoll.planning.validation import USES, Group, groups, validated
from refcoll.planning.validation_collectives import Again, Ratio, decline, ratios, repeated
from refcoll.planning.validation_rows import PREDICTED, Compared

_ENOUGH = 4
"""Points of a table from which on some can be left out."""


@dataclass(frozen=True)
class Validation:
    """Every row, and what follows from them."""

    rows: Sequence[Compared]
    groups: Sequence[Group]
    held_out: Sequence[tuple[str, HeldOut]]
    """With the name of the machine whose table it is."""
    ratios: Sequence[Ratio]
    repeated: Sequence[Again]
    decline: Sequence[tuple[int, float, float]]

    @property
    def verdict(self) -> str:
        """In one line."""
        uses = Counter(each.use for each in self.rows)
        errors = [abs(each.error) for each in self.rows if each.use == PREDICTED]
        counts = ", ".join(f"{uses[use]} {use}" for use in USES[1:])
        return (
            f"{uses[PREDICTED]} of {len(self.rows)} published figures predicted, "
            f"half of them within {median(errors):.0%}; {counts}"
        )


def validation() -> Validation:
    """Everything."""
    told = validated()
    nodes = [each for each in presets().values() if each.nodes == 1]
    tables = [(each.name, table) for each in nodes for table in each.tables]
    return Validation(
        rows=told,
        groups=groups(told),
        held_out=[
            (name, each)
            for name, table in tables if len(table.points) >= _ENOUGH
            for each in held_out(table)
        ],
        ratios=list(ratios(told)),
        repeated=list(repeated(told)),
        decline=list(decline()),
    )  # fmt: skip
