"""SGD and Adam, elementwise: a shard is updated to the same bits as within the whole.

Both are as PyTorch's ``torch.optim.SGD``, ``Adam`` and ``AdamW``.  States are kept by the key
that a parameter, or a shard of parameters, is updated under.  What is narrower than float32 is
updated in float32, from a float32 copy (the master parameters of mixed precision), and rounded.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from math import isfinite, sqrt
from typing import Any, ClassVar

import numpy as np

from refcoll.dataparallel.states import State, StateDict, copied, loaded, whole
from refcoll.dataparallel.tensors import described
from refcoll.errors import ArgumentError
from refcoll.operators import Array
from refcoll.words import listed


class Optimizer:
    """What SGD and Adam have in common.  Options may be changed between steps, such as ``lr``."""

    states: dict[Hashable, State]
    options: ClassVar[tuple[str, ...]] = ()
    """Names of the constructor's arguments, and of what it keeps of them."""
    keeps: ClassVar[tuple[str, ...]] = ()
    """What a parameter's state may have in it, ..."""
    needs: ClassVar[tuple[str, ...]] = ()
    """... and what it must have once it was updated; beside a master copy."""

    def step(self, parameters: Mapping[str, Array], gradients: Mapping[str, Array]) -> None:
        """Update, in place, each parameter that has a gradient.

        Raises ArgumentError for a gradient of no parameter.
        """
        for name, gradient in gradients.items():
            if name not in parameters:
                raise ArgumentError(
                    f"gradients: {name!r} is no parameter; there are {listed([*parameters])}"
                )
            self.update(name, parameters[name], gradient)

    def update(self, key: Hashable, parameter: Array, gradient: Array) -> None:
        """Update one parameter in place, with the state of that key."""
        state = self.states.setdefault(key, {})
        with np.errstate(all="ignore"):
            if parameter.dtype.itemsize >= 4:
                self._apply(state, parameter, gradient)
                return
            state["master"] = _followed(state.get("master"), parameter)
            self._apply(state, state["master"], gradient.astype(np.float32))
            parameter[...] = state["master"].astype(parameter.dtype)

    def state_dict(self, parameters: Mapping[str, Array]) -> StateDict:
        """Its options and a copy of the states of named parameters (``states``), to be saved.

        Raises ArgumentError for states of shards, or of other parameters.
        """
        names = [each.name for each in described(parameters)]
        others = [key for key in self.states if key not in names]
        if others:
            raise ArgumentError(
                f"the optimizer has {len(others)} states of others than these parameters, such as "
                f"{others[0]!r:.80}; states of shards are saved by replica.state_dict()"
            )
        return whole(self, {name: copied(self.states.get(name, {})) for name in names})

    def load_state_dict(self, state_dict: StateDict, parameters: Mapping[str, Array]) -> None:
        """Take over options and states that ``state_dict`` of such parameters has given.

        Raises ArgumentError, before anything is changed, for those of another kind of
        optimizer, or of other parameters, shapes or dtypes.
        """
        found = loaded(state_dict, self, described(parameters))
        self.become(found)
        self.states = found.states

    def become(self, other: Optimizer) -> None:
        """Take over its options, not its states."""
        for name in self.options:
            setattr(self, name, getattr(other, name))

    @property
    def nbytes(self) -> int:
        """Bytes of all states."""
        arrays = (each for state in self.states.values() for each in state.values())
        return sum(each.nbytes for each in arrays if isinstance(each, np.ndarray))

    def _apply(self, state: State, parameter: Array, gradient: Array) -> None:
        raise NotImplementedError


@dataclass
class Sgd(Optimizer):
    """p -= lr v, with v = momentum v + g, and v = g to begin with.  (Sutskever et al. 2013)"""

    lr: float
    momentum: float = 0.0
    weight_decay: float = 0.0
    """g += weight_decay p, first."""
    states: dict[Hashable, State] = field(default_factory=dict, repr=False)
    options = ("lr", "momentum", "weight_decay")
    keeps = ("momentum",)

    def __post_init__(self) -> None:
        _require_rates(self, ("lr", "momentum", "weight_decay"))

    def _apply(self, state: State, parameter: Array, gradient: Array) -> None:
        if self.weight_decay:
            gradient = gradient + self.weight_decay * parameter
        if self.momentum:
            if "momentum" in state:
                state["momentum"] *= self.momentum
                state["momentum"] += gradient
            else:
                state["momentum"] = np.array(gradient, parameter.dtype)
            gradient = state["momentum"]
        parameter -= self.lr * gradient


@dataclass
class Adam(Optimizer):
    """m, v: moving averages of g and g^2;  p -= lr m' / (sqrt(v') + eps), where m' and v' are
    those divided by 1 - beta^t.  (Kingma and Ba 2015; the decay: Loshchilov and Hutter 2019)"""

    lr: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    """p -= lr weight_decay p, first (AdamW)."""
    states: dict[Hashable, State] = field(default_factory=dict, repr=False)
    options = ("lr", "betas", "eps", "weight_decay")
    keeps = needs = ("step", "mean", "square")

    def __post_init__(self) -> None:
        _require_rates(self, ("lr", "eps", "weight_decay"))
        betas = self.betas
        right = isinstance(betas, tuple) and len(betas) == 2
        if not right or not all(isinstance(b, float | int) and 0 <= b < 1 for b in betas):
            raise ArgumentError(f"betas={betas!r:.80} must be two numbers from 0 to below 1")

    def _apply(self, state: State, parameter: Array, gradient: Array) -> None:
        if "step" not in state:
            state.update(step=0, mean=np.zeros_like(parameter), square=np.zeros_like(parameter))
        state["step"] += 1
        (one, two), mean, square = self.betas, state["mean"], state["square"]
        if self.weight_decay:
            parameter *= 1 - self.lr * self.weight_decay
        mean *= one
        mean += (1 - one) * gradient
        square *= two
        square += (1 - two) * gradient * gradient
        unbiased = np.sqrt(square) / sqrt(1 - two ** state["step"]) + self.eps
        parameter -= self.lr / (1 - one ** state["step"]) * mean / unbiased


def _followed(master: Array | None, parameter: Array) -> Array:
    """The master copy: anew where the parameter is no longer what it was rounded to."""
    wide = parameter.astype(np.float32)
    if master is None:
        return wide
    kept: Array = np.where(master.astype(parameter.dtype) == parameter, master, wide)
    return kept


def require_optimizer(given: object) -> None:
    """Raise ArgumentError for what is none."""
    if not isinstance(given, Optimizer):
        raise ArgumentError(f"optimizer={given!r:.80} must be an Optimizer: Sgd, Adam")


def _require_rates(optimizer: Any, names: tuple[str, ...]) -> None:
    for name in names:
        value = getattr(optimizer, name)
        known = isinstance(value, int | float | np.floating) and not isinstance(value, bool)
        if not known or not isfinite(value) or value < 0:
            raise ArgumentError(
                f"{name}={value!r:.80} must be a number, not negative, such as 0.01"
            )
