"""Arrays of every shape, order and stride, in place and out of place."""

from __future__ import annotations

import numpy as np
import pytest

from on_threads import for_any_size, spawn

SHAPES = {
    "none": lambda: np.zeros(0),
    "0-d": lambda: np.array(3.5),
    "one": lambda: np.ones(1),
    "2-d": lambda: np.arange(12.0).reshape(3, 4),
    "2-d, a side of 0": lambda: np.zeros((3, 0)),
    "Fortran order": lambda: np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "transposed": lambda: np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
    "strided": lambda: np.arange(20.0)[1::3],
    "reversed": lambda: np.arange(20.0)[::-1],
    "strided in 2-d": lambda: np.arange(40.0).reshape(5, 8)[::2, ::-3],
    "the same element everywhere": lambda: np.broadcast_to(np.float64(2), (3, 5)),
    "misaligned": lambda: np.frombuffer(bytes(range(1, 34)), np.float64, 4, 1),
}
WRITABLE = [name for name, make in SHAPES.items() if make().flags.writeable]


@pytest.mark.parametrize("name", SHAPES)
def test_any_shape_and_strides(name):
    """Values, shape, dtype; and the input is left as it was."""

    def body(comm):
        x = SHAPES[name]()
        before = x.copy()
        out = np.full_like(x, 99)
        results = [comm.all_reduce(x), comm.all_reduce(x, out=out), comm.broadcast(x, 1)]
        results.append(comm.reduce(x, root=1))
        pieces = comm.reduce_scatter(x), comm.all_gather(x)
        assert np.array_equal(x, before)
        assert results[1] is out
        return results, pieces

    x = SHAPES[name]()
    pieces = np.array_split(3 * x.reshape(-1), 3)
    for rank, (results, (piece, whole)) in enumerate(spawn(3, body)):
        total, into, same, root = results
        assert (total.shape, total.dtype) == (x.shape, x.dtype)
        assert np.array_equal(total, 3 * x)
        assert np.array_equal(into, 3 * x)
        assert same.shape == x.shape
        assert np.array_equal(same, x)
        assert np.array_equal(root, 3 * x) if rank == 1 else root is None
        assert np.array_equal(piece, pieces[rank])
        assert np.array_equal(whole, np.tile(x.reshape(-1), 3))


@pytest.mark.parametrize("name", WRITABLE)
def test_in_place(name):
    def body(comm):
        x = SHAPES[name]()
        x += comm.rank
        result = comm.all_reduce(x, out=x)
        assert result is x
        copied = x.copy()
        assert comm.broadcast(x, 2, out=x) is x
        reduced = comm.reduce(x, "max", root=1, out=x)
        assert reduced is (x if comm.rank == 1 else None)
        return copied, x

    for first, last in spawn(3, body):
        assert np.array_equal(first, 3 * SHAPES[name]() + 3)
        assert np.array_equal(last, 3 * SHAPES[name]() + 3)


@pytest.mark.parametrize("algorithm", for_any_size("all_gather"))
@pytest.mark.parametrize("counts", [None, (2, 0, 5)])
def test_a_gather_in_place_takes_its_piece_from_out(counts, algorithm):
    sizes = counts or (4, 4, 4)

    def body(comm):
        out = np.full(sum(sizes), -1)
        first = sum(sizes[: comm.rank])
        mine = out[first : first + sizes[comm.rank]]
        mine[:] = 10 * comm.rank
        assert comm.all_gather(mine, counts=counts, out=out, algorithm=algorithm) is out
        return out

    for out in spawn(3, body):
        assert out.tolist() == [0] * sizes[0] + [10] * sizes[1] + [20] * sizes[2]


@pytest.mark.parametrize("algorithm", for_any_size("reduce_scatter"))
@pytest.mark.parametrize("counts", [None, (2, 0, 5)])
def test_a_reduce_scatter_in_place_puts_its_piece_into_x(counts, algorithm):
    """The rest of x stays as it was: it is the input."""
    sizes = counts or (4, 4, 4)

    def body(comm):
        x = np.arange(sum(sizes)) * (comm.rank + 1)
        first = sum(sizes[: comm.rank])
        mine = x[first : first + sizes[comm.rank]]
        assert comm.reduce_scatter(x, counts=counts, out=mine, algorithm=algorithm) is mine
        return x

    for rank, x in enumerate(spawn(3, body)):
        wanted = np.arange(sum(sizes)) * (rank + 1)
        mine = slice(sum(sizes[:rank]), sum(sizes[: rank + 1]))
        wanted[mine] = np.arange(sum(sizes))[mine] * 6
        assert np.array_equal(x, wanted)


@pytest.mark.parametrize("spread", [slice(None, None, 2), slice(None, None, -2)])
def test_out_may_be_strided_and_nothing_between_is_touched(spread):
    def body(comm):
        room = np.full((4, 10), -1)
        comm.all_reduce(np.arange(20).reshape(4, 5), out=room[:, spread])
        rows = np.full(40, -1)
        comm.all_gather(np.arange(5), out=rows[:30][spread])
        comm.reduce_scatter(np.arange(15), out=rows[30:][spread])
        return room, rows

    for rank, (room, rows) in enumerate(spawn(3, body)):
        wanted = np.full((4, 10), -1)
        wanted[:, spread] = 3 * np.arange(20).reshape(4, 5)
        assert np.array_equal(room, wanted)
        wanted = np.full(40, -1)
        wanted[:30][spread] = np.tile(np.arange(5), 3)
        wanted[30:][spread] = 3 * np.arange(5 * rank, 5 * rank + 5)
        assert np.array_equal(rows, wanted)


def test_a_reduce_writes_out_on_the_root_only():
    def body(comm):
        out = np.full(4, -1)
        comm.reduce(np.arange(4), root=2, out=out)
        return out

    results = spawn(3, body)
    assert np.array_equal(results[2], 3 * np.arange(4))
    assert all(np.array_equal(result, [-1] * 4) for result in results[:2])


def test_results_are_new_arrays():
    def body(comm):
        x = np.arange(4)
        results = [comm.all_reduce(x), comm.all_reduce(x), comm.broadcast(x), comm.all_gather(x)]
        for result in results:
            assert result.flags.writeable
            assert not np.shares_memory(result, x)
        assert not np.shares_memory(results[0], results[1])
        results[0][:] = 99
        return results[1]

    for size in (1, 3):
        assert all(np.array_equal(r, size * np.arange(4)) for r in spawn(size, body))
