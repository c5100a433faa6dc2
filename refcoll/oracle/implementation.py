"""What is judged: an implementation of collectives, one object a rank.

    class Mine:
        name = "mylib 1.2"

        def all_reduce(self, x, out, op): ...      # out is x where the call is in place
        def reduce_scatter(self, x, out, op): ...
        def all_gather(self, x, out): ...
        def broadcast(self, x, out, root): ...     # x is None but on the root
        def reduce(self, x, out, op, root): ...    # out is None but on the root
        def gather(self, x, out, root): ...
        def scatter(self, x, out, root): ...
        def all_to_all(self, x, out): ...
        def scan(self, x, out, op): ...
        def exscan(self, x, out, op): ...          # out is None on rank 0

        layouts = ("strided", "misaligned")        # what arrays may be besides; optional
        def unsupported(self, call): ...           # why not, or None; optional

    def make(): return Mine()                      # or make(comm), for a library within refcoll

Arrays are numpy's, one-dimensional, contiguous and aligned to their elements, but for the
``layouts`` that an implementation says it takes: strided ones are every other element of their
memory, misaligned ones begin at an odd address.  ``op`` is a name: sum, prod, min, max, avg,
bitwise_and, ...  What is not there counts as not supported, and so does what raises
NotImplementedError on every rank.  In place, ``out`` is ``x`` (all_reduce, reduce, scan), its
first part (reduce_scatter, as MPI has it), or holds ``x`` as the rank's part (all_gather).
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

from refcoll.communicator import Communicator
from refcoll.errors import ArgumentError
from refcoll.operators import Array
from refcoll.oracle.calls import CONTIGUOUS, Call
from refcoll.words import described

Implementation: TypeAlias = Any
"""An object as above."""
Factory: TypeAlias = Callable[[Communicator], Implementation]
"""Makes one for a rank."""

KNOWN = {"mpi": "refcoll.oracle.adapters.mpi:make", "refcoll": "refcoll.oracle.adapters.own:make"}
"""Short names; torch:BACKEND is another."""


def factory(name: str) -> Factory:
    """From "mpi", "torch:gloo", "refcoll", or "module:function".

    Raises ArgumentError where there is no such thing.
    """
    if name.startswith("torch:"):
        torch = import_module("refcoll.oracle.adapters.torch")
        backend = name.partition(":")[2]
        return lambda comm: torch.make(comm, backend)
    path = KNOWN.get(name, name)
    module, colon, attribute = path.partition(":")
    if not colon:
        raise ArgumentError(
            f"implementation={name!r} must be one of {', '.join(KNOWN)}, torch:gloo, or "
            "module:function, the function making your implementation"
        )
    found = _loaded(name, module, attribute)
    return found if _takes(found) else lambda comm: found()


def _loaded(name: str, module: str, attribute: str) -> Any:
    """The module may lie in the current directory, as for ``python -m``."""
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    try:
        return getattr(import_module(module), attribute)
    except (Exception, SystemExit) as error:  # of the module's own making, too
        raise ArgumentError(
            f"implementation={name!r} cannot be loaded: {described(error)}"
        ) from error


def takes_comm(name: str) -> bool:
    """Whether the implementation stands on a communicator of refcoll's, of any kind.

    Others have ranks of their own: they need a job.
    """
    path = KNOWN.get(name, name)
    if name == "mpi" or name.startswith("torch:") or ":" not in path:
        return False
    module, _, attribute = path.partition(":")
    return _takes(_loaded(name, module, attribute))


def _takes(make: Callable[..., Any]) -> bool:
    """Whether there is a parameter that must be given, or that is called comm."""
    parameters = inspect.signature(make).parameters.values()
    return any(
        each.name == "comm" or (each.default is each.empty and each.kind in _POSITIONAL)
        for each in parameters
    )


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def unsupported(implementation: Implementation, call: Call) -> str | None:
    """Why the implementation does not do this call, or None."""
    if not callable(getattr(implementation, call.collective, None)):
        return f"there is no {call.collective}"
    if call.layout not in (CONTIGUOUS, *getattr(implementation, "layouts", ())):
        return f"{call.layout} arrays are not among its layouts"
    asked = getattr(implementation, "unsupported", None)
    reason = asked(call) if callable(asked) else None
    return str(reason) if reason else None


def named(implementation: Implementation) -> str:
    """What the implementation calls itself."""
    return str(getattr(implementation, "name", type(implementation).__name__))


def called(implementation: Implementation, call: Call, x: Array | None, out: Array | None) -> None:
    """Make the call."""
    given: list[Any] = [x, out]
    if call.op is not None:
        given.append(call.op)
    if call.collective in ("broadcast", "reduce", "gather", "scatter"):
        given.append(call.root)
    getattr(implementation, call.collective)(*given)
