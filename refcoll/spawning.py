"""Run a function on N ranks within this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from refcoll.arrays import HOST, Arrays
from refcoll.calls import DEFAULT_TIMEOUT
from refcoll.checksums import Checksummed
from refcoll.communicator import Communicator
from refcoll.connecting import ARRAYS, plug_in
from refcoll.errors import ArgumentError, PeerFailedError, PoisonedError, flag, within
from refcoll.testing.inprocess import InProcess, World
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
    arrays: str | Callable[[int], Arrays] | None = None,
) -> list[T]:
    """``function(comm, *args)`` on ``size`` ranks, each a thread; their results, by rank.

    ``nodes`` says which ranks are to be taken as sharing a node; ``checksums`` lets every
    message carry a checksum (``refcoll.checksums``).  ``arrays`` says whose arrays the ranks
    work on, numpy's by default: the name of a plug-in such as "cupy" (docs/gpu.md), or a
    function that makes those of a rank.  If a rank raises, those that wait for it fail at once,
    and its exception, noted with the rank, is raised here.
    """
    size = within(size, "size", 1)
    if not callable(function):
        raise ArgumentError(f"function={function!r:.80} must be a function of a communicator")
    placed = None if nodes is None else topology(nodes, size).nodes
    world = World(size, placed, arrays=_arrays(size, arrays, checksums))
    ends: list[Transport] = [InProcess(world, rank) for rank in range(size)]
    if flag(checksums, "checksums"):
        ends = [Checksummed(end) for end in ends]
    comms = [Communicator(end, timeout) for end in ends]
    results, errors = _run(world, comms, lambda comm: function(comm, *args))
    if errors:
        raise _first_cause(errors, size)
    return results


def _arrays(
    size: int, arrays: str | Callable[[int], Arrays] | None, checksums: bool
) -> list[Arrays] | None:
    if arrays is None:
        return None
    made = plug_in(ARRAYS, "arrays", arrays) if isinstance(arrays, str) else arrays
    if not callable(made):
        raise ArgumentError(f"arrays={arrays!r:.80} must be a name, or a function of a rank")
    found = [made(rank) for rank in range(size)]
    if checksums and any(each is not HOST for each in found):
        raise ArgumentError("checksums=True is for host memory: leave it out, or arrays")
    return found


def _run(
    world: World, comms: Sequence[Communicator], function: Callable[[Communicator], T]
) -> tuple[list[T], dict[int, BaseException]]:
    """What came of the function on each rank, and the errors by rank."""
    results: list[Any] = [None] * len(comms)
    errors: dict[int, BaseException] = {}

    def run(comm: Communicator) -> None:
        try:
            comm.transport.arrays.attach()
            results[comm.rank] = function(comm)
        except BaseException as error:
            errors[comm.rank] = error
            world.fail(f"rank {comm.rank} raised {error!r}", comm.rank)
        finally:
            comm.close()
            world.leave(comm.rank)

    threads = [threading.Thread(target=run, args=(comm,), daemon=True) for comm in comms]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    unheard = {comm.rank: comm.unheard for comm in comms if comm.unheard is not None}
    return results, unheard | errors


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
