"""Rank 3 is stopped in the middle of a ring; the others say what they hear of it."""

import os
import signal

import numpy as np

import refcoll

comm = refcoll.connect("mpi", timeout=3)
calls = []


def plus(left, right):
    calls.append(None)
    if comm.rank == 3 and len(calls) == 2:
        os.kill(os.getpid(), signal.SIGSTOP)
    return left + right


op = refcoll.user_operator(plus, "plus", commutative=True)
try:
    comm.all_reduce(np.ones(1000), op, algorithm="ring")
except refcoll.RefcollError as error:
    told = f"rank {comm.rank} blames {error.culprit}: {type(error).__name__}: {error}\n"
    os.write(2, told.encode())
    raise
