"""What a collective should do, what it should cost, and whether a library does it right."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from refcoll.errors import (
    ArgumentError,
    CorruptionError,
    DeadlineError,
    DisagreementError,
    PeerFailedError,
    PoisonedError,
    RefcollError,
    TransportError,
)
from refcoll.registry import algorithms, program
from refcoll.schedule import Copy, Reduce, ScheduleError, Send

if TYPE_CHECKING:
    from refcoll.choosing import explain
    from refcoll.communicator import Communicator
    from refcoll.connecting import connect
    from refcoll.inorder import Handle
    from refcoll.interpreters.check import check
    from refcoll.interpreters.cost import cost
    from refcoll.interpreters.count import count
    from refcoll.interpreters.draw import draw
    from refcoll.interpreters.simulate import simulate
    from refcoll.operators import Operator, user_operator
    from refcoll.own_steps import from_steps
    from refcoll.plans import CollectivePlan
    from refcoll.programs import Program
    from refcoll.spawning import spawn
    from refcoll.topology import node_shape

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "CollectivePlan",
    "Communicator",
    "Copy",
    "CorruptionError",
    "DeadlineError",
    "DisagreementError",
    "Handle",
    "Operator",
    "PeerFailedError",
    "PoisonedError",
    "Program",
    "Reduce",
    "RefcollError",
    "ScheduleError",
    "Send",
    "TransportError",
    "algorithms",
    "check",
    "connect",
    "cost",
    "count",
    "draw",
    "explain",
    "from_steps",
    "node_shape",
    "program",
    "simulate",
    "spawn",
    "user_operator",
]

_LATER = {
    "CollectivePlan": "plans",
    "Communicator": "communicator",
    "Handle": "inorder",
    "Operator": "operators",
    "Program": "programs",
    "check": "interpreters.check",
    "connect": "connecting",
    "cost": "interpreters.cost",
    "count": "interpreters.count",
    "draw": "interpreters.draw",
    "explain": "choosing",
    "from_steps": "own_steps",
    "node_shape": "topology",
    "simulate": "interpreters.simulate",
    "spawn": "spawning",
    "user_operator": "operators",
}
"""Public names, and where they are loaded from when first used: importing stays quick."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
