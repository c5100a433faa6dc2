"""Calls that are right, each by itself, but not the same: made by all ranks but one, and by it.

A row is (what differs, what the others call, what the odd one calls, what must be told of the
others, and of the odd one).
"""

from __future__ import annotations

DIFFERENT = [
    ("length", "all_reduce(array())", "all_reduce(array(13))", "count=12", "count=13"),
    ("length", "all_gather(array())", "all_gather(array(13))", "count=12", "count=13"),
    ("length", "broadcast(array())", "broadcast(array(0))", "count=12", "count=0"),
    ("length", "all_to_all(array())", "all_to_all(array(24))", "count=12", "count=24"),
    ("dtype", "all_reduce(array())", "all_reduce(array(12, 'int32'))", "dtype=float32",
     "dtype=int32"),
    ("dtype", "broadcast(array())", "broadcast(array(12, 'float64'))", "dtype=float32",
     "dtype=float64"),
    ("op", "all_reduce(array())", "all_reduce(array(), 'max')", "op=sum", "op=max"),
    ("op", "scan(array())", "scan(array(), first)", "op=sum", "op=first (a user's)"),
    ("root", "broadcast(array())", "broadcast(array(), 1)", "root=0", "root=1"),
    ("root", "gather(array(), root=1)", "gather(array(), root=0)", "root=1", "root=0"),
    ("algorithm", "all_reduce(array(), algorithm='ring')",
     "all_reduce(array(), algorithm='binomial')", "algorithm=ring", "algorithm=binomial"),
    ("collective", "all_reduce(array())", "barrier()", "collective=all_reduce",
     "collective=barrier"),
    ("collective", "scan(array())", "exscan(array())", "collective=scan", "collective=exscan"),
    ("collective", "all_reduce(array())", "split(0)", "collective=all_reduce",
     "collective=split"),
    ("counts", "reduce_scatter(array(), counts=[12 // size] * size)",
     "reduce_scatter(array(), counts=[12] + [0] * last)", "counts=[{share}, ",
     "counts=[12, 0"),
    ("counts", "reduce_scatter(array())", "reduce_scatter(array(), counts=[12] + [0] * last)",
     "counts=None", "counts=[12, 0"),
    ("accumulate", "all_reduce(array())", "all_reduce(array(), accumulate='float64')",
     "accumulate=None", "accumulate=float64"),
    ("accumulate", "all_reduce(array())", "all_reduce(array(), accumulate='float32')",
     "accumulate=None", "accumulate=float32"),
    ("nodes", "plan('all_reduce', array(), algorithm='ring')",
     "plan('all_reduce', array(), algorithm='ring', nodes=[[0], [*range(1, size)]])",
     "nodes=[[0, 1", "nodes=[[0], [1"),
    ("segments", "plan('broadcast', array(), algorithm='chain', segments=2)",
     "plan('broadcast', array(), algorithm='chain', segments=3)", "segments=2", "segments=3"),
    ("radix", "plan('broadcast', array(), algorithm='knomial', radix=2)",
     "plan('broadcast', array(), algorithm='knomial', radix=3)", "radix=2", "radix=3"),
    ("shards", "plan('all_reduce', array(), algorithm='ring')",
     "plan('all_reduce', array(), algorithm='ring', shards=2)", "shards=1", "shards=2"),
]  # fmt: skip
