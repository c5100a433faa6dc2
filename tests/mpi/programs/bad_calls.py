"""Wrong and different arguments: an error on every rank, soon, and inputs untouched."""

import json
import sys
import time

import numpy as np
from mpi4py import MPI

import refcoll

odd = MPI.COMM_WORLD.rank == MPI.COMM_WORLD.size - 1
"""Whether this is the rank that differs, where one does."""


def x(dtype="float32", count=100):
    return np.arange(count).astype(dtype)


def read_only():
    out = x()
    out.flags.writeable = False
    return out


CASES = {
    "length": lambda c: c.all_reduce(x(count=100 + odd)),
    "dtype": lambda c: c.all_reduce(x("float64" if odd else "float32")),
    "op": lambda c: c.all_reduce(x(), "max" if odd else "sum"),
    "root": lambda c: c.reduce(x(), root=int(odd)),
    "algorithm": lambda c: c.all_reduce(x(), algorithm="ring" if odd else "binomial"),
    "collective": lambda c: c.barrier() if odd else c.all_reduce(x()),
    "split against call": lambda c: c.split(0) if odd else c.all_reduce(x()),
    "counts": lambda c: c.all_gather(x(count=100 + odd)),
    "read-only out": lambda c: c.all_reduce(x(), out=read_only() if odd else None),
    "overlapping out": lambda c: (lambda v: c.all_reduce(v[:60], out=v[40:]))(x()),
    "root out of range": lambda c: c.broadcast(x(), root=99),
    "undefined op": lambda c: c.all_reduce(x("complex64"), "max"),
    "undefined op on one": lambda c: c.all_reduce(x("complex64" if odd else "float32"), "max"),
    "not an array": lambda c: c.all_reduce([1, 2, 3] if odd else x()),
    "object array": lambda c: c.all_reduce(np.array([object()])),
    "unknown algorithm": lambda c: c.all_reduce(x(), algorithm="magic"),
}
said = {}
for name, call in CASES.items():
    comm = refcoll.connect("mpi", timeout=20)
    started = time.monotonic()
    try:
        call(comm)
    except refcoll.RefcollError as error:
        said[name] = [type(error).__name__, str(error), time.monotonic() - started]
    else:
        said[name] = ["nothing raised", "", 0]
everyone = MPI.COMM_WORLD.gather(said)
if everyone:
    json.dump(everyone, sys.stdout)
