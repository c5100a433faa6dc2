"""What a collective should do, what it should cost, and whether a library does it right."""

from refcoll.choosing import explain
from refcoll.communicator import Communicator
from refcoll.connecting import connect
from refcoll.errors import (
    ArgumentError,
    DeadlineError,
    DisagreementError,
    PeerFailedError,
    PoisonedError,
    RefcollError,
    TransportError,
)
from refcoll.group import CollectivePlan
from refcoll.inorder import Handle
from refcoll.interpreters.check import check
from refcoll.interpreters.cost import cost
from refcoll.interpreters.count import count
from refcoll.interpreters.draw import draw
from refcoll.interpreters.simulate import simulate
from refcoll.operators import Operator, user_operator
from refcoll.programs import Program, from_steps
from refcoll.registry import algorithms, program
from refcoll.schedule import Copy, Reduce, ScheduleError, Send
from refcoll.spawning import spawn
from refcoll.topology import node_shape

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "CollectivePlan",
    "Communicator",
    "Copy",
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
