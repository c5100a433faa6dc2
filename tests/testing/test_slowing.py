"""The slow link: right results, no sooner than latency and rate allow, counted as before."""

import time

import numpy as np
import pytest

import refcoll
from refcoll.communicator import Communicator
from refcoll.errors import ArgumentError
from refcoll.testing.counting import Counting
from refcoll.testing.slowing import Slowed


def timed(comm, latency, rate, count):
    slow = Communicator(Counting(Slowed(comm.transport, latency, rate)))
    x = np.full(count, comm.rank + 1.0)
    plan = slow.plan("all_reduce", x, algorithm="ring")
    slow.transport.take()
    began = time.monotonic()
    result = plan.run()
    return time.monotonic() - began, float(result[0]), slow.transport.take().sent_bytes


@pytest.mark.parametrize("size", [2, 3])
def test_it_takes_at_least_what_the_model_says(size):
    """T = 2(N-1) (latency + S/N / rate): a lower bound, so no time limit can make it fail."""
    count, latency, rate = 6000, 0.002, 4e6
    least = 2 * (size - 1) * (latency + 8 * count / size / rate)
    for took, value, sent in refcoll.spawn(size, timed, latency, rate, count, timeout=30):
        assert took >= least
        assert value == size * (size + 1) / 2
        assert sent == 2 * (size - 1) * 8 * count // size


def test_a_part_is_as_slow():
    def run(comm):
        slow = Communicator(Slowed(comm.transport, 0.01))
        part = slow.split(0)
        began = time.monotonic()
        part.all_reduce(np.zeros(1), algorithm="recursive_doubling", check=False)
        return time.monotonic() - began

    assert min(refcoll.spawn(2, run, timeout=30)) >= 0.01


@pytest.mark.parametrize(("latency", "rate"), [(-1, 1), (0, 0), (float("nan"), 1)])
def test_wrong_links(latency, rate):
    with pytest.raises(ArgumentError, match="use 0 or more s, and bytes/s"):
        refcoll.spawn(1, lambda comm: Slowed(comm.transport, latency, rate))
