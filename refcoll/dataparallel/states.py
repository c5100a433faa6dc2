"""An optimizer's states to be saved: whole, by the names of parameters.

    {"optimizer": {"kind": "Adam", "lr": 0.001, "betas": (0.9, 0.999), ...},
     "state": {"weight": {"step": 3, "mean": array, "square": array}, "bias": {...}}}

A state is as its parameter is shaped, in its dtype (float32 where that is narrower, with a
float32 "master"); {} where the parameter was never updated.  It says nothing of ranks, buckets
or shards, so that a run may go on with others.  (``sharded_states`` gathers and cuts it.)
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from refcoll.dataparallel.reductions import working
from refcoll.dataparallel.replicas import digest
from refcoll.dataparallel.tensors import Tensor
from refcoll.errors import ArgumentError, integer
from refcoll.words import listed

if TYPE_CHECKING:
    from refcoll.dataparallel.optimizers import Optimizer

State = dict[str, Any]
StateDict = dict[str, Any]


def whole(optimizer: Optimizer, states: Mapping[str, State]) -> StateDict:
    """The state dict of an optimizer with these states, by parameter."""
    kind = {"kind": type(optimizer).__name__}
    options = {name: getattr(optimizer, name) for name in optimizer.options}
    return {"optimizer": {**kind, **options}, "state": dict(states)}


def copied(state: State) -> State:
    """A state that later updates leave alone."""
    return {
        name: each.copy() if isinstance(each, np.ndarray) else each for name, each in state.items()
    }


def loaded(state_dict: Any, optimizer: Optimizer, tensors: Sequence[Tensor]) -> Optimizer:
    """A new optimizer, of the kind of ``optimizer``, as the state dict says, states by name.

    Raises ArgumentError for one of another kind, of other parameters, shapes or dtypes.
    """
    if not isinstance(state_dict, Mapping) or set(state_dict) != {"optimizer", "state"}:
        raise ArgumentError(
            f'state_dict={state_dict!r:.80} must be a dict of "optimizer" and "state", as '
            "state_dict() gives it"
        )
    made = _made(state_dict["optimizer"], type(optimizer))
    states = state_dict["state"]
    _require_names([each.name for each in tensors], states)
    for each in tensors:
        if states[each.name]:
            made.states[each.name] = _state(states[each.name], each, made)
    return made


def fingerprint(optimizer: Optimizer) -> str:
    """SHA-256 of its options and states: whether ranks have the same."""
    arrays, said = {}, [repr(whole(optimizer, {}))]
    for key, state in optimizer.states.items():
        for entry, value in state.items():
            if isinstance(value, np.ndarray):
                arrays[f"{key}, {entry}"] = value
            else:
                said.append(f"{key}, {entry}: {value}")
    return hashlib.sha256("\n".join([*sorted(said), digest(arrays)]).encode()).hexdigest()


def _made(options: Any, kind: type[Optimizer]) -> Optimizer:
    known = {"kind", *kind.options}
    if not isinstance(options, Mapping) or options.get("kind") != kind.__name__:
        of = options.get("kind") if isinstance(options, Mapping) else options
        raise ArgumentError(
            f"state_dict is of the optimizer {of!r:.80}, and this one is {kind.__name__}: make the "
            "same kind to go on from it"
        )
    if set(options) != known:
        raise ArgumentError(
            f'state_dict["optimizer"] has {listed(sorted(map(str, options)))}; {kind.__name__} '
            f"wants {listed(sorted(known))}"
        )
    given = {name: options[name] for name in kind.options}
    try:
        return kind(**given)
    except ArgumentError as error:
        raise ArgumentError(f'state_dict["optimizer"]: {error}') from None


def _require_names(wanted: Sequence[str], states: Any) -> None:
    if not isinstance(states, Mapping) or not all(isinstance(s, Mapping) for s in states.values()):
        raise ArgumentError(
            f'state_dict["state"]={states!r:.80} must be a dict of states by parameter'
        )
    absent = [name for name in wanted if name not in states]
    unknown = [f"{name}" for name in states if name not in set(wanted)]
    if absent or unknown:
        parts = [f"no state of {listed(absent)}"] * bool(absent)
        parts += [f"states of {listed(unknown)}, which are no parameters"] * bool(unknown)
        raise ArgumentError(
            f"state_dict has {' and '.join(parts)} here: it was saved with another model"
        )


def _state(given: Mapping[str, Any], tensor: Tensor, optimizer: Optimizer) -> State:
    """The parameter's state, checked and copied."""
    needed = {*optimizer.needs} | ({"master"} if working(tensor.dtype) != tensor.dtype else set())
    allowed = needed | {*optimizer.keeps}
    if not needed <= set(given) <= allowed:
        raise ArgumentError(
            f"state_dict: the state of {tensor.name!r} has {listed(sorted(map(str, given)))}; "
            f"{type(optimizer).__name__} keeps {listed(sorted(allowed)) or 'nothing'} of a "
            f"parameter of dtype {tensor.dtype}"
        )
    return {entry: _value(entry, value, tensor) for entry, value in given.items()}


def _value(entry: str, value: Any, tensor: Tensor) -> Any:
    where = f"state_dict: {entry!r} of {tensor.name!r}"
    if entry == "step":
        number = integer(value, where)
        if number < 1:
            raise ArgumentError(f"{where}={number} must be at least 1: how often it was updated")
        return number
    shape, dtype = tensor.shape, working(tensor.dtype)
    got = f"a {type(value).__name__}"
    if isinstance(value, np.ndarray):
        if (value.shape, value.dtype) == (shape, dtype):
            return value.copy()
        got = f"shape {value.shape} and dtype {value.dtype}"
    raise ArgumentError(f"{where} must be an array of shape {shape} and dtype {dtype}; got {got}")
