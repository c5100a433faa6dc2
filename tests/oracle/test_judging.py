"""Each verdict can fail, and each way of not doing a call is told from the others."""

import time

import pytest

from refcoll import spawn
from refcoll.errors import PeerFailedError
from refcoll.oracle.adapters.own import Own
from refcoll.oracle.calls import MISALIGNED, STRIDED, Call
from refcoll.oracle.courts import in_process
from refcoll.oracle.endings import HANGS, SILENT, ended, failed
from refcoll.oracle.judging import VERDICTS, Judge
from refcoll.oracle.mutants import MUTANTS
from refcoll.oracle.mutants.sound import Sound

CALL = Call("all_reduce", 37)
FAILING = {
    "value": "RingStopsEarly", "agreement": "OwnFirst", "repeatability": "OrderOfArrival",
    "input untouched": "WorksInTheInput", "guards intact": "WritesWholeVectors",
    "finished": "RaisesOnOneRank",
}  # fmt: skip


def judged(make, *calls, size=4, **how):
    return in_process(make, size, calls or (CALL,), **({"timeout": 30} | how))


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_can_fail(verdict):
    (mutant,) = [each for each in MUTANTS if each.name == FAILING[verdict]]
    (one,) = judged(mutant.make, timeout=0.3 if verdict == "finished" else 30)
    assert {finding.verdict for finding in one.findings} == {verdict}
    assert not one.right
    assert str(one.findings[0]).startswith("all_reduce sum float32 x 37, ")
    assert f": {verdict}: " in str(one.findings[0])


def test_what_is_right_is_right():
    (one,) = judged(Sound)
    assert one.right
    assert one.probes == ("coded", "rough", "special", "tiny", "huge")


class Without(Sound):
    all_reduce = None


class Refusing(Sound):
    def all_reduce(self, x, out, op):
        raise NotImplementedError("not in this version")


class Asked(Sound):
    def unsupported(self, call):
        return "no float32" if call.dtype == "float32" else None


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (Without, "there is no all_reduce"),
        (Refusing, "not in this version"),
        (Asked, "no float32"),
    ],
)
def test_what_is_not_supported_is_skipped(make, reason):
    (one,) = judged(make)
    assert one.skipped == reason
    assert not one.right
    assert not one.findings


class SideBySide:
    """Says nothing of layouts, and so takes what lies side by side."""

    def __init__(self, comm):
        self.broadcast = Sound(comm).broadcast


@pytest.mark.parametrize("layout", [STRIDED, MISALIGNED])
def test_layouts_are_not_tried_unless_they_are_declared(layout):
    call = Call("broadcast", 5, op=None, layout=layout)
    (one,) = judged(SideBySide, call)
    assert one.skipped == f"{layout} arrays are not among its layouts"
    assert judged(SideBySide, Call("broadcast", 5, op=None))[0].right
    assert judged(Sound, call)[0].right
    only = type("Only", (Sound,), {"layouts": (STRIDED,)})
    assert judged(only, call)[0].right == (layout == STRIDED)


class FailsOnce(Sound):
    """Of no more use after an error; another one is."""

    def __init__(self, comm):
        super().__init__(comm)
        self.poisoned = False

    def all_reduce(self, x, out, op):
        if op == "prod":
            self.poisoned = True
        if self.poisoned:
            raise RuntimeError("poisoned")
        super().all_reduce(x, out, op)


def test_after_an_error_the_implementation_is_made_anew():
    found = judged(FailsOnce, Call("all_reduce", 5, op="prod"), CALL)
    assert [each.right for each in found] == [False, True]
    assert "ranks 0-3: raised RuntimeError: poisoned" in found[0].findings[0].diagnosis


def test_the_first_wrong_call_may_be_the_last():
    found = judged(FailsOnce, Call("all_reduce", 5, op="prod"), CALL, first_only=True)
    assert len(found) == 1


def test_judgements_are_told_as_they_come():
    told = []
    found = judged(Sound, CALL, Call("scan", 3), on_judgement=told.append)
    assert told == found


def test_all_ranks_come_to_the_same_verdict():
    (mutant,) = [each for each in MUTANTS if each.name == "ReadsPastTheEnd"]

    def on_rank(comm):
        group = comm.split(0)
        judge = Judge(comm, lambda: mutant.make(group))
        return [str(each) for each in judge.judge(Call("broadcast", 37, op=None)).findings]

    found = spawn(3, on_rank)
    assert found[0] == found[1] == found[2] != []


def test_own_algorithms_of_another_collective_are_not_judged():
    (one,) = judged(lambda comm: Own(comm, "ring"), Call("scan", 4))
    assert one.skipped == "no ring scan"


def test_what_was_raised_comes_before_who_waited_for_it():
    late = failed(TimeoutError("rank 0 waited for rank 1"))
    gone = failed(PeerFailedError("rank 1 has ended"))
    said = ended([late, failed(TypeError("no")), gone, "done"])
    assert said == (
        "rank 1: raised TypeError: no; ranks 0, 2: did not return, but for its deadline; "
        "rank 3: returned"
    )


def test_where_nobody_is_to_blame_one_of_those_who_waited_says_what_for():
    said = ended([failed(TimeoutError("rank 0 waited for rank 1")), "done"])
    assert said == (
        "rank 0: did not return, but for its deadline: TimeoutError: rank 0 waited for rank 1; "
        "rank 1: returned"
    )


def test_who_has_not_returned_comes_after_what_was_raised():
    statuses = ["done", SILENT, HANGS, failed(ValueError("no")), HANGS]
    said = ended(statuses)
    assert said.startswith("rank 3: raised ValueError: no; rank 1: gives no answer: ")
    assert said.endswith("; ranks 2, 4: still in it; rank 0: returned")


def test_messages_of_several_lines_become_one():
    assert failed(ValueError("one\n  two\nthree")) == "raised ValueError: one two three"


def test_who_refused_comes_before_who_waited():
    said = ended([failed(TimeoutError("late")), "refused: no kernel"])
    assert said.startswith("rank 1: refused: no kernel; rank 0: did not return")
    said = ended(["refused: no kernel", failed(TypeError("no"))])
    assert said == "rank 1: raised TypeError: no; rank 0: refused: no kernel"


def test_outputs_are_judged_where_they_are_and_are_not_in_place():
    """reduce_scatter in place gives its result at the start of the buffer, as MPI has it."""
    (one,) = judged(Sound, Call("reduce_scatter", 5, in_place=True))
    assert one.right


def test_a_result_that_is_right_but_has_other_bits_on_a_rank_is_told_with_an_example():
    (mutant,) = [each for each in MUTANTS if each.name == "OneRankWider"]
    (one,) = judged(mutant.make, Call("all_reduce", 131))
    said = one.findings[0].diagnosis
    assert "the ranks have not the same bits: they differ in" in said
    assert "element 0 is, on rank 0: 1012.03" in said


def test_a_judgement_is_told_before_any_rank_is_in_the_next_call():
    """That may crash, and take with it what was not told."""
    begun, told = set(), []

    class Noting(Sound):
        def all_reduce(self, x, out, op):
            begun.add(x.size)
            super().all_reduce(x, out, op)

    def on_judgement(judgement):
        time.sleep(0.3)  # in which ranks would go on, if they could
        told.append((judgement.call.count, max(begun)))

    listed = [Call("all_reduce", count, "int32", "max") for count in (5, 6, 7)]
    in_process(Noting, 3, listed, on_judgement=on_judgement)
    assert told == [(5, 5), (6, 6), (7, 7)]
