"""Optimizer states of shards: gathered by the names of parameters, and cut into shards again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.dataparallel.optimizers import Optimizer
from refcoll.dataparallel.rollcall import agreed_on
from refcoll.dataparallel.setup import stable
from refcoll.dataparallel.sharding import Shards
from refcoll.dataparallel.states import State, StateDict, copied, fingerprint, loaded, whole
from refcoll.dataparallel.tensors import Bucket, Tensor
from refcoll.errors import ArgumentError, integer
from refcoll.operators import Array
from refcoll.words import listed

Record = dict[str, object]


class ShardedStates:
    """This rank's shards of an optimizer's states, under keys of one replica."""

    def __init__(
        self, comm: Communicator, optimizer: Optimizer, tensors: Sequence[Tensor],
        buckets: Sequence[Bucket], shards: Shards, owner: object,
    ) -> None:  # fmt: skip
        self._comm, self._optimizer, self._tensors = comm, optimizer, tensors
        self._buckets, self._shards, self._owner = buckets, shards, owner

    def update(self, bucket: Bucket, shard: Array, gradient: Array) -> None:
        """Update a shard, padding included, with its state."""
        self._optimizer.update(self._key(bucket), shard, gradient)

    def _key(self, bucket: Bucket) -> Hashable:
        return self._owner, bucket.index

    def saved(self, root: int | None, require: Callable[[], None]) -> StateDict:
        """All of them, on all ranks or on ``root``, {} elsewhere.  Collective.

        Raises, on all ranks, ArgumentError for a wrong ``root``, or what ``require`` raises,
        DisagreementError where options or states are of other kinds on some.
        """

        def checked() -> tuple[Record, int | None]:
            require()
            to = _checked_root(root, self._comm.size)
            said = {f"states of bucket {b.index}": _said(self._of(b)) for b in self._buckets}
            return {"root": to, "optimizer": stable(self._optimizer), **said}, to

        to = agreed_on(self._comm, "state_dict", checked)
        found = self._comm.submit(lambda: self._gathered(to)).wait()
        return whole(self._optimizer, found) if to is None or to == self._comm.rank else {}

    def load(self, state_dict: StateDict, require: Callable[[], None]) -> None:
        """Take over this rank's shards of them, and the optimizer's options.  Collective."""

        def checked() -> tuple[Record, Optimizer]:
            require()
            found = loaded(state_dict, self._optimizer, self._tensors)
            self._require_alike(found.states)
            return {"state_dict": fingerprint(found)}, found

        found = agreed_on(self._comm, "load_state_dict", checked)
        self._optimizer.become(found)
        self._put(found.states)

    def _gathered(self, root: int | None) -> dict[str, State]:
        """By parameter, on all ranks or on ``root``; elsewhere without arrays."""
        found: dict[str, State] = {each.name: {} for each in self._tensors}
        for bucket in self._buckets:
            for entry, value in sorted(self._of(bucket).items()):
                whole = {each.name: value for each in bucket.tensors}
                if isinstance(value, np.ndarray):
                    whole = self._shards.gathered(value, bucket, root)
                for name, each in whole.items():
                    found[name][entry] = each
        return {name: copied(state) for name, state in found.items()}

    def _require_alike(self, states: Mapping[Hashable, State]) -> None:
        """Raise ArgumentError where parameters of one bucket have other entries, or steps."""
        for bucket in self._buckets:
            said = {t.name: _said(states.get(t.name, {}), arrays=False) for t in bucket.tensors}
            if len(set(said.values())) > 1:
                some = [f"{name} ({what})" for name, what in said.items()]
                raise ArgumentError(
                    f"state_dict: parameters of bucket {bucket.index} were not updated equally "
                    f'often: {listed(some)}; their shards have one state: pass buckets="single"'
                )

    def _put(self, states: Mapping[Hashable, State]) -> None:
        """Keep this rank's shards of the states of parameters."""
        for bucket in self._buckets:
            self._optimizer.states.pop(self._key(bucket), None)
            parts = [states.get(each.name, {}) for each in bucket.tensors]
            if parts[0]:
                self._optimizer.states[self._key(bucket)] = {
                    entry: self._cut([each[entry] for each in parts], bucket) for entry in parts[0]
                }

    def _of(self, bucket: Bucket) -> State:
        return self._optimizer.states.get(self._key(bucket), {})

    def _cut(self, parts: Sequence[Any], bucket: Bucket) -> Any:
        """This rank's of arrays; of numbers, which are alike, the first."""
        arrays = isinstance(parts[0], np.ndarray)
        return self._shards.cut(parts, bucket) if arrays else parts[0]


def _checked_root(root: object, size: int) -> int | None:
    """The rank that gets it, or None for all.  Raises ArgumentError."""
    if root is None:
        return None
    number = integer(root, "root")
    if not 0 <= number < size:
        raise ArgumentError(f"root={number} must be a rank from 0 to {size - 1}, or None for all")
    return number


def _said(state: State, arrays: bool = True) -> str:
    """Its entries: arrays by their dtype, numbers by their value."""
    kinds = {
        entry: (value.dtype if arrays else "array") if isinstance(value, np.ndarray) else value
        for entry, value in sorted(state.items())
    }
    return ", ".join(f"{entry}={kind}" for entry, kind in kinds.items()) or "nothing"
