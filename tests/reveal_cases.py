"""Implementations whose order is known, as functions that answer for all ranks at once."""

from __future__ import annotations

from math import fsum, inf

import numpy as np

from refcoll.interpreters.replay import Symbols, replay
from refcoll.interpreters.simulate import simulate
from refcoll.oracle.revealing.trees import of_expression
from refcoll.registry import algorithms, program
from refcoll.testing.values import dtype_named

OPTIONS = {"segments": (1, 3), "radix": (2, 3), "shards": (1, 2), "nodes": (None,)}


def programs(collective, size):
    """(Name, keywords) of every algorithm, with some options."""
    for each in algorithms(collective):
        if each.sizes.holds(size):
            option = next(iter(each.options), None)
            for value in OPTIONS.get(option, (None,)):
                if option == "nodes":
                    yield each.name, nodes_for(size, "switches" in each.options)
                else:
                    yield each.name, {option: value} if option else {}


def nodes_for(size, on_switches):
    half = (size + 1) // 2
    nodes = [list(range(half)), list(range(half, size))] if size > 1 else [[0]]
    return {"nodes": [[node] for node in nodes] if on_switches else nodes}


def running(collective, name, size, root=0, **options):
    """Answers as the program's simulation has it, every hop rounded."""
    made = program(collective, name, size, root=root, **options)

    def ask(call, inputs, shift=0):
        with np.errstate(all="ignore"):
            return kept(call, simulate(made, inputs), root)

    return made, ask


def evaluating(collective, name, size, **options):
    """The same answers, faster: the program's own expressions, evaluated."""
    made = program(collective, name, size, **options)
    symbols = Symbols(made)
    for _ in replay(made, symbols):
        pass
    first = made.result_area * made.chunks

    def ask(call, inputs, shift=0):
        layout, known, vectors = made.layout(inputs[0].size), {}, []
        for memory in symbols.memory[:size]:
            out = np.zeros_like(inputs[0])
            for chunk in range(made.chunks):
                value, place = memory.get(first + chunk), layout.span(chunk, chunk + 1)
                if value is not None and (value, chunk) not in known:
                    known[value, chunk] = value.evaluate(lambda r, _: inputs[r][place], np.add)  # noqa: B023
                if value is not None:
                    out[place] = known[value, chunk]
            vectors.append(out)
        return kept(call, vectors)

    return made, ask


def kept(call, vectors, root=0):
    """What each rank's result is, of its vector after the collective."""
    if call.collective == "reduce":
        return [x if rank == root else None for rank, x in enumerate(vectors)]
    if call.collective == "reduce_scatter":
        n = call.count
        return [x[rank * n : (rank + 1) * n] for rank, x in enumerate(vectors)]
    if call.collective == "exscan":
        return [x if rank else None for rank, x in enumerate(vectors)]
    return list(vectors)


def expected(made, count):
    """By rank, by element of its result: the tree of the program's own expression."""
    symbols = Symbols(made)
    for _ in replay(made, symbols):
        pass
    layout = made.layout(count)
    found = {}
    for rank in range(made.size):
        owned = [c for c in range(made.chunks) if made.after(rank, c)]
        values = {
            c: of_expression(symbols.memory[rank][made.result_area * made.chunks + c])
            for c in owned
        }
        if owned:
            found[rank] = [values[c] for c in owned for _ in range(layout.lengths[c])]
    return found


# ---- odd ones: each a function of a matrix, a row a rank ----------------------------------


def everywhere(function):
    """An all_reduce in which every rank gets ``function(rows)``."""

    def ask(call, inputs, shift=0):
        with np.errstate(all="ignore"):
            result = function(np.stack(inputs)).astype(inputs[0].dtype)
        return [result] * len(inputs)

    return ask


def in_order(x, order):
    total = x[order[0]]
    for rank in order[1:]:
        total = total + x[rank]
    return total


def forwards(x):
    return in_order(x, range(len(x)))


def by_element(x):
    return np.where(np.arange(x.shape[1]) % 2, in_order(x, range(len(x))[::-1]), forwards(x))


def by_size(x):
    return forwards(x) if x.shape[1] < 50 else in_order(x, range(len(x))[::-1])


def ring_from_50(x):
    """One order for short vectors; long ones have it in their first part, and another later."""
    later = in_order(x, range(len(x))[::-1])
    return (
        forwards(x) if x.shape[1] < 50 else np.where(np.arange(x.shape[1]) < 20, forwards(x), later)
    )


class ByRun:
    """Another order at every call."""

    def __init__(self):
        self.generator = np.random.default_rng(3)

    def __call__(self, x):
        return in_order(x, self.generator.permutation(len(x)))


def by_value(x):
    """Sorted, so that the order is that of the values."""
    return forwards(np.sort(x.astype(np.float64), axis=0).astype(x.dtype))


def by_first_value(x):
    """The order turns with the sign of rank 0's value."""
    return np.where(x[0] < 0, in_order(x, range(len(x))[::-1]), forwards(x))


def exact(x):
    return np.array([fsum(column) for column in x.astype(np.float64).T])


def three_at_once(x):
    """Three values are aligned to the largest, what lies lower is cut off: as in tensor cores."""
    first = x[:3].astype(np.float64)
    unit = 2.0 ** (np.floor(np.log2(np.abs(first).max(axis=0))) - 23)
    return in_order([np.sum(np.trunc(first / unit), axis=0) * unit, *x[3:]], range(len(x) - 2))


def three_exactly(x):
    return in_order([exact(x[:3]).astype(x.dtype), *x[3:]], range(len(x) - 2))


def kahan(x):
    total, lost = x[0], np.zeros_like(x[0])
    for each in x[1:]:
        corrected = each - lost
        new = total + corrected
        lost = (new - total) - corrected
        total = new
    return total


def wide(x):
    """Partial sums in float64, rounded once."""
    return forwards(x.astype(np.float64))


def wide_in_a_node(x):
    """Ranks 0-2 in float64; that, rounded, and the others one by one."""
    return in_order([wide(x[:3]).astype(x.dtype), *x[3:]], range(len(x) - 2))


def in_bfloat16(x):
    return forwards(x.astype(dtype_named("bfloat16")))


def each_from_itself(call, inputs, shift=0):
    """Every rank adds from itself on, so that ranks differ in their order."""
    size = len(inputs)
    with np.errstate(all="ignore"):
        return [in_order(inputs, [(r + k) % size for k in range(size)]) for r in range(size)]


def by_address(call, inputs, shift=0):
    order = range(len(inputs))[:: -1 if shift else 1]
    with np.errstate(all="ignore"):
        return [in_order(inputs, order)] * len(inputs)


def by_peak(x):
    """The largest first: another order for every pair, of no tree."""
    order = np.argsort(-np.abs(x.astype(np.float64)), axis=0, kind="stable")
    return forwards(np.take_along_axis(x, order, axis=0))


def broken(x):
    """Not a sum at all."""
    return np.full(x.shape[1], inf)
