"""Communicators that come and go, and contexts that end in an exception."""

import os
import sys
import time

import numpy as np

import refcoll

comm = refcoll.connect("mpi", timeout=60)
x = np.full(100, comm.rank)
if "many" in sys.argv:
    for number in range(2500):  # more than MPI can have at once
        with comm.split(number % 2) as part:
            assert part.size == comm.size
    assert comm.all_reduce(x)[0] == sum(range(comm.size))
    print("gone and done.", flush=True)
elif "few" in sys.argv:
    numbers = set()
    for number in range(40):
        with comm.split(number % 2) as part:
            numbers.add(part.transport.comm.py2f())
    assert len(numbers) < 5, numbers
    print("gone and done.", flush=True)
elif "connects" in sys.argv:
    for _ in range(2200):
        refcoll.connect("mpi").close()
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(20):
        refcoll.connect("mpi").close()
    assert not before or len(os.listdir("/proc/self/fd")) == before
    print("gone and done.", flush=True)
else:
    comm, handle = refcoll.connect("mpi", timeout=60, shared_memory=False), None
    try:
        with comm:
            if comm.rank == 0:
                handle = comm.all_reduce(x, async_op=True)
                time.sleep(0.2)  # it waits, in its thread
                raise ValueError("in the middle of something")
            time.sleep(30)
    finally:
        if handle is not None:
            try:
                handle.wait()
            except refcoll.RefcollError as error:
                print(f"the handle: {type(error).__name__}: {error}", flush=True)
