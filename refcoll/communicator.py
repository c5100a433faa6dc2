"""The communicator: collectives on numpy arrays, or a device's, over any transport.

    comm = refcoll.connect("mpi")
    total = comm.all_reduce(x)                     # a new array
    comm.all_reduce(x, out=x)                      # in place
    handle = comm.all_reduce(x, async_op=True)     # ...; handle.wait()
    plan = comm.plan("all_reduce", x, out=y)       # made once,
    plan.run()                                     # run many times

Calls are collective: every rank makes the same calls in the same order.  Each call first
compares itself with the other ranks' (``refcoll.agreement``), so that a wrong or different
argument raises on every rank, before anything has moved.  After any error that can leave
ranks out of step the communicator is poisoned: later calls raise PoisonedError at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refcoll.binding import told_to_all
from refcoll.group import Group
from refcoll.operators import Array, Operator


class Communicator(Group):
    """One rank's end of a group that does collectives together.

    ``timeout`` is how many seconds any wait may last before DeadlineError.  Arrays may have
    any shape and strides and any numeric dtype, bool, complex, bfloat16 and float8 included.
    A transport serves one communicator at a time.
    Common arguments:

    op          "sum", "prod", "min", "max", "avg", "bitwise_and", ..., or an Operator
    out         where the result goes, of its shape and dtype; may be ``x`` itself
    algorithm   a name of `refcoll list`, or "auto"
    accumulate  a wider dtype in which values travel and are merged
    async_op    return a Handle at once; leave ``x`` and ``out`` alone until ``wait()``
    timeout     seconds, instead of the communicator's
    check       False, on all ranks, to go without the comparison with the other ranks

    Every method raises ArgumentError or DisagreementError on every rank where arguments are
    wrong or differ (unless check=False), and TransportError where a rank is late, gone or
    sends something else.
    """

    @told_to_all
    def all_reduce(
        self,
        x: Array,
        op: str | Operator = "sum",
        *,
        out: Array | None = None,
        algorithm: str = "auto",
        accumulate: Any = None,
        async_op: bool = False,
        timeout: float | None = None,
        check: bool = True,
    ) -> Any:
        """All ranks' ``x`` merged, on every rank; of the shape and dtype of ``x``."""
        return self._call(
            "all_reduce", async_op, timeout, check, x=x, op=op, out=out, algorithm=algorithm,
            accumulate=accumulate,
        )  # fmt: skip

    @told_to_all
    def reduce_scatter(
        self,
        x: Array,
        op: str | Operator = "sum",
        *,
        counts: Sequence[int] | None = None,
        out: Array | None = None,
        algorithm: str = "auto",
        accumulate: Any = None,
        async_op: bool = False,
        timeout: float | None = None,
        check: bool = True,
    ) -> Any:
        """Piece r of all ranks' ``x`` merged, on rank r; one-dimensional.

        ``x``, flattened, is cut into ``counts[r]`` elements for rank r; by default evenly,
        the first pieces one longer.
        """
        return self._call(
            "reduce_scatter", async_op, timeout, check, x=x, op=op, counts=counts, out=out,
            algorithm=algorithm, accumulate=accumulate,
        )  # fmt: skip

    @told_to_all
    def all_gather(
        self,
        x: Array,
        *,
        counts: Sequence[int] | None = None,
        out: Array | None = None,
        algorithm: str = "auto",
        async_op: bool = False,
        timeout: float | None = None,
        check: bool = True,
    ) -> Any:
        """All ranks' ``x``, flattened, one after another in rank order; one-dimensional.

        Where their lengths differ, ``counts`` gives all of them on every rank.
        """
        return self._call(
            "all_gather", async_op, timeout, check, x=x, counts=counts, out=out, algorithm=algorithm
        )

    @told_to_all
    def broadcast(
        self,
        x: Array,
        root: int = 0,
        *,
        out: Array | None = None,
        algorithm: str = "auto",
        async_op: bool = False,
        timeout: float | None = None,
        check: bool = True,
    ) -> Any:
        """Rank ``root``'s ``x``, on every rank; elsewhere ``x`` only gives size and dtype."""
        return self._call(
            "broadcast", async_op, timeout, check, x=x, root=root, out=out, algorithm=algorithm
        )

    @told_to_all
    def reduce(
        self,
        x: Array,
        op: str | Operator = "sum",
        root: int = 0,
        *,
        out: Array | None = None,
        algorithm: str = "auto",
        accumulate: Any = None,
        async_op: bool = False,
        timeout: float | None = None,
        check: bool = True,
    ) -> Any:
        """All ranks' ``x`` merged, on rank ``root``; None elsewhere, where ``out`` is ignored."""
        return self._call(
            "reduce", async_op, timeout, check, x=x, op=op, root=root, out=out, algorithm=algorithm,
            accumulate=accumulate,
        )  # fmt: skip

    @told_to_all
    def gather(
        self,
        x: Array,
        root: int = 0,
        *,
        counts: Sequence[int] | None = None,
        out: Array | None = None,
        algorithm: str = "auto",
        async_op: bool = False,
        timeout: float | None = None,
        check: bool = True,
    ) -> Any:
        """All ranks' ``x``, flattened, one after another, on rank ``root``; None elsewhere.

        Where their lengths differ, ``counts`` gives all of them on every rank.
        """
        return self._call(
            "gather", async_op, timeout, check, x=x, root=root, counts=counts, out=out,
            algorithm=algorithm,
        )  # fmt: skip

    @told_to_all
    def scatter(
        self,
        x: Array,
        root: int = 0,
        *,
        counts: Sequence[int] | None = None,
        out: Array | None = None,
        algorithm: str = "auto",
        async_op: bool = False,
        timeout: float | None = None,
        check: bool = True,
    ) -> Any:
        """Piece r of rank ``root``'s ``x``, on rank r; one-dimensional.

        Elsewhere ``x`` only gives size and dtype.  It is cut as in ``reduce_scatter``.
        """
        return self._call(
            "scatter", async_op, timeout, check, x=x, root=root, counts=counts, out=out,
            algorithm=algorithm,
        )  # fmt: skip

    @told_to_all
    def all_to_all(
        self,
        x: Array,
        *,
        out: Array | None = None,
        algorithm: str = "auto",
        async_op: bool = False,
        timeout: float | None = None,
        check: bool = True,
    ) -> Any:
        """Chunk r of every rank's ``x``, one after another in rank order; shaped as ``x``.

        ``x``, flattened, is cut into N equal chunks; its size must be a multiple of N.
        """
        return self._call("all_to_all", async_op, timeout, check, x=x, out=out, algorithm=algorithm)

    @told_to_all
    def scan(
        self,
        x: Array,
        op: str | Operator = "sum",
        *,
        out: Array | None = None,
        algorithm: str = "auto",
        accumulate: Any = None,
        async_op: bool = False,
        timeout: float | None = None,
        check: bool = True,
    ) -> Any:
        """The ``x`` of ranks 0, ..., r merged, on rank r; "avg" divides by r + 1."""
        return self._call(
            "scan", async_op, timeout, check, x=x, op=op, out=out, algorithm=algorithm,
            accumulate=accumulate,
        )  # fmt: skip

    @told_to_all
    def exscan(
        self,
        x: Array,
        op: str | Operator = "sum",
        *,
        out: Array | None = None,
        algorithm: str = "auto",
        accumulate: Any = None,
        async_op: bool = False,
        timeout: float | None = None,
        check: bool = True,
    ) -> Any:
        """The ``x`` of ranks 0, ..., r - 1 merged, on rank r; None on rank 0, ``out`` ignored."""
        return self._call(
            "exscan", async_op, timeout, check, x=x, op=op, out=out, algorithm=algorithm,
            accumulate=accumulate,
        )  # fmt: skip

    @told_to_all
    def barrier(
        self, *, async_op: bool = False, timeout: float | None = None, check: bool = True
    ) -> Any:
        """Return once every rank has called it."""
        return self._call("barrier", async_op, timeout, check)
