"""What refcoll's collectives are timed beside: the MPI library's own, and Gloo."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.contenders import Case, Contender, Run
from refcoll.errors import ArgumentError
from refcoll.goals import PERSISTENT

LIBRARY = "MPI"


def peers(comm: Communicator, names: Sequence[str]) -> list[Contender]:
    """The MPI library's collective as it is, and, where it has that, persistent; then those
    named.

    Raises ArgumentError for a name that is not known, or that is not installed.
    """
    end: Any = comm.transport

    def native(persistent: bool) -> Callable[[Case], Run]:
        return lambda case: end.native(case.collective, case.x, case.out, persistent=persistent)

    found = [Contender(LIBRARY, native(False))]
    if end.has_persistent():
        found.append(Contender(PERSISTENT, native(True)))
    require_peers(names)
    return found + [_gloo(comm) for _ in names]


def require_peers(names: Sequence[str]) -> None:
    """Raise ArgumentError for a name that is not known."""
    for name in names:
        if name != "gloo":
            raise ArgumentError(f"peer={name!r}: there is gloo (torch.distributed's)")


def _gloo(comm: Communicator) -> Contender:
    try:
        torch: Any = import_module("torch")
        dist: Any = import_module("torch.distributed")
    except ImportError as error:
        raise ArgumentError(f"peer='gloo' needs torch: {error}; pip install torch") from error
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group(
        "gloo", init_method=f"file://{_meeting(comm)}", rank=comm.rank, world_size=comm.size
    )

    return Contender("gloo", lambda case: _gloo_run(case, torch, dist))


def _gloo_run(case: Case, torch: Any, dist: Any) -> Run:
    """Gloo reduces and broadcasts in place: out of place, the input is copied first."""
    x, out = torch.from_numpy(case.x), torch.from_numpy(case.out)

    def into_out() -> Any:
        if case.out is not case.x:
            out.copy_(x)
        return out

    runs: dict[str, Run] = {
        "all_reduce": lambda: dist.all_reduce(into_out()),
        "broadcast": lambda: dist.broadcast(into_out(), 0),
        "all_gather": lambda: dist.all_gather_into_tensor(out, x),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(out, x),
    }
    return runs[case.collective]


def _meeting(comm: Communicator) -> str:
    """A file in which the ranks find each other: rank 0 names it."""
    room = np.zeros(256, np.uint8)
    if comm.rank == 0:
        name = os.path.join(tempfile.mkdtemp(prefix="refcoll-gloo-"), "store").encode()
        room[: len(name)] = np.frombuffer(name, np.uint8)
    return bytes(comm.broadcast(room)).rstrip(b"\0").decode()
