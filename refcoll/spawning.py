"""Run a function on N ranks within this process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from refcoll.checksums import Checksummed
from refcoll.communicator import Communicator
from refcoll.errors import ArgumentError, PeerFailedError, PoisonedError, flag, within
from refcoll.group import DEFAULT_TIMEOUT
from refcoll.testing.inprocess import World
from refcoll.topology import Nodes, topology
from refcoll.transport import Transport

T = TypeVar("T")


def spawn(
    size: int,
    function: Callable[..., T],
    *args: Any,
    nodes: Nodes | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    checksums: bool = False,
) -> list[T]:
    """``function(comm, *args)`` on ``size`` ranks, each a thread; their results, by rank.

    ``nodes`` says which ranks are to be taken as sharing a node; ``checksums`` lets every
    message carry a checksum (``refcoll.checksums``).  If a rank raises, those
    that wait for it fail at once, and its exception, noted with the rank, is raised here.
    """
    size = within(size, "size", 1)
    if not callable(function):
        raise ArgumentError(f"function={function!r:.80} must be a function of a communicator")
    world = World(size, None if nodes is None else topology(nodes, size).nodes)
    ends: list[Transport] = [world.transport(rank) for rank in range(size)]
    if flag(checksums, "checksums"):
        ends = [Checksummed(end) for end in ends]
    comms = [Communicator(end, timeout) for end in ends]
    results: list[Any] = [None] * size
    errors: dict[int, BaseException] = {}

    def run(rank: int) -> None:
        comm = comms[rank]
        try:
            results[rank] = function(comm, *args)
        except BaseException as error:
            errors[rank] = error
            world.fail(f"rank {rank} raised {error!r}")
        finally:
            comm.close()
            world.leave(rank)

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for comm in comms:
        if comm.unheard is not None:
            errors.setdefault(comm.rank, comm.unheard)
    if errors:
        raise _first_cause(errors, size)
    return results


def _first_cause(errors: dict[int, BaseException], size: int) -> BaseException:
    """The error to report: rather one that is not just another rank's, seen from afar."""
    order = sorted(errors, key=lambda r: isinstance(errors[r], (PeerFailedError, PoisonedError)))
    error, first = errors[order[0]], order[0]
    all_exit = len(errors) == size and all(isinstance(e, SystemExit) for e in errors.values())
    if isinstance(error, SystemExit) and not all_exit:
        said = f"rank {first} has ended by {error!r}, and not all others have"
        error = PeerFailedError(said, culprit=first)  # or the process might end with status 0
    error.add_note(f"raised on rank {first}; ranks that failed: {sorted(errors)}")
    return error
