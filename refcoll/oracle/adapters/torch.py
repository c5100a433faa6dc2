"""torch.distributed's collectives on CPU tensors, on a process group of their own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.errors import ArgumentError
from refcoll.operators import Array
from refcoll.oracle.calls import Call

OPERATORS = {
    "sum": "SUM", "prod": "PRODUCT", "min": "MIN", "max": "MAX", "avg": "AVG",
    "bitwise_and": "BAND", "bitwise_or": "BOR", "bitwise_xor": "BXOR",
}  # fmt: skip
"""torch.distributed.ReduceOp's names."""
_REFUSALS = (
    "invalid scalar type", "cannot use reduceop", "does not support", "unsupported",
    "not supported", "not implemented",
)  # fmt: skip
"""How torch says that it has no such combination; it raises RuntimeError for this, too."""
IN_PLACE = ("all_reduce", "reduce")
"""Those that it documents."""


class TorchDistributed:
    """One rank's side of the default process group."""

    def __init__(self, comm: Communicator, backend: str) -> None:
        """Makes the group anew, where there is one.  Collective over ``comm``."""
        self._torch = _module("torch")
        self._dist = _module("torch.distributed")
        self._rank, self._size = comm.rank, comm.size
        if self._dist.is_initialized():
            self._dist.destroy_process_group()
        self._join(backend, _meeting(comm))
        self.name = f"torch {self._torch.__version__.split('+')[0]} {backend}"

    def _join(self, backend: str, store: str) -> None:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # the host's name may not resolve
        self._torch.set_num_threads(1)
        if backend not in self._dist.Backend.backend_list:
            names = ", ".join(f"torch:{each}" for each in self._dist.Backend.backend_list)
            raise ArgumentError(
                f"implementation='torch:{backend}' does not exist in this torch; there are {names}"
            )
        try:
            self._dist.init_process_group(
                backend, init_method=f"file://{store}", rank=self._rank, world_size=self._size
            )
        except (RuntimeError, ValueError) as error:
            raise ArgumentError(
                f"implementation='torch:{backend}' cannot be had: {error}; use torch:gloo"
            ) from error

    def unsupported(self, call: Call) -> str | None:
        """What torch.distributed has no name for.  The rest it refuses by itself."""
        if call.op is not None and call.op not in OPERATORS:
            return f"torch.distributed has no operator {call.op}"
        if call.in_place and call.collective not in IN_PLACE:
            return f"torch.distributed promises no {call.collective} in place"
        return None

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        """As in ``implementation``; so are the others."""
        with _refusals():
            merged = self._copied(x, out)
            self._dist.all_reduce(merged, self._op(op))

    def reduce(self, x: Array, out: Array | None, op: str, root: int) -> None:  # noqa: D102
        with _refusals():
            # What torch leaves in the tensors of the others is undefined: they give copies.
            merged = self._tensor(x.copy()) if out is None else self._copied(x, out)
            self._dist.reduce(merged, root, self._op(op))

    def reduce_scatter(self, x: Array, out: Array, op: str) -> None:  # noqa: D102
        with _refusals():
            given, got = self._tensor(x), self._tensor(out)
            self._named("reduce_scatter_single", "reduce_scatter_tensor")(got, given, self._op(op))

    def all_gather(self, x: Array, out: Array) -> None:  # noqa: D102
        with _refusals():
            gather = self._named("all_gather_single", "all_gather_into_tensor")
            gather(self._tensor(out), self._tensor(x))

    def gather(self, x: Array, out: Array | None, root: int) -> None:  # noqa: D102
        with _refusals():
            self._dist.gather(self._tensor(x), self._parts(out), root)

    def scatter(self, x: Array | None, out: Array, root: int) -> None:  # noqa: D102
        with _refusals():
            self._dist.scatter(self._tensor(out), self._parts(x), root)

    def all_to_all(self, x: Array, out: Array) -> None:  # noqa: D102
        with _refusals():
            self._dist.all_to_all_single(self._tensor(out), self._tensor(x))

    def broadcast(self, x: Array | None, out: Array, root: int) -> None:  # noqa: D102
        with _refusals():
            got = self._tensor(out) if x is None else self._copied(x, out)
            self._dist.broadcast(got, root)

    # ---- what torch calls things ---------------------------------------------------------

    def _named(self, name: str, before: str) -> Any:
        """A function that had another name before torch 2.13."""
        return getattr(self._dist, name, None) or getattr(self._dist, before)

    def _op(self, name: str) -> Any:
        return getattr(self._dist.ReduceOp, OPERATORS[name])

    def _tensor(self, x: Array) -> Any:
        """A tensor of the same memory."""
        if x.dtype.name == "bfloat16":  # which numpy knows by ml_dtypes, and torch does not
            return self._torch.from_numpy(x.view(np.int16)).view(self._torch.bfloat16)
        return self._torch.from_numpy(x)

    def _copied(self, x: Array, out: Array) -> Any:
        """``out`` with the input in it: torch's collectives work in place."""
        if out is not x:
            out[:] = x
        return self._tensor(out)

    def _parts(self, whole: Array | None) -> list[Any] | None:
        """A tensor for each rank."""
        if whole is None:
            return None
        return [self._tensor(part) for part in whole.reshape(self._size, -1)]


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except (RuntimeError, ValueError, TypeError) as error:
        said = str(error).partition("\n")[0]
        if any(each in said.lower() for each in _REFUSALS):
            raise NotImplementedError(said) from error
        raise


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ArgumentError(
            f"implementation='torch:...' needs torch: {error}; pip install 'refcoll[torch]'"
        ) from error


def _meeting(comm: Communicator) -> str:
    """A file in which the ranks find each other: rank 0 names it.

    The ranks must share a file system.
    """
    room = np.zeros(256, np.uint8)
    if comm.rank == 0:
        name = os.path.join(tempfile.mkdtemp(prefix="refcoll-torch-"), "store").encode()
        room[: len(name)] = np.frombuffer(name, np.uint8)
    return bytes(comm.broadcast(room)).rstrip(b"\0").decode()


def make(comm: Communicator, backend: str) -> TorchDistributed:
    """For `refcoll judge torch:BACKEND`, on the ranks of ``comm``."""
    return TorchDistributed(comm, backend)
