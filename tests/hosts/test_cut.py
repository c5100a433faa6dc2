"""A link that is cut in the middle of a collective is an error on every rank, in time."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from refcoll.testing.hosts import Hosts

PROGRAMS = Path(__file__).parent / "programs"
TIMEOUT, GRACE = 2, 5
"""Seconds that a wait may last, and until all have told so and the job has ended."""


@pytest.fixture(scope="module")
def slow(entered):
    with entered(Hosts(2, 2, rate="20mbit")) as hosts:
        yield hosts


def under_way(hosts, job):
    """Wait until messages cross the data links."""
    start = hosts.traffic()[0].sent_bytes
    while hosts.traffic()[0].sent_bytes < start + 500_000:
        assert not job.done(), job.result()
        time.sleep(0.02)


@pytest.mark.parametrize("cut", [0, pytest.param(1, marks=pytest.mark.long)])
def test_a_cut_link_is_an_error_on_every_rank(cut, slow):
    """Of two hosts each is then alone, whichever is cut off; the ranks of both are asked."""
    with ThreadPoolExecutor(1) as background:
        command = (sys.executable, str(PROGRAMS / "endless.py"), str(TIMEOUT))
        job = background.submit(slow.mpirun, *command, timeout=60)
        under_way(slow, job)
        slow.cut(cut)
        at = time.time()
        run = job.result()
        ended = time.time()
    slow.mend(cut)
    told = sorted(line.split() for line in run.stdout.splitlines() if line.startswith("rank "))
    assert [line[1] for line in told] == ["0", "1", "2", "3"], run.stdout + run.stderr[-3000:]
    for _, rank, kind, is_transport_error, _, failed in told:
        assert is_transport_error == "True", (rank, kind)
        assert at < float(failed) < at + TIMEOUT + GRACE, (rank, kind)
    assert run.returncode != 0
    assert ended < at + TIMEOUT + 2 * GRACE


def test_a_mended_link_carries_again(slow):
    slow.cut(1)
    slow.mend(1)
    ring = (str(PROGRAMS / "traffic.py"), "1000", "ring")  # which asserts that its sums are right
    run = slow.mpirun(sys.executable, *ring, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr[-3000:]
