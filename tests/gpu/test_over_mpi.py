"""Device memory over a real MPI, with a stand-in for the device.

What passes here shows the order of copies, synchronisations and messages, and what is sent.
It shows nothing of a GPU, and nothing of an MPI's support for one.
"""

from __future__ import annotations

import json

import pytest

from refcoll.testing.conformance import CHECKS, SPARE_CHECKS

LONG = pytest.mark.long
KEPT = [
    (3, "staged", "0"),
    *(pytest.param(ranks, mode, eagerness, marks=LONG)
      for mode in ("staged", "direct") for ranks, eagerness in ((1, "0"), (3, "1"), (4, "0.5"))),
    pytest.param(3, "direct", "0", marks=LONG),
]  # fmt: skip
SYNCHRONISATIONS = (
    "direct: before a send",
    "direct: before a receive",
    "staged: copies to the host follow what is queued",
    "staged: copies to the device follow what is queued",
    "staged: a copy is over before it is sent",
    "staged: a piece was read before a message lands there",
    "staged: a piece was read before a copy lands there",
    "staged: what goes on follows what has landed",
    "staged: two copies at a time",
    "staged: copies to the host beside merges",
    "staged: copies to the device beside merges",
    "staged: the host waits for no copy",
)
CASES = (
    "errors",
    "drivers",
    "checksums",
    "auto",
    "sharing",
    "copies",
    "lifetimes",
    "half_started",
    "ordinary_use",
    "trials",
    "algorithms",
)


def require_kept(checks, ranks, said):
    for check in checks:
        assert said.count(f"kept: {check.__name__}.") == ranks, check.__name__


@pytest.mark.parametrize(("ranks", "mode", "eagerness"), KEPT)
def test_it_keeps_the_contract_and_reports_silence_and_wrong_sizes(ranks, mode, eagerness, program):
    """The exit status is not 0: what was asked for and never came may still be under way."""
    run = program(ranks, "conformance.py", mode, eagerness, "spare")
    assert (run.returncode == 0) == (ranks == 1)
    require_kept((*CHECKS, *SPARE_CHECKS), ranks, run.stdout)


def test_two_ranks(program):
    """One job: the contract, the synchronisations, connecting and what it moves, and check.py's."""
    parts = ("conformance.py:direct:0", "synchronisations.py", ":".join(["over_mpi.py", *CASES]),
             "checking.py:staged")  # fmt: skip
    run = program(2, "in_turn.py", *parts, limit=240)
    assert run.returncode == 0, run.stderr
    require_kept(CHECKS, 2, run.stdout)
    for name in SYNCHRONISATIONS:
        assert f"caught: {name}." in run.stdout, run.stdout
    assert "NOT SEEN" not in run.stdout
    for case in CASES:
        assert run.stdout.count(f"done: {case}.") == 2
    require_checked("staged", run.stdout)


@LONG
def test_a_direct_job_of_check(program):
    run = program(2, "checking.py", "direct")
    assert run.returncode == 0, run.stderr
    require_checked("direct", run.stdout)


def require_checked(mode, said):
    """On one device, so that its bound is known; rank 0 alone tells."""
    _, told = said.split("found: ")
    found, _ = json.JSONDecoder().raw_decode(told)  # another rank's line may follow at once
    assert (found["right"], found["raced"], found["wrong"]) == (True, 0, [])
    assert (found["mode"], found["sharing"], found["cuda_aware"]) == (mode, [[0, 1]], False)
    assert [each["nbytes"] for each in found["point_to_point"]] == [8, 4096]
    assert found["ring"]["moved"] == (2 if mode == "staged" else 7) * 4096
    assert found["ring"]["share"] > 0


def test_staging_reads_and_writes_no_device_memory_itself(program):
    """Where it lies in pages that cannot be touched.  Direct, over this MPI, which knows nothing
    of devices, goes where it must not, and dies of it: so those pages are what they should be."""
    run = program(2, "unreadable.py")
    assert run.stdout.count("staged: right, and nobody looked.") == 2, run.stderr
    assert run.returncode != 0
    assert "direct: right" not in run.stdout
