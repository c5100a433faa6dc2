"""That a rule keeps its promise: each tensor in exactly one bucket, each bucket of one kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from refcoll.dataparallel.tensors import Bucket, Tensor
from refcoll.errors import ArgumentError


def in_order(tensors: Sequence[Tensor], arrival: Iterable[str]) -> list[Tensor]:
    """The tensors in the order of ``arrival``, which must name each of them once."""
    if isinstance(arrival, str):
        raise ArgumentError(f"arrival={arrival!r:.80} must be a list of names, not a name")
    names = list(arrival)
    require_each_once("arrival", [each.name for each in tensors], names)
    by_name = {each.name: each for each in tensors}
    return [by_name[name] for name in names]


def require_cover(
    tensors: Sequence[Tensor], buckets: Iterable[Bucket], argument: str = "rule"
) -> None:
    """Raise ArgumentError unless the buckets hold each tensor once, and are of one kind each."""
    buckets = list(buckets)
    held = [each for bucket in buckets for each in bucket.tensors]
    require_each_once(argument, [each.name for each in tensors], [each.name for each in held])
    for place, bucket in enumerate(buckets):
        if bucket.index != place:
            raise ArgumentError(
                f"{argument}: bucket {place} has index={bucket.index}; number them from 0"
            )
        _require_one_kind(argument, bucket)


def require_each_once(argument: str, wanted: Iterable[str], given: Sequence[str]) -> None:
    """Raise ArgumentError, with an example of each mistake, unless all are named once."""
    twice = [name for name, times in Counter(given).items() if times > 1]
    wanted, named = list(wanted), set(given)
    known = set(wanted)
    mistakes = {
        "names {} more than once": twice,
        "leaves out {}": [name for name in wanted if name not in named],
        "names {}, which is no parameter": [name for name in given if name not in known],
    }
    said = [phrase.format(_some(names)) for phrase, names in mistakes.items() if names]
    if said:
        raise ArgumentError(f"{argument} {'; '.join(said)}: name each parameter exactly once")


def _some(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"{name!r:.60}" for name in names[:most]) + more


def _require_one_kind(argument: str, bucket: Bucket) -> None:
    if not bucket.tensors:
        raise ArgumentError(f"{argument}: bucket {bucket.index} is empty; leave it out")
    first = bucket.tensors[0]
    for each in bucket.tensors:
        if (each.dtype, each.device) != (first.dtype, first.device):
            raise ArgumentError(
                f"{argument}: bucket {bucket.index} holds {first.name!r} of {first.dtype.name} on "
                f"{first.device} and {each.name!r} of {each.dtype.name} on {each.device}; put "
                "them in different buckets"
            )
