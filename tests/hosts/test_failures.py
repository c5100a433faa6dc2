"""What ranks on different hosts tell one another of a rank that is late, or stopped."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="module")
def seen(built, program):
    """Of the rank that is late, and of the hosts' clocks."""
    return program(built(2, 2), "late.py")


def test_a_late_rank_is_named_across_hosts(seen):
    assert (seen["rank"], seen["number"]) == (3, 3)
    assert seen["by"] >= 0.2 - 2 * seen["error"] - 0.05
    assert min(seen["waited"][:3]) >= 0.2 - 2 * seen["error"] - 0.05
    assert 0 < seen["error"] < 0.5


def test_clocks_of_hosts_are_compared(seen):
    """Here all hosts have one and the same."""
    assert 0 < seen["ahead_error"] < 0.5
    assert all(abs(each) <= seen["ahead_error"] for each in seen["ahead"])


def test_a_rank_that_is_stopped_is_blamed_by_all_hosts(built):
    """Ranks 0 and 1 stand on the other host, where no process of rank 3's can be seen."""
    started = time.monotonic()
    run = built(2, 2).mpirun(sys.executable, str(PROGRAMS / "stopped.py"), timeout=60)
    assert time.monotonic() - started < 30
    assert run.returncode != 0
    said = r"^rank (\d) blames (\w+): (\w+): (.*)$"
    heard = {int(rank): rest for rank, *rest in re.findall(said, run.stderr, re.MULTILINE)}
    assert set(heard) == {0, 1, 2}, run.stdout + run.stderr
    for blamed, kind, message in heard.values():
        assert blamed == "3"
        assert kind in ("DeadlineError", "PeerFailedError")
        assert "rank 3 is stopped (process " in message or "rank 3 gives no answer" in message
