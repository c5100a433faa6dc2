"""Run vectors: by refcoll's own collectives on threads, and by faulty functions."""

import numpy as np

from refcoll import spawn, user_operator
from refcoll.oracle.adapters.own import Own
from refcoll.oracle.implementation import called
from refcoll.oracle.vectors.reading import read


def run_own(vectors, size, in_place):
    """Results by vector and rank, of those vectors that have the form."""
    chosen = [each for each in vectors if each.record["in_place"] or not in_place]
    chosen = [each for each in chosen if not _refused(each.call())]
    inputs = [each.inputs() for each in chosen]

    def on_rank(comm):
        own = Own(comm)
        with np.errstate(all="ignore"):
            return [
                _one(own, each.call(in_place), given[comm.rank], comm.rank, size)
                for each, given in zip(chosen, inputs, strict=True)
            ]

    by_rank = spawn(size, on_rank)
    return [(each, [results[i] for results in by_rank]) for i, each in enumerate(chosen)]


def _refused(call):
    """What refcoll says it has no algorithm for: rank order, to a root that is not the first."""
    return call.collective == "reduce" and call.op in _OPERATORS and call.root


def _one(own, call, given, rank, size):
    x, op = _packed(given, call.dtype), _OPERATORS.get(call.op)
    length = call.output_length(rank, size)
    source, out = _buffers(call, x, length, rank)
    if op is None:
        called(own, call, source, out)
    elif call.collective == "reduce":
        own.reduce(source, out, op, call.root)
    else:
        getattr(own, call.collective)(source, out, op)
    return None if out is None else _unpacked(out, call.dtype)


def _buffers(call, x, length, rank):
    holds = call.collective not in ("broadcast", "scatter") or rank == call.root
    if not call.in_place:
        return (x if holds else None), (None if length is None else np.empty(length, x.dtype))
    both = np.zeros(max(len(x), length or 0), x.dtype)
    at = rank * call.count if call.collective == "all_gather" else 0
    both[at : at + len(x)] = x
    return both[at : at + len(x)], (None if length is None else both[:length])


def _packed(values, dtype):
    """Matrices and short strings as 64 bits, for operators of one's own."""
    if dtype == "matrix2x2":
        return (values.astype(np.uint64) << _SHIFTS).sum(axis=1, dtype=np.uint64)
    if dtype == "string":
        return np.array([int.from_bytes(each.encode()) for each in values], np.uint64)
    return values


def _unpacked(values, dtype):
    if dtype == "matrix2x2":
        return (values[:, None] >> _SHIFTS & np.uint64(0xFFFF)).astype(np.int64)
    if dtype == "string":
        return np.array([int(each).to_bytes(8).lstrip(b"\0").decode() for each in values], "U64")
    return values


_SHIFTS = np.array([0, 16, 32, 48], np.uint64)


def _matmul(left, right):
    a, b = (_unpacked(each, "matrix2x2").reshape(-1, 2, 2) for each in (left, right))
    return _packed((a @ b).reshape(-1, 4), "matrix2x2")


def _concatenate(left, right):
    texts = zip(_unpacked(left, "string"), _unpacked(right, "string"), strict=True)
    return _packed(np.array([str(a) + str(b) for a, b in texts], "U64"), "string")


_OPERATORS = {
    "matmul": user_operator(_matmul, "matmul"),
    "concatenate": user_operator(_concatenate, "concatenate"),
}


def files(folder):
    """The JSON files of a set of vectors."""
    return sorted(folder.glob("*-n*.json"))


def everything(folder):
    """All vectors of a set."""
    return [each for file in files(folder) for each in read(file)]
