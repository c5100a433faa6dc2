"""Clipping by the global norm: all gradients are scaled by one factor, as if they were one vector.

    norm = |g|,  over all elements of all parameters, each once
    g *= min(1, max_norm / (norm + 1e-6))

as ``torch.nn.utils.clip_grad_norm_`` has it.  Where gradients are sharded the norm is still
that of all of them: a rank that clips by the norm of its own shard scales it by another factor
than the others do theirs.  The norm is the float64 nearest to the exact one (``squares``): the
same bits whether sharded or not, padded or not, in whatever buckets, on any number of ranks.

(Pascanu, Mikolov, Bengio 2013, On the difficulty of training recurrent neural networks)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from math import inf, isfinite
from numbers import Real

import numpy as np

from refcoll.communicator import Communicator
from refcoll.dataparallel.reductions import working
from refcoll.dataparallel.squares import Squares, format_of
from refcoll.dataparallel.tensors import require_floats
from refcoll.errors import ArgumentError, RefcollError, flag
from refcoll.operators import Array

_EPSILON = 1e-6
"""torch's."""


class NotFiniteError(RefcollError, ArithmeticError):
    """The norm of the gradients is NaN or infinite."""

    poisons = False


def clip_grad_norm_(
    gradients: Mapping[str, Array], max_norm: float, *, error_if_nonfinite: bool = False
) -> float:
    """Scale whole gradients, in place, so that their norm is at most ``max_norm``; the norm before.

    float("inf") clips nothing, to only learn the norm.  By a norm that is not finite gradients
    become NaN or 0, as in torch; with error_if_nonfinite it raises NotFiniteError instead.
    Raises ArgumentError, before anything is scaled, for a wrong ``max_norm``, or for gradients
    that are not float arrays which can be written.
    """
    wanted = checked_norm(max_norm)
    refuse = flag(error_if_nonfinite, "error_if_nonfinite")
    if not isinstance(gradients, Mapping):
        raise ArgumentError(
            f"gradients={gradients!r:.80} must be a dict of arrays by name, such as wait() gives; "
            "of shards: replica.clip_grad_norm_(max_norm)"
        )
    for name, each in gradients.items():
        require_floats(each, f"gradients[{name!r}]")
    norm = squares_of(gradients.values()).root()
    if refuse:
        require_finite(norm)
    scale(gradients.values(), norm, wanted)
    return norm


def checked_norm(value: object) -> float:
    """``max_norm`` as a float.  Raises ArgumentError unless it is a number that is not negative."""
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):  # of an integer beyond all floats
            number = float(value)
            if number >= 0:
                return number
    raise ArgumentError(
        f"max_norm={value!r:.80} must be a number, not negative, such as 1.0; float('inf') "
        "clips nothing"
    )


def squares_of(arrays: Iterable[Array]) -> Squares:
    """The sum of squares of all elements of all arrays."""
    given = list(arrays)
    found = Squares(format_of(each.dtype for each in given))
    for each in given:
        found.add(each)
    return found


def norm_over_ranks(comm: Communicator, squares: Squares) -> float:
    """The norm of what all ranks have, of one format: one all-reduce.  Collective."""
    words = squares.words()
    comm.all_reduce(words, out=words, algorithm="recursive_doubling", check=False)
    squares.take(words)
    return squares.root()


def require_finite(norm: float, everywhere: bool = False) -> None:
    """Raise NotFiniteError for a norm that is NaN or infinite; ``everywhere``: as all ranks do."""
    if isfinite(norm):
        return
    error = NotFiniteError(
        f"the norm of the gradients is {norm}, so they cannot be clipped: leave this step "
        "out, or pass error_if_nonfinite=False"
    )
    if everywhere:
        error.poisons = False  # so none is told by another, before it has got as far by itself
    raise error


def scale(gradients: Iterable[Array], norm: float, max_norm: float) -> None:
    """By what makes ``norm`` at most ``max_norm``."""
    with np.errstate(all="ignore"):
        factor = max_norm / (norm + _EPSILON)
        if factor >= 1 or max_norm == inf:  # of a norm that is not finite torch makes inf / inf
            return
        for each in gradients:
            wide = each.astype(working(each.dtype), copy=False)
            each[...] = wide * wide.dtype.type(factor)
