"""A published figure, and what the model says of it."""

from __future__ import annotations

from dataclasses import dataclass

from refcoll.planning.published import Row

PREDICTED, FITTED, INPUT, CHOSEN, BEYOND = "predicted", "fitted", "input", "chosen", "beyond"


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One row of the table; ``use`` as ``validation`` says."""

    row: Row
    use: str
    how: str
    """By what it was predicted, for what it is an input, or why nothing can be said."""
    group: str = ""
    """Under which title its error is summed up."""
    measured: float
    unit: str
    predicted: float | None = None

    @classmethod
    def input(cls, row: Row, how: str) -> Compared:
        """A figure that predictions are made of."""
        return cls(row=row, use=INPUT, how=how, measured=row.value, unit=row.unit)

    @classmethod
    def beyond(cls, row: Row, why: str) -> Compared:
        """A figure that the model cannot speak of."""
        return cls(row=row, use=BEYOND, how=why, measured=row.value, unit=row.unit)

    @classmethod
    def of(cls, row: Row, predicted: float, how: str, group: str) -> Compared:
        """A figure that the model has not seen."""
        return cls(
            row=row, use=PREDICTED, how=how, group=group, measured=row.value, unit=row.unit,
            predicted=predicted,
        )  # fmt: skip

    @property
    def error(self) -> float:
        """(Predicted - measured) / measured.  Only where something was predicted."""
        assert self.predicted is not None
        return self.predicted / self.measured - 1
