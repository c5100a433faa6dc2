"""Which earlier call a finding needs; calls read from their words; what earlier calls have left."""

from dataclasses import replace

import numpy as np
import pytest

from corpus_judged import MAKERS, findings
from refcoll.cli.judge_replay import replay
from refcoll.errors import ArgumentError
from refcoll.oracle.calls import Call, calls
from refcoll.oracle.courts import in_process
from refcoll.oracle.history import Earlier
from refcoll.oracle.mutants.sound import Sound
from refcoll.oracle.replaying import MOST, needed, reproduced
from refcoll.oracle.reporting.groups import grouped
from refcoll.oracle.reporting.report import Report
from refcoll.oracle.reporting.setting import Setting
from refcoll.oracle.spelling import spelled
from refcoll.oracle.verdicts import Finding, Judgement, Standing

SUM, MAX = Call("all_reduce", 131), Call("all_reduce", 131, op="max")
EARLIER = [Call("all_reduce", n) for n in range(40, 60)] + [SUM, Call("scan", 9)]


def wrong(call, diagnosis="on all ranks: the sum, not the max", verdict="value"):
    return Finding(call, "coded", 0, verdict, diagnosis)


class Faulty:
    """Judges, and finds ``said`` in a call once one of ``needs`` has been judged before it."""

    def __init__(self, needs, verdict="value"):
        self.needs, self.said, self.asked = needs, wrong(MAX, verdict=verdict), []

    def __call__(self, listed):
        self.asked.append(listed)
        armed, found = not self.needs, []
        for call in listed:
            shows = armed and call == self.said.call
            found.append(Judgement(call, findings=[self.said] if shows else []))
            armed |= call in self.needs
        return found


def test_what_shows_alone_needs_nothing():
    anew = Faulty([])
    assert needed(wrong(MAX), EARLIER, 3, anew) == ()
    assert anew.asked == [reproduced(MAX, 3)]


def test_the_call_most_like_it_is_tried_first():
    anew = Faulty([SUM])
    assert needed(wrong(MAX), EARLIER, 3, anew) == (SUM,)
    assert [listed[0] for listed in anew.asked] == [MAX, SUM]


def test_of_calls_that_are_as_like_it_the_last():
    same = [Call("all_reduce", n) for n in (50, 59)]
    assert needed(wrong(MAX), EARLIER, 3, Faulty(same)) == (same[1],)


def test_no_one_call_is_enough():
    anew = Faulty([Call("broadcast", 1, op=None)])
    assert needed(wrong(MAX), EARLIER, 3, anew) is None
    assert len(anew.asked) == 1 + MOST


def test_another_verdict_is_another_finding():
    assert needed(wrong(MAX), [SUM], 3, Faulty([], "agreement")) is None


def test_the_same_diagnosis_is_better_than_another():
    """After a minimum the minimum comes; the sum was reported."""
    minimum = Call("all_reduce", 131, op="min")

    def anew(listed):
        op = {SUM: "sum", minimum: "minimum"}.get(listed[0])
        told = [wrong(MAX, f"on rank 2: the {op}, not the max")] if op else []
        return [Judgement(call, findings=told if call == MAX else []) for call in listed]

    assert needed(wrong(MAX), [SUM, minimum], 3, anew) == (SUM,)
    assert needed(wrong(MAX), [minimum], 3, anew) == (minimum,)


@pytest.mark.parametrize("size", [1, 4])
def test_every_call_is_read_from_its_words(size):
    listed = list(calls(size, thorough=True))
    assert len(listed) > 1000
    assert [spelled(str(call), size) for call in listed] == listed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("all_reduce", "write it as reports do"),
        ("all_reduce sum float32 x 3 please", "write it as reports do"),
        ("reduce_all sum float32 x 3", "there are all_reduce"),
        ("all_reduce sum float31 x 3", "of dtypes there are"),
        ("all_reduce float32 x 3", "of operators there must be one: sum"),
        ("all_gather sum float32 x 3", "of operators there are none"),
        ("all_reduce bitwise_or float32 x 3", "of operators there are sum"),
        ("reduce sum float32 x 3 to root 4", "no root 4 on 4 ranks"),
        ("all_reduce sum float32 x 3 to root 1", "no root 1"),
        ("broadcast float32 x 3 from root 0 in place", "in place there are"),
        ("all_reduce sum float32 x 3, folded", "of layouts there are"),
    ],
)
def test_what_is_no_call(words, said):
    with pytest.raises(ArgumentError, match="after=") as caught:
        spelled(words, 4)
    assert said in str(caught.value)


def test_after_a_hang_nothing_is_tried_again():
    """Ranks that are still in a call would be in the way."""
    setting = Setting("mine:make", "mine", 3, launched=False)
    ended = Finding(SUM, "any", 0, "finished", "did not finish", (Standing("still in it"),))
    for findings_, asked in (([wrong(MAX)], 1), ([wrong(MAX), ended], 0)):
        report, anew = Report(setting, judgements=[Judgement(MAX, findings=findings_)]), Faulty([])
        replay(report, anew, report.needs.__setitem__)
        assert len(anew.asked) == asked
        assert report.needs == ({wrong(MAX): ()} if asked else {})


def test_what_raised_is_tried_again_only_if_that_is_harmless():
    setting = Setting("mine:make", "mine", 3, launched=True)
    raised = wrong(MAX, "rank 1: raised", "finished")
    for harmless in (True, False):
        report, anew = Report(setting, judgements=[Judgement(MAX, findings=[raised])]), Faulty([])
        replay(report, anew, report.needs.__setitem__, raised=harmless)
        assert bool(anew.asked) == harmless


# ---- what earlier calls have left --------------------------------------------------------------


def test_results_of_the_call_before_are_known_in_the_first_run_too():
    """Two buffers in turn: each call gets what the last of the same length gave."""
    listed = [Call("all_reduce", 131, op=op) for op in ("sum", "max", "prod")]
    judged = in_process(MAKERS["WrongHalfOfDoubleBuffer"], 3, listed)
    values = [f for each in judged for f in each.findings if f.verdict == "value"]
    assert {f.call for f in values} == set(listed)
    (group,) = grouped(f for f in values if f.probe == "coded")
    assert "what the previous call" in group.simplest.diagnosis


class InputOfTheCallBefore(Sound):
    """The first call with another operator still sends rank 1's last input."""

    def __init__(self, comm):
        super().__init__(comm)
        self._last, self._op = np.zeros(0), "sum"

    def all_reduce(self, x, out, op):
        stale = self.rank == 1 and op != self._op and self._last.size == x.size
        given = self._last if stale else x
        self._last, self._op = x.copy(), op
        super().all_reduce(given, out, op)


def test_inputs_of_another_kind_of_call_are_not_compared():
    earlier = Earlier(SUM, [np.ones(131, np.float32)] * 3, None)
    assert len(earlier.inputs(replace(SUM, op="max", in_place=True))) == 3
    for other in (Call("scan", 131), Call("all_reduce", 131, "int32"), Call("all_reduce", 130)):
        assert earlier.inputs(other) is None


def test_results_are_read_as_the_bytes_of_another_dtype():
    given = [np.arange(4, dtype=np.float64), None]
    (read, nothing) = Earlier(SUM, [], None).read_as(Call("all_reduce", 8), given)
    assert (read.dtype, read.tobytes(), nothing) == (np.float32, given[0].tobytes(), None)
    assert Earlier(SUM, [], None).read_as(Call("all_reduce", 9), given) == [None, None]


def test_inputs_of_the_call_before_are_known_too():
    listed = findings(InputOfTheCallBefore, 3, SUM, MAX)
    assert ("value", "the input of rank 1 is that of the previous call of this length") in [
        (verdict, words.split(": ")[-1]) for verdict, words in listed
    ]


# ---- what goes on from call to call ------------------------------------------------------------


def test_where_several_calls_before_are_needed_it_is_soon_not_tried_which():
    """Each try is a run of its own: twelve calls before for three findings, none for the others."""
    ways = ["rotated", "zeros", "twice", "missing", "cut"]
    judged = [Judgement(call) for call in EARLIER[:15]]
    judged += [Judgement(replace(MAX, count=n), findings=[wrong(replace(MAX, count=n), way)])
               for n, way in enumerate(ways, 200)]  # fmt: skip
    report = Report(Setting("mine:make", "mine", 3, launched=False), judgements=judged)
    asked = []

    def anew(listed):
        asked.append(listed)
        return [Judgement(call) for call in listed]

    replay(report, anew, report.needs.__setitem__)
    assert list(report.needs.values()) == [None] * 5
    assert len(asked) == 3 * (1 + MOST) + 2


def test_values_of_other_calls_are_one_group_whichever_rank_has_which():
    said = [
        "on rank 1: the input of rank 0 is that of the previous call; on rank 2: rank 3 missing",
        "on all ranks: all 9 elements: what the previous call of this length gave, so stale",
        "on rank 3: elements 1-7: what the 2nd last call of this length gave, so stale memory",
    ]
    groups = grouped([*(wrong(MAX, each) for each in said), wrong(MAX, "zeros")])
    assert sorted(len(each.findings) for each in groups) == [1, 3]
