"""Programs that crash, hang or leave others behind."""

from __future__ import annotations

import os
import sys
import time

import pytest

from refcoll.testing.limited import marked, run


@pytest.mark.parametrize(
    ("program", "status", "words"),
    [
        ("pass", 0, "ended with status 0: nothing was said"),
        ("print('a'); print('b')", 0, "ended with status 0: b"),
        ("import os; os.abort()", -6, "ended by SIGABRT"),
        ("raise SystemExit(139)", 139, "ended by SIGSEGV"),  # as a launcher tells of a rank
        ("raise SystemExit('no luck')", 1, "ended with status 1: no luck"),
        ("raise SystemExit('KeyError: 3\\nmpirun has noticed that')", 1,
         "ended with status 1: KeyError: 3"),
        ("raise SystemExit('x' * 1000)", 1, f"ended with status 1: {'x' * 300}"),
    ],
)  # fmt: skip
def test_how_it_ended(program, status, words):
    ended = run([sys.executable, "-Sc", program], 60)
    assert (ended.status, ended.words()) == (status, words)


def test_it_gets_what_is_added_to_the_environment():
    assert run(["sh", "-c", "echo $GREETING"], 60, {"GREETING": "hello"}).out == "hello\n"


def test_what_is_marked_is_found_where_launchers_join_lines():
    """As MPICH's mpirun has done with two ranks."""
    assert marked('a\nfound: {"b": 1}found: [2]\nc\n\n', "found: ") == [{"b": 1}, [2]]
    assert marked("nothing", "found: ") == []


STARTS_ANOTHER = "trap '' TERM; sleep 600 & echo $!; wait; wait"


def test_what_takes_too_long_is_ended_with_all_that_it_has_started():
    """Though it will not hear of it, and what it has started holds its output open."""
    ended = run(["sh", "-c", STARTS_ANOTHER], 0.3)
    assert (ended.status, ended.words()) == (None, "did not end within 0.3 s")
    other = int(ended.out)
    for _ in range(100):
        if gone(other):
            return
        time.sleep(0.05)
    raise AssertionError("what it had started goes on")


def gone(process):
    """Whether a process has ended; somebody else may still have to take note of it."""
    try:
        os.kill(process, 0)
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True
