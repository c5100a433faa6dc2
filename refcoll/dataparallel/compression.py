"""Reductions by name."""

from __future__ import annotations

from refcoll.dataparallel.halves import Half
from refcoll.dataparallel.onebit import OneBit
from refcoll.dataparallel.powersgd import PowerSGD
from refcoll.dataparallel.reductions import DETERMINISTIC, AllReduce, Reduction
from refcoll.errors import ArgumentError

NAMES = ("none", "fp16", "bf16", "powersgd", "onebit")


def reduction(
    how: str | Reduction | None, algorithm: str = "auto", deterministic: bool = False
) -> Reduction:
    """The reduction of that name, or the one given.

    ``deterministic`` reduces every element by one and the same tree.  Raises ArgumentError for
    a name that is not known, and for what cannot be deterministic in this sense.
    """
    if deterministic:
        _require_a_tree(how, algorithm)
        algorithm = DETERMINISTIC
    if not isinstance(how, str | None):
        if not hasattr(how, "bind") or not hasattr(how, "keeps_state"):
            raise ArgumentError(
                f"reduction={how!r:.80} must be one of {', '.join(NAMES)}, or a Reduction"
            )
        return how
    match how:
        case None | "none":
            return AllReduce(algorithm)
        case "fp16":
            return Half("float16", algorithm=algorithm)
        case "bf16":
            return Half("bfloat16", algorithm=algorithm)
        case "powersgd":
            return PowerSGD(algorithm=algorithm)
        case "onebit":
            return OneBit()
    raise ArgumentError(f"reduction={how!r:.80} must be one of {', '.join(NAMES[1:])}, or None")


def _require_a_tree(how: str | Reduction | None, algorithm: str) -> None:
    if algorithm not in ("auto", DETERMINISTIC):
        raise ArgumentError(
            f"algorithm={algorithm!r} with deterministic=True, which takes {DETERMINISTIC}; leave "
            "one of them out"
        )
    if how not in (None, "none", "fp16", "bf16"):
        raise ArgumentError(
            f"deterministic=True with reduction={how!r:.80}, whose results depend on what shares "
            "a bucket, or which names its algorithm itself; leave one of them out"
        )
