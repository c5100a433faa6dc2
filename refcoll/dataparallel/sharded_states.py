"""Optimizer states of shards: gathered by the names of parameters, and cut into shards again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.dataparallel.optimizers import Optimizer
from refcoll.dataparallel.rollcall import agreed_on
from refcoll.dataparallel.sharding import ReduceScatter
from refcoll.dataparallel.states import State, StateDict, fingerprint, loaded, whole
from refcoll.dataparallel.tensors import Bucket, Tensor
from refcoll.errors import ArgumentError, integer
from refcoll.operators import Array
from refcoll.words import listed

Record = dict[str, object]


class ShardedStates:
    """This rank's shards of an optimizer's states, under keys of one replica."""

    def __init__(
        self, comm: Communicator, optimizer: Optimizer, tensors: Sequence[Tensor],
        buckets: Sequence[Bucket], scatter: ReduceScatter, owner: object,
    ) -> None:  # fmt: skip
        self._comm, self._optimizer, self._tensors = comm, optimizer, tensors
        self._buckets, self._scatter, self._owner = buckets, scatter, owner

    def update(self, bucket: Bucket, shard: Array, gradient: Array) -> None:
        """Update a shard, padding included, with its state."""
        self._optimizer.update(self._key(bucket), shard, gradient)

    def _key(self, bucket: Bucket) -> Hashable:
        return self._owner, bucket.index

    def saved(self, root: int | None, require: Callable[[], None]) -> StateDict:
        """All of them, on all ranks or on ``root``, {} elsewhere.  Collective.

        Raises ArgumentError, on all ranks, for a wrong ``root``, or what ``require`` raises.
        """

        def checked() -> tuple[Record, int | None]:
            require()
            said = {f"states of bucket {b.index}": _said(self._of(b)) for b in self._buckets}
            return {"root": root, **said}, _checked_root(root, self._comm.size)

        to = agreed_on(self._comm, "state_dict", checked)
        found = self._comm.submit(lambda: self._gathered(to)).wait()
        if not found:
            return {}
        return whole(self._optimizer, {each.name: found[each.name] for each in self._tensors})

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
        """By parameter, on all ranks or on ``root``; elsewhere none."""
        found: dict[str, State] = {}
        for bucket in self._buckets:
            state = sorted(self._of(bucket).items())
            flat = {name: self._whole(each, bucket, root) for name, each in state}
            if root is None or root == self._comm.rank:
                found |= _by_parameter(flat, bucket)
        return found

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
                    entry: self._shard([each[entry] for each in parts], bucket)
                    for entry in parts[0]
                }

    def _of(self, bucket: Bucket) -> State:
        return self._optimizer.states.get(self._key(bucket), {})

    def _whole(self, shard: Any, bucket: Bucket, root: int | None) -> Any:
        """The bucket's elements, and padding; a number as it is."""
        if not isinstance(shard, np.ndarray):
            return shard
        counts = self._scatter.counts(bucket, self._comm.size)
        if root is None:
            return self._comm.all_gather(shard, counts=counts, check=False)
        return self._comm.gather(shard, root, counts=counts, check=False)

    def _shard(self, parts: Sequence[Any], bucket: Bucket) -> Any:
        """This rank's of arrays, padded with zeros; of numbers, which are alike, the first."""
        if not isinstance(parts[0], np.ndarray):
            return parts[0]
        counts = self._scatter.counts(bucket, self._comm.size)
        flat = np.zeros(sum(counts), parts[0].dtype)
        flat[: bucket.count] = np.concatenate([each.reshape(-1) for each in parts])
        start = sum(counts[: self._comm.rank])
        return flat[start : start + counts[self._comm.rank]].copy()


def _checked_root(root: object, size: int) -> int | None:
    """The rank that gets it, or None for all.  Raises ArgumentError."""
    if root is None:
        return None
    number = integer(root, "root")
    if not 0 <= number < size:
        raise ArgumentError(f"root={number} must be a rank from 0 to {size - 1}, or None for all")
    return number


def _by_parameter(whole: State, bucket: Bucket) -> dict[str, State]:
    states: dict[str, State] = {each.name: {} for each in bucket.tensors}
    for entry, value in whole.items():
        views = bucket.views(value) if isinstance(value, np.ndarray) else {}
        for name, state in states.items():
            state[entry] = views[name].copy() if views else value
    return states


def _said(state: State, arrays: bool = True) -> str:
    """Its entries: arrays by their dtype, numbers by their value."""
    kinds = {
        entry: (value.dtype if arrays else "array") if isinstance(value, np.ndarray) else value
        for entry, value in sorted(state.items())
    }
    return ", ".join(f"{entry}={kind}" for entry, kind in kinds.items()) or "nothing"
