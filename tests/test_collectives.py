"""Every collective of the communicator, by each of its algorithms, against numpy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import refcoll
from on_threads import inputs, spawn
from refcoll import ArgumentError, algorithms
from samples import named, through

RUNNABLE = [
    each for each in algorithms() if not each.needs_helpers and each.collective != "barrier"
]


def pieces(counts):
    ends = np.cumsum([0, *counts])
    return [slice(a, b) for a, b in pairwise(ends)]


def expected(collective, x, root, where):
    """What each rank must get, by numpy; None where it gets nothing."""
    size = len(x)
    whole = np.concatenate([x[r][where[r]] for r in range(size)])
    match collective:
        case "all_reduce":
            return [x.sum(0)] * size
        case "reduce":
            return [x.sum(0) if rank == root else None for rank in range(size)]
        case "reduce_scatter":
            return [x.sum(0)[where[rank]] for rank in range(size)]
        case "broadcast":
            return [x[root]] * size
        case "all_gather":
            return [whole] * size
        case "gather":
            return [whole if rank == root else None for rank in range(size)]
        case "scatter":
            return [x[root][where[rank]] for rank in range(size)]
        case "all_to_all":
            chunks = x.reshape(size, size, -1)
            return [chunks[:, rank].reshape(-1) for rank in range(size)]
        case "scan":
            return list(np.cumsum(x, axis=0))
        case "exscan":
            return [None, *np.cumsum(x, axis=0)[:-1]]
    raise AssertionError(collective)


@through([1, 2, 3, 4, 5, 8], RUNNABLE)
def test_the_result_is_numpys(each, size):
    kind = each.collective
    x = inputs(size, 3 * size if kind == "all_to_all" else 11)
    counts = [0] * size
    counts[size // 2] = 4
    counts[-1] += 11 - sum(counts)
    uneven = kind in ("reduce_scatter", "all_gather", "gather", "scatter")
    where = pieces(counts) if uneven else [slice(None)] * size
    for root in {0, size - 1} if kind in ("reduce", "broadcast", "gather", "scatter") else {0}:

        def body(comm, root=root):
            mine = x[comm.rank][where[comm.rank]] if kind.endswith("gather") else x[comm.rank]
            options = {"counts": counts} if uneven else {}
            before = mine.copy()
            plan = comm.plan(kind, mine, "sum", root, algorithm=each.name, **options)
            results = [plan.run(), plan.run()]
            assert np.array_equal(mine, before)
            return results

        wanted = expected(kind, x, root, where)
        for rank, results in enumerate(spawn(size, body)):
            for result in results:
                if wanted[rank] is None:
                    assert result is None
                else:
                    assert np.array_equal(result, wanted[rank]), (named(each), rank, root)


def test_the_methods():
    x = inputs(4, 12)

    def body(comm):
        mine = x[comm.rank]
        return [
            comm.gather(mine, 1), comm.scatter(mine, 2), comm.all_to_all(mine), comm.scan(mine),
            comm.exscan(mine, "max"), comm.scan(mine.astype(float), "avg"),
            comm.all_to_all(mine, async_op=True).wait(),
        ]  # fmt: skip

    found = spawn(4, body)
    for rank, (gathered, scattered, exchanged, scanned, before, mean, later) in enumerate(found):
        assert np.array_equal(gathered, x.reshape(-1)) if rank == 1 else gathered is None
        assert np.array_equal(scattered, x[2, 3 * rank : 3 * rank + 3])
        assert np.array_equal(exchanged, x[:, 3 * rank : 3 * rank + 3].reshape(-1))
        assert np.array_equal(later, exchanged)
        assert np.array_equal(scanned, x[: rank + 1].sum(0))
        assert np.array_equal(before, x[:rank].max(0)) if rank else before is None
        assert np.array_equal(mean, x[: rank + 1].sum(0) / (rank + 1))


def test_in_place_and_shaped():
    x = inputs(3, 6).reshape(3, 2, 3)

    def body(comm):
        mine = x[comm.rank].copy()
        assert comm.all_to_all(mine, out=mine) is mine
        prefix = x[comm.rank].copy()
        assert comm.scan(prefix, out=prefix) is prefix
        return mine, prefix

    for rank, (exchanged, prefix) in enumerate(spawn(3, body)):
        assert np.array_equal(exchanged.reshape(-1), x.reshape(3, 3, 2)[:, rank].reshape(-1))
        assert np.array_equal(prefix, x[: rank + 1].sum(0))


def test_any_pair_runs():
    x = inputs(3, 10)
    for name in ("pairwise+bruck", "ring+direct", "pat+sparbit", "butterfly+ring"):
        for result in spawn(3, lambda c, n=name: c.all_reduce(x[c.rank], algorithm=n)):
            assert np.array_equal(result, x.sum(0))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c, x: c.all_to_all(x[:7]), "x has 7 elements, which cannot be cut into 3 equal"),
        (lambda c, x: c.scatter(x, 3), "root=3 must be a rank from 0 to 2"),
        (lambda c, x: c.gather(x, counts=[1, 2]), "must be 3 lengths"),
        (lambda c, x: c.scan(x, algorithm="ring"), "algorithm='ring' does not exist for scan"),
        (lambda c, x: c.plan("all_to_all", x, counts=[3, 3, 3]), "has no meaning for all_to_all"),
        (lambda c, x: c.plan("all_reduce", x, radix=1), "radix=1 must be at least 2"),
        (lambda c, x: c.plan("all_reduce", x, shards=0), "shards=0 must be at least 1"),
        (lambda c, x: c.all_reduce(x, algorithm="bine"), "defined for N a power of two only"),
        (lambda c, x: c.all_reduce(x, algorithm="in_network"), "it can be counted, checked"),
        (lambda c, x: c.plan("all_reduce", x, nodes=[[[0, 1]], []]), "must hold each of the ranks"),
        (lambda c, x: c.plan("all_reduce", x, nodes=[]), "must hold each of the ranks"),
        (lambda c, x: c.plan("all_reduce", x, nodes=[[[0, 1], [2]], []]), "a switch without nodes"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_errors_on_every_rank(call, words):
    def body(comm):
        with pytest.raises(ArgumentError, match=words):
            call(comm, np.arange(9))
        return comm.all_reduce(np.array([1]))[0]

    assert spawn(3, body) == [3, 3, 3]


def test_ranks_that_mean_another_radix_are_told():
    def body(comm):
        with pytest.raises(refcoll.DisagreementError, match="radix"):
            comm.plan("all_reduce", np.ones(4), algorithm="bcube", radix=2 + comm.rank)

    spawn(2, body)


def test_memory_of_the_transports_own():
    def body(comm):
        x = comm.empty((2, 3), np.float32)
        assert (x.shape, x.dtype, x.flags.c_contiguous) == ((2, 3), np.float32, True)
        x[:] = comm.rank + 1
        assert comm.empty(0).size == 0
        assert comm.empty(5, "bool").dtype == np.bool_
        for wrong in ({"shape": -1}, {"shape": 1.5}, {"shape": 2, "dtype": object}):
            with pytest.raises(ArgumentError):
                comm.empty(**wrong)
        return comm.all_reduce(x, out=x)

    assert all(np.array_equal(result, np.full((2, 3), 6)) for result in spawn(3, body))
