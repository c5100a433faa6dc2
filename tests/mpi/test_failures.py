"""Under mpirun a mistake is an error on every rank, and no job hangs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time

import pytest

# ---- how jobs end -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("raises", "rank 1 was ended by ValueError: an accident of the user's own"),
        ("never calls", "waited 1."),
        ("exits", "rank 1 has come to the end of its program"),
        ("is killed", ""),
        ("differs", "the ranks did not make the same call"),
    ],
)
def test_a_failed_job_ends_soon_and_not_with_0(how, told, program):
    started = time.monotonic()
    run = program(2, "endings.py", how, limit=45)
    assert time.monotonic() - started < 40
    assert run.returncode != 0
    assert told in run.stdout + run.stderr


SAID = re.compile(r"^rank (\d) after (\S+) s: (\w+): (.*)$", re.MULTILINE)
"""What endings.py prints of an error: rank, seconds, kind, message."""


@pytest.mark.parametrize(
    ("how", "kinds", "told"),
    [
        ("raises", {"PeerFailedError"}, "rank 3 failed: ValueError: an accident of the user's own"),
        ("exits", {"PeerFailedError"}, "rank 3 failed: SystemExit"),
        ("is stopped", {"DeadlineError", "PeerFailedError"}, "rank 3 is stopped (process "),
    ],
)
def test_what_befalls_a_rank_midway_is_told_by_all_others(how, kinds, told, program):
    """The limit of a wait is 3 s."""
    run = program(4, "endings.py", f"{how} midway", limit=45)
    assert run.returncode != 0
    heard = {int(rank): rest for rank, *rest in SAID.findall(run.stderr)}
    assert set(heard) == {0, 1, 2}, run.stdout + run.stderr
    for seconds, kind, message in heard.values():
        assert float(seconds) < 3 + 2
        assert kind in kinds
        assert told in message
        assert "all_reduce by ring on 4 ranks (call 1), step " in message
    if how == "is stopped":
        assert "itself waits for 2000 bytes from rank" in run.stderr


def test_a_rank_that_is_killed_midway(program, is_open_mpi):
    """MPICH's launcher ends the job and says so; Open MPI's leaves the others a moment."""
    started = time.monotonic()
    run = program(4, "endings.py", "is killed midway", limit=45)
    assert time.monotonic() - started < 20
    assert run.returncode != 0
    if is_open_mpi:
        assert_all_name_the_killed_rank(run.stderr)
    else:
        assert "Killed (signal 9)" in run.stdout + run.stderr


def test_those_that_survive_a_killed_rank(program, is_open_mpi):
    if not is_open_mpi:
        pytest.skip("only Open MPI's mpirun can be asked to let them")
    recovering = ["--enable-recovery"]
    try:
        told = program(4, "endings.py", "is killed midway", limit=15, options=recovering).stderr
    except subprocess.TimeoutExpired as late:  # prterun 3.0 itself may hang, its ranks long gone
        told = (late.stderr or b"").decode()
    assert_all_name_the_killed_rank(told)


def assert_all_name_the_killed_rank(told):
    heard = {int(rank): rest for rank, *rest in SAID.findall(told)}
    assert set(heard) == {0, 1, 2}, told
    for seconds, kind, message in heard.values():
        assert float(seconds) < 3 + 2
        assert kind == "PeerFailedError"
        assert "rank 3 has ended (process " in message


def test_a_caught_disagreement_poisons_but_does_not_end_the_job(program):
    run = program(3, "endings.py", "differs, and carries on")
    assert run.returncode == 0, run.stderr
    assert run.stdout.count(": told") == 3
    assert run.stdout.count(": refused") == 3


def test_what_was_given_up_on_meets_no_memory_that_is_used_again(program):
    """Rank 0's time is up, and it fills its memory anew; then rank 1 asks for the message."""
    run = program(2, "given_up.py")
    assert "rank 0: untouched" in run.stdout, run.stderr
    assert "rank 1: 14.0" in run.stdout or "rank 1: refused" in run.stdout


# ---- the wrong launcher -----------------------------------------------------------------


def test_another_mpis_mpirun_is_told_from_a_job_of_one(refcoll_script):
    """What a process sees that Open MPI's mpirun starts, and whose mpi4py loads another MPI."""
    foreign = {**os.environ, "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "0"}
    for name in ("PMI_SIZE", "PMI_RANK", "PMI_FD"):
        foreign.pop(name, None)
    run = subprocess.run(
        [refcoll_script, "verify"], env=foreign, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert run.returncode not in (0, 2)
    assert "started 4 processes" in run.stderr
    assert "use the mpirun that belongs to that MPI" in run.stderr


@pytest.mark.skipif(
    not (shutil.which("mpirun.mpich") and shutil.which("mpirun.openmpi")),
    reason="needs two MPIs on the system, as Debian's mpich and openmpi-bin install them",
)
@pytest.mark.parametrize("foreign", ["mpirun.mpich", "mpirun.openmpi"])
def test_real_foreign_launchers(foreign, refcoll_script):
    library = subprocess.run(
        [sys.executable, "-c", "from mpi4py import MPI; print(MPI.Get_library_version())"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    if ("Open MPI" in library) == foreign.endswith("openmpi"):
        pytest.skip("this launcher is of the MPI that mpi4py loads")
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    run = subprocess.run(
        [foreign, "-n", "2", refcoll_script, "verify"], capture_output=True, text=True,
        timeout=120, env={**os.environ, **allowed}, check=False,
    )  # fmt: skip
    assert run.returncode != 0
    assert "holds" not in run.stdout


# ---- many of them -----------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [3, pytest.param(2, marks=pytest.mark.long)])
def test_a_short_soak(ranks, mpirun, refcoll_script):
    run = mpirun(ranks, refcoll_script, "soak", "--operations", "50", "--seed", str(ranks))
    assert run.returncode == 0, run.stdout + run.stderr
    assert "holds: 50 operations" in run.stdout
    assert "0 hangs, 0 wrong results let through with checksums" in run.stdout


# ---- parts, whose ranks have other numbers ------------------------------------------------


def parts(program, how):
    run = program(4, "parts.py", how, limit=60)
    return json.loads(run.stdout.splitlines()[0]), run


def test_a_silent_rank_of_a_part_is_named_by_both_numbers(program):
    heard, run = parts(program, "silent")
    kind, message, culprit = heard[1][0]
    assert (kind, culprit) == ("DeadlineError", 0)
    assert (
        "rank 1 waited 2.0 s for 64 bytes from rank 0 (process 3 of the job); rank 0 (proc"
        in message
    )
    assert "gives no answer: it is busy elsewhere, and waits for nobody (process " in message
    assert [each[1] for each in heard] == [2.0, None, 2.0, None]
    assert run.returncode != 0
    assert "refcoll: the job ends with status 1, because earlier rank 1 gave up" in run.stderr


def test_a_chain_through_a_part_is_followed(program):
    """Rank 0 waits for 3, which waits for 1 in their part, where that has the number 1 too."""
    heard, _ = parts(program, "elsewhere")
    kind, message, culprit = heard[0][0]
    assert (kind, culprit) == ("DeadlineError", 1)
    assert "rank 3 itself waits for 64 bytes from rank 1, in the handshake before" in message
    assert "all_reduce (call 1) of another communicator; rank 1 gives no answer" in message


def test_a_failure_of_the_whole_reaches_its_parts(program):
    heard, _ = parts(program, "above")
    kind, message, culprit = heard[1][0]
    assert (kind, culprit) == ("PeerFailedError", 0)
    above = "in the communicator that this one was split from, rank 3 failed: ZeroDivisionError"
    assert above in message
    assert "meanwhile rank 1 waited for 64 bytes from rank 0 (process 3 of the job)" in message


def test_what_was_lent_to_a_call_that_failed_blocks_no_other(program):
    """The exit status is not 0, as after any failure."""
    run = program(2, "lent.py", limit=60)
    assert run.stdout.count("works on.") == 2, run.stderr[-3000:]
