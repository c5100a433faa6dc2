"""A group of ranks that make the same calls: plans, memory, parts, and what ends it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from refcoll.binding import told_to_all
from refcoll.calls import Calls
from refcoll.errors import ArgumentError, DisagreementError, PoisonedError, integer
from refcoll.operators import Array, Operator, kind
from refcoll.plans import CollectivePlan
from refcoll.registry import DEFAULT_RADIX, DEFAULT_SEGMENTS, DEFAULT_SHARDS
from refcoll.requests import Request
from refcoll.topology import Topology
from refcoll.transport import Transport

if TYPE_CHECKING:
    from refcoll.stragglers import Watch


class Group(Calls):
    """One rank's end of a group of ranks that make the same calls in the same order."""

    @told_to_all
    def plan(
        self,
        collective: str,
        x: Array | None = None,
        op: str | Operator = "sum",
        root: int = 0,
        *,
        counts: Sequence[int] | None = None,
        out: Array | None = None,
        algorithm: str = "auto",
        accumulate: Any = None,
        nodes: Sequence[Any] | Topology | None = None,
        segments: int = DEFAULT_SEGMENTS,
        radix: int = DEFAULT_RADIX,
        shards: int = DEFAULT_SHARDS,
        check: bool = True,
    ) -> CollectivePlan:
        """Prepare a collective on these arrays, to be run many times.

        ``check=False``, on all ranks, leaves out the comparison with the other ranks.
        ``nodes`` overrides which ranks a hierarchical algorithm takes to share a node, and
        may say which nodes share a switch; ``segments``, ``radix`` and ``shards`` are for
        pipelined algorithms, wide ones and parameter servers (see ``refcoll.program``).
        """
        request = Request(
            collective=collective, x=x, op=op, root=root, out=out, counts=counts,
            algorithm=algorithm, accumulate=accumulate, segments=segments, radix=radix,
            shards=shards, nodes=self.nodes if nodes is None else nodes,
            tuning=self.tuning,
        )  # fmt: skip
        considered = self._handed_over(request, once=False)
        return self._do(lambda: CollectivePlan(self, considered, self._next(), check))

    def empty(self, shape: int | Sequence[int], dtype: Any = np.float64) -> Array:
        """An uninitialised array in memory that the transport moves best; use it like any other.

        Raises ArgumentError for a dtype that cannot travel, or a negative length.
        """
        lengths = shape if isinstance(shape, Sequence) else [shape]
        sizes = [integer(each, "shape") for each in lengths]
        if any(each < 0 for each in sizes):
            raise ArgumentError(f"shape={shape!r:.80} must not be negative")
        if self._closed:
            raise PoisonedError("this communicator was closed and cannot be used again")
        try:
            kept = np.dtype(dtype)
        except TypeError as error:
            raise ArgumentError(f"dtype={dtype!r} is no dtype: {error}") from error
        kind(kept)
        try:
            whole = self.transport.empty(prod(sizes) * kept.itemsize)
        except (MemoryError, OverflowError, ValueError) as error:
            raise ArgumentError(
                f"shape={shape!r:.80} is more than there is memory for: {error}"
            ) from error
        made: Array = whole.view(kept).reshape(sizes)
        return made

    @told_to_all
    def split(self, color: int | None, key: int = 0) -> Self | None:
        """A communicator among the ranks that give the same ``color``; None for color None.

        Its ranks are ordered by ``key``, then by rank here.  Where a rank gives something
        else than integers it raises ArgumentError; the others, and all ranks where one makes
        another call, raise DisagreementError.
        """

        def make() -> Transport | None:
            sequence = self._next()
            said, error = _membership(color, key)
            said["call"] = sequence
            same = ("collective", "call", "error")
            try:
                everyone = self.agreement.collect(said, same, self.timeout)
            except DisagreementError:
                if error is not None:
                    raise error from None
                raise
            if error is not None:
                error.poisons = False
                raise error
            chosen = sorted(
                (each["key"], rank)
                for rank, each in enumerate(everyone)
                if each["color"] == said["color"]
            )
            if color is None:
                return None
            return self.transport.subgroup([rank for _, rank in chosen], sequence)

        transport = self._do(make)
        return None if transport is None else type(self)(transport, self.timeout, self.tuning)

    def watch(self) -> Watch:
        """Note when ranks enter and leave calls, to tell who was late: ``with comm.watch() as
        seen: ...``, and then, on all ranks, ``print(seen.report())``.  See ``stragglers``."""
        from refcoll.stragglers import Watch

        return Watch(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            self.fail(error)


def _membership(color: Any, key: Any) -> tuple[dict[str, Any], ArgumentError | None]:
    """What a rank says in a split, and what is wrong with it, if anything is."""
    try:
        named = None if color is None else index(color)
        return {"collective": "split", "color": named, "key": index(key)}, None
    except TypeError:
        error = ArgumentError(
            f"color={color!r}, key={key!r} must be integers; color may be None to stay out"
        )
        return {"collective": "split", "error": str(error)}, error
