"""Whether messages may go straight from device memory: what the MPI library says of itself.

A device pointer in the hands of an MPI that is not CUDA-aware ends the process, and nothing
in Python can catch that.  So "auto" goes direct only where the library says that it can; and
"direct" without such a word needs the caller's own, since some that can do not say so.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from refcoll.transport import ArgumentError
from refcoll_mpi.driver import MPI

MODES = ("auto", "direct", "staged")
_QUERY = "MPIX_Query_cuda_support"
_KINDS = "mpi_memory_alloc_kinds"


@dataclass(frozen=True)
class Answer:
    """What was asked, and what the library said."""

    question: str
    said: str
    yes: bool


@dataclass(frozen=True)
class Mode:
    """How messages go, and why."""

    name: str
    reason: str


def library() -> str:
    """The MPI library's name and version."""
    return " ".join(MPI.Get_library_version().split("\n")[0].strip("\0").split())


def answers(comm: MPI.Comm) -> list[Answer]:
    """What the loaded library says of device memory: MPI has no one way to ask."""
    return [Answer(_QUERY, *_queried(_loaded_query())), Answer(_KINDS, *_listed(comm))]


def chosen(mode: str, cuda_aware: bool, said: list[Answer]) -> Mode:
    """What ``mode`` means here.

    Raises ArgumentError for "direct" where nothing says that the library can, and the caller
    does not either.
    """
    if mode not in MODES:
        raise ArgumentError(f"mode={mode!r:.80} must be one of {', '.join(MODES)}")
    yes = next((answer for answer in said if answer.yes), None)
    asked = "; ".join(f"{each.question} {each.said}" for each in said)
    if mode == "staged":
        return Mode("staged", "asked for")
    if yes is not None:
        return Mode("direct", f"{library()}: {yes.question} {yes.said}")
    if mode == "auto":
        return Mode("staged", f"{library()} does not say that it reads device memory: {asked}")
    if cuda_aware:
        return Mode("direct", "asked for, with cuda_aware=True")
    raise ArgumentError(
        f"mode='direct' needs a CUDA-aware MPI, and {library()} does not say that it is one "
        f"({asked}): use mode='staged', or, if `refcoll gpu-probe` has seen it work, "
        "cuda_aware=True"
    )


def _loaded_query() -> Callable[[], int] | None:
    """The library's own function, if it has one."""
    for name in _libraries():
        with suppress(OSError, AttributeError):
            function = getattr(ctypes.CDLL(name), _QUERY)
            function.restype = ctypes.c_int
            return function  # type: ignore[no-any-return]
    return None


def _libraries() -> Iterator[str | None]:
    """What has the library's names in it: mpi4py's module, which is linked to it, then all."""
    yield MPI.__file__
    yield None


def _queried(query: Callable[[], int] | None) -> tuple[str, bool]:
    if query is None:
        return "is not there", False
    said = query()
    return f"says {said}", said == 1


def _listed(comm: MPI.Comm) -> tuple[str, bool]:
    """The kinds of memory that MPI 4.1's info key lists, such as "system,mpi,cuda"."""
    info = comm.Get_info()
    kinds = info.Get(_KINDS)
    info.Free()
    if kinds is None:
        return "is not set", False
    return f"says {kinds!r}", any(kind.split(":")[0] == "cuda" for kind in kinds.split(","))
