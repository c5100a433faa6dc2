"""The checks that test-suites commonly make, to compare the oracle with.

    all ones       every input is 1; every rank compares with the exact result
    same seed      random whole numbers, the same on all ranks; every rank compares
    rtol 1e-2      random inputs; every rank compares, with a relative tolerance of 1e-2
    rank 0 only    random whole numbers; only rank 0 compares

None of them poisons outputs, guards buffers, repeats calls or compares ranks with each other.
A call that raises counts as found by all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.errors import RefcollError
from refcoll.operators import Array, kind
from refcoll.oracle.calls import Call
from refcoll.oracle.guarded import Guarded
from refcoll.oracle.implementation import called
from refcoll.oracle.mutants.mutant import Mutant
from refcoll.oracle.truth import truth
from refcoll.spawning import spawn
from refcoll.testing.values import dtype_named

Fill = Callable[[np.random.Generator, int], Array]


@dataclass(frozen=True)
class SimpleCheck:
    """What its inputs are, and how it compares."""

    name: str
    fill: Fill
    same_seed: bool = False
    rtol: float = 0.0
    ranks: Sequence[int] | None = None
    """Who compares; None for all."""


def _small(generator: np.random.Generator, length: int) -> Array:
    return generator.integers(0, 10, length).astype(float)


SIMPLE_CHECKS = (
    SimpleCheck("all ones", lambda generator, length: np.ones(length)),
    SimpleCheck("same seed", _small, same_seed=True),
    SimpleCheck("rtol 1e-2", lambda generator, length: generator.random(length), rtol=1e-2),
    SimpleCheck("rank 0 only", _small, ranks=(0,)),
)


def simply_checked(mutant: Mutant, calls: Sequence[Call], seed: int = 0) -> dict[str, bool]:
    """By check: whether any of the calls looks wrong to it."""
    return {check.name: _finds(check, mutant, calls, seed) for check in SIMPLE_CHECKS}


def _finds(check: SimpleCheck, mutant: Mutant, calls: Sequence[Call], seed: int) -> bool:
    def on_rank(comm: Communicator) -> bool:
        implementation = mutant.make(comm)
        wrong = [_looks_wrong(check, implementation, call, comm, seed) for call in calls]
        return any(wrong)  # only then: the others take part in every call

    try:
        return any(spawn(mutant.shows_at.size, on_rank, timeout=mutant.shows_at.timeout))
    except (RefcollError, ArithmeticError, ValueError, TypeError, NotImplementedError):
        return True


def _looks_wrong(
    check: SimpleCheck, implementation: object, call: Call, comm: Communicator, seed: int
) -> bool:
    dtype = dtype_named(call.dtype)
    given = [_input(check, call, rank, comm.size, seed).astype(dtype) for rank in range(comm.size)]
    x, out = _arrays(call, given[comm.rank], comm.rank, comm.size)
    with np.errstate(all="ignore"):
        called(implementation, call, x, out)
        right = truth("coded", call, given, comm.rank)
    if right is None or out is None or (check.ranks and comm.rank not in check.ranks):
        return False
    if kind(dtype) in "fc" and (check.rtol or call.op in ("prod", "avg")):
        got, wanted = out.astype(np.complex128), right.wanted.astype(np.complex128)
        return not np.allclose(got, wanted, rtol=max(check.rtol, 1e-5), atol=0, equal_nan=True)
    return not np.array_equal(out, right.wanted)


def _input(check: SimpleCheck, call: Call, rank: int, size: int, seed: int) -> Array:
    key = [seed, 0 if check.same_seed else rank]
    values = check.fill(np.random.default_rng(key), call.input_length(rank, size))
    return values * 10 if call.dtype[0] in "iu" and check.rtol else values


def _arrays(call: Call, mine: Array, rank: int, size: int) -> tuple[Array | None, Array | None]:
    """Fresh arrays, outputs holding zeros; what is written beyond them does no harm."""
    length = call.output_length(rank, size)
    holds = call.collective not in ("scatter", "broadcast") or rank == call.root
    if not call.in_place:
        out = None if length is None else _zeros(length, mine.dtype)
        return (_copied(mine) if holds else None), out
    if call.collective == "all_gather":
        whole = _zeros(call.count * size, mine.dtype)
        own = whole[rank * call.count : (rank + 1) * call.count]
        own[:] = mine
        return own, whole
    both = _copied(mine)
    return both, None if length is None else both[:length]


def _zeros(count: int, dtype: np.dtype[Any]) -> Array:
    zeros = Guarded(count, dtype).array
    zeros[:] = 0
    return zeros


def _copied(values: Array) -> Array:
    copy = _zeros(values.size, values.dtype)
    copy[:] = values
    return copy
