"""How a process gets its end: MPI started right, ranks that agree, nodes, shared memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from refcoll.transport import ArgumentError
from refcoll_mpi import ending
from refcoll_mpi.control import Control, control
from refcoll_mpi.driver import MPI
from refcoll_mpi.launcher import require_right_launcher
from refcoll_mpi.sharing import Shared, shared
from refcoll_mpi.transport import MPITransport


def connect(
    comm: MPI.Intracomm | None = None, shared_memory: bool = True, **unknown: object
) -> MPITransport:
    """This process's end of ``comm``, by default COMM_WORLD.  Collective over ``comm``.

    Within a node messages go through shared memory, unless ``shared_memory`` is False.
    Raises WrongLauncherError if the processes were started by another MPI's mpirun, and
    ArgumentError for another ``comm`` and, on every rank, for an option that one of them gets
    wrong or that is ``unknown``, and where they differ about ``shared_memory``.
    """
    library = MPI.Get_library_version().split("\n")[0].strip("\0 ")
    if not MPI.Is_initialized():
        require_right_launcher(library)
        MPI.Init_thread(MPI.THREAD_MULTIPLE)
    require_right_launcher(library, MPI.COMM_WORLD.size)
    ending.watch()  # a rank that fails from here on leaves the others within MPI
    if comm is not None and not isinstance(comm, MPI.Intracomm):
        raise ArgumentError(f"comm={comm!r:.80} is no mpi4py.MPI.Intracomm; leave it out for all")
    mine = (MPI.COMM_WORLD if comm is None else comm).Dup()
    try:
        _require_same(mine, shared_memory, unknown)
    except ArgumentError:
        mine.Free()
        raise
    local = cast(MPI.Intracomm, mine.Split_type(MPI.COMM_TYPE_SHARED, mine.rank))
    words = control(mine)
    made = over(mine, local, words, *(shared(local) if shared_memory else (None, ())))
    local.Free()
    return made


def over(
    comm: MPI.Intracomm,
    local: MPI.Intracomm,
    words: Control,
    memory: Shared | None,
    numbers: Sequence[int],
) -> MPITransport:
    """A transport over ``comm``, of which ``local`` is the part on this process's node;
    ``words`` is of the same ranks; ``memory`` and ``numbers`` are what ``shared`` gives."""
    ending.watch()
    firsts = comm.allgather(local.bcast(comm.rank))  # of each rank, the first on its node
    ranks = range(comm.size)
    nodes = [tuple(r for r in ranks if firsts[r] == each) for each in sorted(set(firsts))]
    here = local.allgather(comm.rank)
    places = dict(zip(here, numbers, strict=True)) if memory else {}
    return MPITransport(comm, tuple(nodes), memory, places, words, ranks, ())


def _require_same(comm: MPI.Intracomm, shared_memory: bool, unknown: Iterable[str]) -> None:
    wrong = [f"{name} is no option: there are comm and shared_memory" for name in unknown]
    if not isinstance(shared_memory, bool):
        wrong.append(f"shared_memory={shared_memory!r:.80} must be True or False")
    heard = comm.allgather("; ".join(wrong))
    if any(heard):
        told = (f"on rank {rank}: {each}" for rank, each in enumerate(heard) if each)
        raise ArgumentError(f"transport='mpi' {', '.join(told)}")
    said = comm.allgather(shared_memory)
    if len(set(said)) > 1:
        off = [rank for rank, each in enumerate(said) if not each]
        raise ArgumentError(
            f"shared_memory=False on ranks {off} and True on the others: give all ranks the same"
        )
