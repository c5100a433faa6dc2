"""A call that has not returned, or has taken its process with it: what is said of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NoReturn

from refcoll.oracle.calls import Call
from refcoll.oracle.endings import AHEAD, HANGS, ended
from refcoll.oracle.verdicts import ANY, Finding, Judgement, Standing
from refcoll.words import ranked


def hang(call: Call, seed: int, limit: float, standing: Sequence[Standing]) -> Judgement:
    """The last judgement of a run: what hangs cannot be judged any further."""
    told = _compared(standing)
    finding = Finding(call, ANY, seed, "finished", _said(limit, told), told)
    return Judgement(call, findings=[finding], last=True)


def crash(call: Call, seed: int, said: str) -> Judgement:
    """The last judgement of a run whose process, or job, ended in this call, as is ``said``."""
    return Judgement(call, findings=[Finding(call, ANY, seed, "finished", said)], last=True)


def said_making(limit: float, standing: Sequence[Standing]) -> str:
    """Of an implementation that is still being made on some ranks."""
    return f"make() {_said(limit, standing)}"


def _said(limit: float, standing: Sequence[Standing]) -> str:
    """Which ranks have returned, and which have not."""
    return f"did not finish within {limit:g} s: {ended([each.status for each in standing])}"


def _compared(standing: Sequence[Standing]) -> tuple[Standing, ...]:
    """Ranks that are in a later try than others wait for those, and are told apart."""
    first = min((each.tries for each in standing if each.status == HANGS), default=0)
    return tuple(
        replace(each, status=AHEAD) if each.status == HANGS and each.tries > first else each
        for each in standing
    )


def places(standing: Sequence[Standing]) -> Iterator[str]:
    """Where the ranks are that have not returned, in lines; those at one place together, and
    those first that others wait for."""
    found: dict[tuple[int, tuple[str, ...]], list[int]] = {}
    for rank, each in enumerate(standing):
        if each.stack:
            found.setdefault((each.tries, each.stack), []).append(rank)
    for (_, stack), ranks in sorted(found.items()):
        yield f"{ranked(ranks)}, innermost last:"
        yield from (f"   {line}" for line in stack)


def leave(status: int) -> NoReturn:
    """End the process at once.  Of threads that hang Python itself would wait for some: those
    that the implementation has started."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
