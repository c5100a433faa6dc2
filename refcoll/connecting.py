"""Find a transport by name, and make a communicator over it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from refcoll.agreement import Agreement
from refcoll.arrays import HOST
from refcoll.binding import misfit
from refcoll.calls import DEFAULT_TIMEOUT
from refcoll.checksums import Checksummed
from refcoll.communicator import Communicator
from refcoll.errors import ArgumentError, RefcollError, flag
from refcoll.transport import Transport
from refcoll.tuning import Tuning

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "refcoll.transports"
"""The entry-point group in which a plug-in names a function that returns a Transport."""
ARRAYS = "refcoll.arrays"
"""The one in which it names a function of a rank that returns its Arrays, for ``spawn``."""


def connect(
    name: str = "mpi",
    *,
    timeout: float = DEFAULT_TIMEOUT,
    tuning: Tuning | str | os.PathLike[str] | None = None,
    checksums: bool = False,
    **options: Any,
) -> Communicator:
    """The communicator of this process in the job that it was started in.

    ``name`` is a transport: "mpi" (takes ``comm=``, an ``mpi4py.MPI.Comm``, by default
    COMM_WORLD, and ``shared_memory=``, by default True), "cupy" (device memory: docs/gpu.md), or
    any that a plug-in offers.  For ranks within this process use ``spawn``.  ``tuning`` is a file
    that `refcoll calibrate` has written, for algorithm="auto"; by default the one that
    $REFCOLL_TUNING names, if any.  ``checksums``, the same on all ranks, lets every message carry
    a checksum (``refcoll.checksums``): what is changed, lost or repeated on its way is then an
    error.
    Raises ArgumentError for a name, an option or a file that does not exist, DisagreementError
    where ranks differ about ``checksums``, and what the transport raises.  What is wrong with
    ``timeout``, ``tuning`` or ``checksums`` on one rank is told to all; without a transport
    nothing can be.
    """
    connector = transport(name)
    try:
        end = connector(**options)  # first: it sees to it that an error ends the whole job
    except TypeError:
        if (wrong := misfit(connector, (), options)) is not None:
            raise wrong from None
        raise
    error, said, limit = None, {}, DEFAULT_TIMEOUT
    try:
        guarded = Checksummed(end) if flag(checksums, "checksums") else end
        if guarded is not end and end.arrays is not HOST:
            raise ArgumentError(f"checksums=True is for host memory; {name!r} has none")
        made = Communicator(guarded, timeout, tuning)
        said, limit = {"collective": "connect", "checksums": bool(checksums)}, made.timeout
    except ArgumentError as found:
        error = found
    try:
        Agreement(end).require(said, error, limit)
    except RefcollError:
        end.close()
        raise
    return made


def transport(name: str) -> Callable[..., Transport]:
    """The function that connects the transport of that name."""
    ours = "(and, for ranks within this process, refcoll.spawn)"
    return plug_in(GROUP, "transport", name, ours)


def plug_in(group: str, what: str, name: str, also: str = "") -> Callable[..., Any]:
    """What plug-ins call ``name`` in an entry-point group.  Raises ArgumentError."""
    from importlib.metadata import entry_points  # slow to load, and seldom needed

    found = entry_points(group=group)
    for entry in found:
        if entry.name == name:
            return _loaded(entry, what)
    names = ", ".join(sorted({entry.name for entry in found})) or "none: reinstall refcoll"
    raise ArgumentError(f"{what}={name!r} does not exist; there are {names} {also}".rstrip())


def _loaded(entry: EntryPoint, what: str) -> Callable[..., Any]:
    try:
        connector: Callable[..., Any] = entry.load()
    except Exception as error:  # a driver may fail in its own ways, such as RuntimeError
        raise ArgumentError(
            f"{what}={entry.name!r} cannot be used: {error}; "
            f"pip install 'refcoll[{entry.name}]' brings what it needs"
        ) from error
    return connector
