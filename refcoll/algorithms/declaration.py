"""How an algorithm declares itself: what it does, for whom, and what it claims to cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from refcoll.expressions import Formula
from refcoll.schedule import Schedule

Lengths: TypeAlias = Sequence[int]
Traffic: TypeAlias = Callable[[int, Lengths], int]
"""What a rank sends, or receives, in one algorithm among all ranks, for given lengths."""


class When(NamedTuple):
    """A condition: in words, and as a function of N and the options of an algorithm."""

    said: str
    holds: Callable[..., bool]


EVERY = When("every N", lambda size, **options: True)
EVEN = When("even N, and N = 1", lambda size, **options: size == 1 or size % 2 == 0)
POWERS_OF_TWO = When("N a power of two", lambda size, **options: size & (size - 1) == 0)
ALWAYS = When("always", lambda size, **options: True)
NEVER = When("no", lambda size, **options: False)
ONE = When("N = 1", lambda size, **options: size == 1)
UP_TO_2 = When("N <= 2", lambda size, **options: size <= 2)
UP_TO_3 = When("N <= 3", lambda size, **options: size <= 3)
ONE_SEGMENT_UP_TO_3 = When(
    "N = 1, or one segment and N <= 3",
    lambda size, segments: size == 1 or (segments == 1 and size <= 3),
)


def none(size: int, **options: Any) -> int:
    """No helpers."""
    return 0


def one_area(size: int, **options: Any) -> int:
    """The vector alone, no scratch."""
    return 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Algorithm:
    """One algorithm.  Every callable also takes the keywords named in ``options``.

    ``schedule(rank, size)`` is written for root 0; another root is a renumbering.
    ``steps(rank, size)``    steps of a rank that hold a message to another rank
    ``depth(size)``          the longest chain of dependent messages over all ranks
    ``sent(rank, size, lengths)``, ``received(...)``   elements that cross a rank's link
    ``time``                 seconds, as a formula (``refcoll.formulas``) for N > 1
    """

    name: str
    collective: str
    schedule: Callable[..., Schedule]
    chunks: Callable[..., int]
    steps: Callable[..., int]
    depth: Callable[..., int]
    sent: Callable[..., int]
    received: Callable[..., int]
    source: str
    time: Formula
    """The alpha-beta-gamma time where the messages of a step pay their alphas together."""
    one_port: Formula | None = None
    """The same where they pay them one after another, if that differs."""
    time_source: str = "derived here"
    """Where the formula is from."""
    time_exact: When = ALWAYS
    """When it is the critical path of the schedule; else it is an upper bound."""
    sizes: When = EVERY
    """For which N it is defined."""
    in_rank_order: bool = False
    """Whether operands meet in rank order, so that the operator need not commute."""
    proved: str | None = None
    """The theorem in proofs/, as File.theorem: it is right wherever it is defined, for root 0."""
    bandwidth_optimal: When = NEVER
    """When no schedule moves less, for chunks of equal length."""
    latency_optimal: When = NEVER
    """When no schedule takes fewer rounds, at one message out and one in a rank a round."""
    bounds: tuple[str, ...] = ()
    """Of "steps", "depth", "sent" and "received": what is an upper bound, not a closed form."""
    options: tuple[str, ...] = ()
    """Keywords that the callables take: "segments" (into how many pieces a pipeline cuts),
    "radix" (how many ranks meet, or children a rank has), "shards" (over how many servers the
    vector is spread), "nodes" (which ranks share a node), "switches" (which nodes a switch)."""
    weights: Callable[..., tuple[int, ...]] | None = None
    """Relative chunk lengths, where chunks are not meant to be equal."""
    helpers: Callable[..., int] = none
    """Extra ranks, after the others, that own no input and expect no output."""
    areas: Callable[..., int] = one_area
    """Areas of memory: the vector and any scratch."""
    result_area: int = 0
    """The area in which the result stands at the end."""
    also_known_as: Mapping[str, str] = field(default_factory=dict)

    @property
    def needs_helpers(self) -> bool:
        """Whether it takes part with more ranks than there are: no transport runs that."""
        return self.helpers is not none


def by_others(rank: int, size: int, lengths: Lengths, **options: Any) -> int:
    """S by every rank but 0: what each takes in of a broadcast."""
    return (rank > 0) * sum(lengths)


def mirrored(
    forwards: Algorithm, collective: str, schedule: Callable[..., Schedule], **changes: Any
) -> Algorithm:
    """The declaration of an algorithm backwards in time: what was sent is now received.

    Where it merges what was copied, merging takes its time too: beta + gamma instead of beta.
    Its source is the same, but names in other libraries and proofs do not carry over;
    ``changes`` may give others, and other times.
    """
    other = {"sent": "received", "received": "sent"}
    if collective in ("reduce", "reduce_scatter"):
        one_port = forwards.one_port and forwards.one_port.merging()
        changes = {"time": forwards.time.merging(), "one_port": one_port} | changes
    fields = {"also_known_as": {}, "time_source": "derived here", "proved": None} | changes
    return replace(
        forwards,
        collective=collective,
        schedule=schedule,
        sent=forwards.received,
        received=forwards.sent,
        bounds=tuple(other.get(bound, bound) for bound in forwards.bounds),
        **fields,
    )


def covered(starts: Sequence[int], width: int) -> int:
    """How many rounds the windows [start, start + width) cover together.

    >>> covered([0, 2, 9], 3)
    8
    """
    ordered = sorted(starts)
    gaps = [later - start for start, later in pairwise(ordered)]
    return sum(min(width, gap) for gap in gaps) + (width if ordered else 0)


def log2_ceiling(size: int) -> int:
    """The least k with 2**k >= size: rounds that doubling needs to reach ``size`` ranks."""
    return (size - 1).bit_length()


def one_chunk(size: int) -> int:
    """Chunks of an algorithm that always sends the whole vector."""
    return 1


def chunk_per_rank(size: int) -> int:
    """Chunks of an algorithm that gives each rank its share."""
    return size


def log_ceiling(size: int, radix: int) -> int:
    """The least k with radix**k >= size.

    >>> [log_ceiling(n, 3) for n in (1, 2, 3, 4, 9, 10)]
    [0, 1, 1, 2, 2, 3]
    """
    k, reach = 0, 1
    while reach < size:
        k, reach = k + 1, reach * radix
    return k


def one_segment_each(size: int, segments: int) -> int:
    """Chunks of an algorithm that sends the vector in segments."""
    return segments
