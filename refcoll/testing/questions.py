"""A case as the ranks of a job are asked it: what each puts in, and what is right.

The right results are computed by numpy over all ranks' inputs at once, without refcoll's
schedules and merges.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from refcoll.collectives import COLLECTIVES
from refcoll.communicator import Communicator
from refcoll.operators import Array
from refcoll.plans import CollectivePlan
from refcoll.registry import program
from refcoll.requests import GATHERING
from refcoll.testing.cases import Case
from refcoll.testing.values import dtype_named, merged, rank_input
from refcoll.topology import Nodes, node_shape


class Question:
    """``case``, asked on ``size`` ranks that stand on ``nodes``."""

    def __init__(self, case: Case, size: int, nodes: Nodes) -> None:
        self.case, self.size, self.dtype = case, size, dtype_named(case.dtype)
        self.op = case.op or "sum"
        self.root = case.count % size if COLLECTIVES[case.collective].rooted else 0
        self.nodes = nodes if len(nodes) > 1 else _halves(size)
        self.program = program(
            case.collective, case.algorithm, size,
            root=self.root, nodes=self.nodes, **dict(case.options),
        )  # fmt: skip
        self.layout = self.program.layout(case.count)

    def input(self, rank: int) -> Array | None:
        """What ``rank`` passes to the call."""
        if self.case.collective == "barrier":
            return None
        whole = rank_input(rank, self.case.count, self.dtype, self.op)
        gathers = self.case.collective in GATHERING
        return whole[self.layout.span(rank, rank + 1)] if gathers else whole

    def plan(self, comm: Communicator, x: Array | None) -> CollectivePlan:
        """The call, prepared on this rank's ``x``."""
        options: dict[str, Any] = dict(self.case.options)
        return comm.plan(
            self.case.collective, x, self.op, self.root, counts=self._counts(),
            algorithm=self.case.algorithm, nodes=self.nodes, **options,
        )  # fmt: skip

    def call(self, comm: Communicator, x: Array | None) -> Array | None:
        """The call, made by itself: without the options, which only plans have."""
        case, kind = self.case, COLLECTIVES[self.case.collective]
        if x is None:
            comm.barrier()
            return None
        given: dict[str, Any] = {"algorithm": case.algorithm}
        given |= {"op": self.op} if kind.reduces else {}
        given |= {"root": self.root} if kind.rooted else {}
        given |= {"counts": self._counts()} if self._counts() else {}
        result: Array | None = getattr(comm, case.collective)(x, **given)
        return result

    def _counts(self) -> tuple[int, ...] | None:
        kind = COLLECTIVES[self.case.collective]
        return self.layout.lengths if kind.scattered and not kind.transposes else None

    def is_right(self, result: Array | None, rank: int) -> bool:
        """Whether it is the right result on ``rank``, in every element, shape and dtype."""
        wanted = self.wanted(rank)
        if wanted is None or result is None:
            return wanted is None and result is None
        alike = (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        return alike and bool(np.all(result == wanted))

    def wanted(self, rank: int) -> Array | None:
        """The right result on ``rank``."""
        case, size = self.case, self.size
        mine = self.layout.span(rank, rank + 1)
        match case.collective:
            case "barrier":
                return None
            case "reduce" | "gather" if rank != self.root:
                return None
            case "exscan" if rank == 0:
                return None
            case "broadcast":
                return self._whole(self.root)
            case "scatter":
                return self._whole(self.root)[mine]
            case "all_gather" | "gather":
                spans = [self.layout.span(each, each + 1) for each in range(size)]
                return np.concatenate([self._whole(r)[span] for r, span in enumerate(spans)])
            case "all_to_all":
                return np.concatenate([self._whole(each)[mine] for each in range(size)])
            case "scan":
                return merged(rank + 1, case.count, self.dtype, self.op)
            case "exscan":
                return merged(rank, case.count, self.dtype, self.op)
        total = merged(size, case.count, self.dtype, self.op)
        return total[mine] if case.collective == "reduce_scatter" else total

    def _whole(self, rank: int) -> Array:
        """What ``rank`` puts in, where nothing is merged."""
        return rank_input(rank, self.case.count, self.dtype, "sum")


def _halves(size: int) -> Nodes:
    """Two nodes, the first one rank larger where N is odd; one where there is one rank."""
    return node_shape((size - size // 2, size // 2) if size > 1 else (1,))
