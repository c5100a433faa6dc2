"""What does not return, and what cannot be made, on threads: told, and left behind."""

import re
import sys
import threading
import time

import pytest

from refcoll import spawn
from refcoll.errors import ArgumentError
from refcoll.oracle.adapters.own import Own
from refcoll.oracle.calls import Call
from refcoll.oracle.courts import in_process
from refcoll.oracle.endings import HANGS
from refcoll.oracle.hanging import hang, places
from refcoll.oracle.making import NotMadeError, made
from refcoll.oracle.verdicts import Standing
from refcoll.oracle.watchdog import MOST, Watch, under

SHORT, LONG, NEXT = Call("all_reduce", 5), Call("all_reduce", 200), Call("all_reduce", 6)
RAISED = "raised OSError: unplugged"


@pytest.fixture
def hanging():
    """Makes implementations that do not return on some ranks, where the vector is long, and do
    nothing on the others; what they wait for comes when the test has ended."""
    end = threading.Event()

    def make(ranks, what="wait"):
        class Hangs(Own):
            def all_reduce(self, x, out, op):
                if x.size < 100:
                    super().all_reduce(x, out, op)
                elif self.comm.rank in ranks:
                    getattr(self, what)()

            def wait(self):
                end.wait()

            def loop(self):
                while not end.is_set():
                    pass

            def deeply(self, depth=30):
                if depth:
                    self.deeply(depth - 1)
                end.wait()

        return Hangs

    yield make
    end.set()


def judged(make, *calls, limit=0.5, **how):
    return in_process(make, 3, calls or (SHORT, LONG, NEXT), limit=limit, timeout=30, **how)


@pytest.mark.parametrize(("ranks", "others"), [({1}, "ranks 0, 2"), ({0, 2}, "rank 1")])
def test_a_call_that_does_not_return_is_the_last_one_and_says_who_is_in_it(hanging, ranks, others):
    told = []
    right, wrong = judged(hanging(ranks), on_judgement=told.append)
    assert told == [right, wrong]
    assert right.right
    assert not right.last
    assert wrong.last
    assert wrong.hangs
    (finding,) = wrong.findings
    assert (finding.call, finding.verdict, finding.probe) == (LONG, "finished", "any")
    assert finding.diagnosis.startswith("did not finish within 0.5 s: rank")
    assert finding.diagnosis.endswith(f": still in it; {others}: returned")
    assert {r for r, each in enumerate(finding.standing) if each.status == HANGS} == ranks


def test_where_all_ranks_hang_they_are_told_of_together(hanging):
    (_, wrong) = judged(hanging({0, 1, 2}))
    (finding,) = wrong.findings
    assert finding.diagnosis == "did not finish within 0.5 s: ranks 0-2: still in it"
    first, *stack = places(finding.standing)
    assert first == "ranks 0-2, innermost last:"
    assert re.search(r"test_hanging\.py:\d+ in all_reduce: getattr\(self, what\)\(\)$", stack[0])
    assert re.search(r"test_hanging\.py:\d+ in wait: end\.wait\(\)$", stack[1])
    assert "threading.py" in stack[-1]


def test_an_endless_loop_is_told_of_too(hanging):
    (_, wrong) = judged(hanging({1}, "loop"))
    (stack,) = [each.stack for each in wrong.findings[0].standing if each.stack]
    assert any(" in loop: " in frame for frame in stack)


def test_of_a_deep_stack_both_ends_are_told(hanging):
    (_, wrong) = judged(hanging({1}, "deeply"))
    stack = wrong.findings[0].standing[1].stack
    assert len(stack) == MOST + 1
    assert " in all_reduce: " in stack[0]
    assert stack[MOST // 2] == "..."
    assert "threading.py" in stack[-1]


def test_how_a_call_before_ended_is_not_told_of_one_that_hangs(hanging):
    class Both(hanging({1})):
        def all_reduce(self, x, out, op):
            if x.size == NEXT.count:
                unplugged()
            super().all_reduce(x, out, op)

    wrong, last = judged(Both, NEXT, LONG)
    assert wrong.findings[0].diagnosis == f"ranks 0-2: {RAISED}"
    diagnosis = last.findings[0].diagnosis
    assert diagnosis == "did not finish within 0.5 s: rank 1: still in it; ranks 0, 2: returned"


def test_what_is_slow_but_returns_in_time_is_right():
    class Slow(Own):
        def all_reduce(self, x, out, op):
            time.sleep(0.02)
            super().all_reduce(x, out, op)

    (one,) = judged(Slow, SHORT, limit=5)
    assert one.right


def test_ranks_that_wait_in_the_next_try_are_told_apart_from_those_they_wait_for():
    here, there = ("f.py:1 in f: loop()",), ("f.py:2 in f: wait()",)
    standing = [Standing(HANGS, there, 2), Standing(HANGS, here, 1), Standing("done", tries=3)]
    (finding,) = hang(LONG, 0, 3.0, standing).findings
    assert finding.diagnosis == (
        "did not finish within 3 s: rank 1: still in it; rank 0: returned, now in the next try; "
        "rank 2: returned"
    )
    assert [line for line in places(finding.standing) if "rank" in line] == [
        "rank 1, innermost last:", "rank 0, innermost last:",
    ]  # fmt: skip


def test_the_same_place_is_said_once():
    here = ("f.py:1 in f: g()",)
    lines = [*places([Standing(HANGS, here), Standing("done"), Standing(HANGS, here)])]
    assert lines == ["ranks 0, 2, innermost last:", "   f.py:1 in f: g()"]


# ---- how a rank stands -------------------------------------------------------------------------


def test_a_rank_is_said_to_have_ended_as_it_did_when_it_first_went_wrong():
    watch = Watch()
    assert watch.standing().status == "not called yet"
    with watch.watching():
        pass
    for error in (OSError("unplugged"), RuntimeError("no such file")):
        with pytest.raises(type(error)), watch.watching():
            raise error
    assert watch.standing() == Standing(RAISED, tries=3)
    watch.met()
    with watch.watching():
        assert not watch.hangs(60)
        assert watch.hangs(-1)
        assert (watch.standing().status, watch.standing().tries) == (HANGS, 1)
    assert watch.standing() == Standing("done")
    assert not watch.hangs(-1)


def test_a_refusal_is_no_failure():
    watch = Watch()
    with pytest.raises(NotImplementedError), watch.watching():
        raise NotImplementedError("no min")
    assert watch.standing().status == "refused: no min"


def test_a_crash_would_show_what_was_being_done():
    assert under("rank 1: a scan", lambda: sys._getframe(1).f_code.co_name) == "rank 1: a scan"


# ---- making ------------------------------------------------------------------------------------


def unplugged():
    raise OSError("unplugged")


def all_made(make):
    return spawn(3, lambda comm: made(comm, lambda: make(comm.rank), Watch()))


def test_what_every_rank_makes_every_rank_has():
    assert all_made(lambda rank: f"of {rank}") == ["of 0", "of 1", "of 2"]


def test_who_could_not_make_it_is_told_to_all_with_the_place():
    told = []

    def on_rank(comm):
        with pytest.raises(NotMadeError) as caught:
            made(comm, unplugged if comm.rank == 1 else object, Watch())
        told.append(str(caught.value))

    spawn(3, on_rank)
    assert len(told) == 3
    (words,) = set(told)
    pattern = rf"rank 1: {RAISED} \(test_hanging\.py, line \d+\); ranks 0, 2: returned"
    assert re.fullmatch(pattern, words)


def test_nothing_is_no_implementation():
    with pytest.raises(NotMadeError, match=r"ranks 0-2: returned None: make\(\) must return"):
        all_made(lambda rank: None)


def test_what_is_wrong_with_the_arguments_of_all_ranks_is_raised_as_it_is():
    def make(rank):
        raise ArgumentError("implementation='x' does not exist")

    with pytest.raises(ArgumentError) as caught:
        all_made(make)
    assert str(caught.value) == "implementation='x' does not exist"


def test_what_cannot_be_made_is_not_judged(hanging):
    def make(comm):
        return unplugged() if comm.rank == 2 else Own(comm)

    with pytest.raises(NotMadeError, match=f"rank 2: {RAISED}"):
        judged(make)


def test_making_it_may_hang():
    end = threading.Event()

    def make(comm):
        return end.wait() if comm.rank == 1 else Own(comm)

    with pytest.raises(NotMadeError) as caught:
        judged(make)
    end.set()
    first, ranks, place, *_ = str(caught.value).splitlines()
    assert first == "make() did not finish within 0.5 s: rank 1: still in it; ranks 0, 2: returned"
    assert ranks == "rank 1, innermost last:"
    assert " in make: return end.wait() if " in place


def test_what_cannot_be_made_again_ends_the_run_with_what_was_found():
    times = {0: 0, 1: 0, 2: 0}

    class Breaks(Own):
        def __init__(self, comm):
            times[comm.rank] += 1
            if times[comm.rank] > 1 and comm.rank == 2:
                raise RuntimeError("there can be one only")
            super().__init__(comm)

        def all_reduce(self, x, out, op):
            if x.size > 100:
                unplugged()
            super().all_reduce(x, out, op)

    right, wrong = judged(Breaks)
    assert right.right
    first, again = wrong.findings
    assert first.diagnosis == f"ranks 0-2: {RAISED}"
    assert again.verdict == "finished"
    assert again.diagnosis.startswith(
        "after that, it could not be made again: rank 2: raised RuntimeError: there can be one only"
    )
    assert wrong.last
    assert not wrong.hangs
