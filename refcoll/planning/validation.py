"""What the model says beside what others published: every row of published.tsv, once.

    predicted   the model has not seen the figure
    fitted      a constant of the model was computed from the figure: nearness says nothing
    input       the model, or the prediction of another row, is made of it
    chosen      inputs without a source were chosen so that it comes out
    beyond      the model cannot speak of it; ``how`` says why

Errors are (predicted - measured) / measured, of times or, where rates were published, of those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median

from refcoll.planning.published import Row, published
from refcoll.planning.validation_collectives import collectives
from refcoll.planning.validation_rows import BEYOND, CHOSEN, FITTED, INPUT, PREDICTED, Compared
from refcoll.planning.validation_scaling import images, low_rank, samples, story
from refcoll.planning.validation_steps import accumulated, benchmarked, bucketed, straggling

USES = (PREDICTED, FITTED, INPUT, CHOSEN, BEYOND)


def _inputs(rows: Sequence[Row]) -> Iterator[Compared]:
    """What presets are made of."""
    for row in rows:
        yield Compared.input(row, f"the preset ({row.kind})")


_BY_SUBJECT: dict[tuple[str, ...], Callable[[Sequence[Row]], Iterator[Compared]]] = {
    ("machine",): _inputs,
    ("all_reduce",): collectives,
    ("ResNet-50",): images,
    ("one node to four",): story,
    ("DDP step", "DDP bucket 1 MB against 25 MB"): benchmarked,
    ("DDP bucket",): bucketed,
    ("PowerSGD",): low_rank,
    ("accumulation",): accumulated,
    ("straggler",): straggling,
    ("BERT",): samples,
}


def validated() -> list[Compared]:
    """Every row, in the table's order."""
    rows = published()
    told: dict[int, Compared] = {}
    for subjects, tell in _BY_SUBJECT.items():
        for each in tell([row for row in rows if row.subject in subjects]):
            told[id(each.row)] = each
    return [told[id(row)] for row in rows]


@dataclass(frozen=True)
class Group:
    """Predicted rows of one kind, and their errors."""

    title: str
    rows: tuple[Compared, ...]

    @property
    def median(self) -> float:
        """Of the errors' sizes."""
        return median(abs(each.error) for each in self.rows)

    @property
    def bias(self) -> float:
        """The median error, with its sign."""
        return median(each.error for each in self.rows)

    @property
    def worst(self) -> Compared:
        """The row with the greatest error."""
        return max(self.rows, key=lambda each: abs(each.error))


def groups(told: Sequence[Compared]) -> list[Group]:
    """Of the predicted rows, those of one group together."""
    seen = [each for each in told if each.use == PREDICTED]
    order = list(dict.fromkeys(each.group for each in seen))
    seen.sort(key=lambda each: order.index(each.group))
    return [Group(title, tuple(rows)) for title, rows in groupby(seen, lambda each: each.group)]
