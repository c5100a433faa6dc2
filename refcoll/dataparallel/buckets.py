"""Gradient buckets: a rule by its name, and what it makes of a model.

>>> from refcoll.dataparallel.tensors import Tensor
>>> model = [Tensor("embedding", (600_000,)), Tensor("linear", (100, 3000)), Tensor("bias", (100,))]
>>> [[each.name for each in bucket.tensors] for bucket in assign(model, "ddp")]
[['bias', 'linear'], ['embedding']]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeAlias, TypedDict, Unpack

from refcoll.dataparallel.covering import in_order, require_cover
from refcoll.dataparallel.libraries import Ddp, DeepSpeed, DeepSpeedFallback, Horovod
from refcoll.dataparallel.rules import (
    BucketRule,
    Buckets,
    Groups,
    Own,
    Single,
    Tensors,
    Whole,
)
from refcoll.dataparallel.tensors import Tensor
from refcoll.errors import ArgumentError

RULES: Mapping[str, Callable[..., BucketRule]] = {
    "ddp": Ddp,
    "deepspeed": DeepSpeed,
    "deepspeed_fallback": DeepSpeedFallback,
    "horovod": Horovod,
    "whole": Whole,
    "single": Single,
}

Rule: TypeAlias = str | BucketRule | Groups | Callable[[Tensors], Groups]
"""A name, a rule of that kind, or one's own buckets."""


class RuleOptions(TypedDict, total=False):
    """What the rules of libraries can be told; each has its own, with the library's default.

    Caps are in bytes or in elements, as in the library.  None and False are as if left out.
    """

    cap_bytes: int | tuple[int, ...] | None
    cap_elements: int | None
    first_bytes: int | None
    find_unused: bool
    static_graph: bool
    cycles: tuple[int, ...]
    local_size: int | None
    padding_bytes: int | None


def bucket_rule(rule: Rule = "ddp", **options: Unpack[RuleOptions]) -> BucketRule:
    """The rule, with these options.  Raises ArgumentError for one that it does not have."""
    given = {n: value for n, value in options.items() if value is not None and value is not False}
    if not isinstance(rule, str):
        _require_options("of one's own", given, [])
        return rule if isinstance(rule, BucketRule) else Own(rule)
    if rule not in RULES:
        raise ArgumentError(f"rule={rule!r:.80} is not known: use one of {', '.join(RULES)}")
    _require_options(repr(rule), given, _options(RULES[rule]))
    return RULES[rule](**given)


def _require_options(rule: str, given: Mapping[str, object], has: Sequence[str]) -> None:
    for name, value in given.items():
        if name not in has:
            users = [each for each, kind in RULES.items() if name in _options(kind)]
            raise ArgumentError(
                f"{name}={value!r} is no option of a rule {rule}, but of "
                f"{', '.join(users) or 'none'}: leave it out"
            )


def _options(rule: Any) -> list[str]:
    return [each.name for each in fields(rule)]


def assign(
    tensors: Iterable[Tensor],
    rule: Rule = "ddp",
    *,
    arrival: Iterable[str] | None = None,
    **options: Unpack[RuleOptions],
) -> Buckets:
    """The buckets that a rule settles on, in the order in which they are reduced.

    ``tensors`` are in the order of the model's parameters; ``arrival`` names them in the order
    in which their gradients are ready, by default the model's backwards.

    Raises ArgumentError unless each tensor is in exactly one bucket, of one dtype and device.
    """
    made, model = bucket_rule(rule, **options), _distinct(tensors)
    names = [each.name for each in model][::-1] if arrival is None else arrival
    ready = in_order(model, names)  # that they are right, whether or not the rule looks at them
    settled = made.rebuilt(model, [each.name for each in ready])
    buckets = made.initial(model) if settled is None else settled
    require_cover(model, buckets)
    return buckets


def _distinct(tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    model = tuple(tensors)
    if not model or not all(isinstance(each, Tensor) for each in model):
        raise ArgumentError(f"tensors={model!r:.80} must be Tensors, at least one")
    names = [each.name for each in model]
    if len(set(names)) < len(names):
        again = next(name for place, name in enumerate(names) if name in names[:place])
        raise ArgumentError(f"tensors: {again!r} is there twice; give each a name of its own")
    return model
