"""A call that has not returned on some ranks: what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from refcoll.oracle.calls import Call
from refcoll.oracle.endings import ended
from refcoll.oracle.verdicts import Finding, Judgement, Standing
from refcoll.words import ranked


def hang(call: Call, seed: int, limit: float, standing: Sequence[Standing]) -> Judgement:
    """The last judgement of a run: what hangs cannot be judged any further."""
    said = _said(limit, standing)
    finding = Finding(call, "any", seed, "finished", said, tuple(standing))
    return Judgement(call, findings=[finding], last=True)


def said_making(limit: float, standing: Sequence[Standing]) -> str:
    """Of an implementation that is still being made on some ranks."""
    return f"make() {_said(limit, standing)}"


def _said(limit: float, standing: Sequence[Standing]) -> str:
    """Which ranks have returned, and which have not."""
    return f"did not finish within {limit:g} s: {ended([each.status for each in standing])}"


def places(standing: Sequence[Standing]) -> Iterator[str]:
    """Where the ranks are that have not returned, in lines; those at one place together."""
    found: dict[tuple[str, ...], list[int]] = {}
    for rank, each in enumerate(standing):
        if each.stack:
            found.setdefault(each.stack, []).append(rank)
    for stack, ranks in found.items():
        yield f"{ranked(ranks)}, innermost last:"
        yield from (f"   {line}" for line in stack)
