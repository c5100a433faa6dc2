"""What a report tells of judgements: made up here, so that the right answer is known."""

import re
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from markdown_it import MarkdownIt

import refcoll
from refcoll.cli.judge_report import Telling
from refcoll.errors import ArgumentError
from refcoll.oracle.calls import Call
from refcoll.oracle.endings import HANGS
from refcoll.oracle.hanging import hang
from refcoll.oracle.judging import VERDICTS, Finding, Judgement
from refcoll.oracle.monitoring import Row, Traffic, _row
from refcoll.oracle.reporting.as_json import as_json
from refcoll.oracle.reporting.markdown import as_markdown
from refcoll.oracle.reporting.report import Report
from refcoll.oracle.reporting.setting import Setting
from refcoll.oracle.reporting.summary import counts_tried, not_supported, verdicts_failed
from refcoll.oracle.verdicts import Standing
from refcoll.oracle.xfails import Xfails, parsed, read

PAGE = Path(__file__).parents[2] / "docs" / "json.md"
TYPED = ("judge", "mine:make", "-c", "all_reduce,scan", "--xfails", "what I know.txt")
SETTING = Setting("mine:make", "mylib 1.2", 4, launched=True, seed=5, typed=TYPED)
SUM = Call("all_reduce", 131)
MIN = Call("all_reduce", 1024, op="min")


def wrong(call, diagnosis, probe="coded", verdict="value"):
    return Judgement(call, findings=[Finding(call, probe, 5, verdict, diagnosis)])


@pytest.fixture(autouse=True)
def no_steering(monkeypatch):
    for name in ("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "OMPI_MCA_coll_tuned_use_dynamic_rules"):
        monkeypatch.delenv(name, raising=False)


def report(*judgements, xfails=""):
    return Report(SETTING, parsed(xfails), list(judgements))


def test_all_right_holds_and_says_on_what():
    made = report(Judgement(SUM), Judgement(MIN, skipped="no min"))
    assert made.holds
    assert made.verdict == "holds: 1 call right, 1 not supported, on 4 ranks of mylib 1.2"


def test_the_verdict_of_a_failure_is_its_first_diagnosis():
    made = report(Judgement(SUM), wrong(MIN, "on rank 2: zeros in elements 0-3"))
    assert not made.holds
    assert made.verdict == (
        "FAILS: 1 of 2 calls on 4 ranks of mylib 1.2: all_reduce min float32 x 1024, coded "
        "inputs: value: on rank 2: zeros in elements 0-3"
    )


def test_nothing_tried_does_not_hold():
    made = report(Judgement(SUM, skipped="there is no all_reduce"))
    assert not made.holds
    assert made.verdict.startswith("FAILS: nothing could be tried")
    assert made.verdict.endswith("there is no all_reduce")


def test_findings_that_differ_in_numbers_are_one_group_with_the_smallest_call():
    made = report(
        wrong(MIN, "on rank 2: elements 0-3 (chunk 0 of 4): the maximum, not the min"),
        wrong(SUM, "on ranks 0-1: element 17: the maximum, not the min"),
        wrong(SUM, "on all ranks: zeros in elements 4, 5, ..."),
    )
    first, second = made.groups()
    assert (len(first.findings), len(second.findings)) == (2, 1)
    assert first.simplest.call == SUM
    assert first.others() == "1 call more like it: all_reduce; min, sum; float32"
    assert second.others() == ""


def simplest(*calls):
    """Of calls with the same fault, the one that is shown."""
    (group,) = report(*(wrong(call, "x") for call in calls)).groups()
    return group.simplest.call


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (Call("all_reduce", 131), Call("all_reduce", 1, op="min")),
        (Call("broadcast", 131, op=None), Call("all_reduce", 1, op="max")),
        (Call("all_reduce", 0), Call("all_reduce", 1)),
        (Call("scan", 9), Call("all_reduce", 10)),
        (Call("all_reduce", 131), Call("all_reduce", 1, layout="strided")),
        (Call("all_reduce", 9), Call("all_reduce", 9, "int32")),
        (Call("all_reduce", 9, "float64"), Call("all_reduce", 9, "bfloat16")),
        (Call("all_reduce", 9, "int8"), Call("all_reduce", 9, "int8", in_place=True)),
        (Call("all_reduce", 9, "int8"), Call("all_reduce", 10)),
        (Call("reduce", 9, root=3), Call("reduce", 9, in_place=True)),
    ],
)
def test_the_simplest_call_is_shown(better, worse):
    assert simplest(worse, better) == simplest(better, worse) == better


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("on rank 2: uint8 compared as int8", "on all ranks: uint64 compared as int64", True),
        ("on rank 0: zeros in elements 0, 2-3, 7, ...", "on rank 3: zeros in element 4", True),
        (
            "on rank 0: zeros in elements 4-7 (chunk 1 of 2)",
            "on rank 1: zeros in all 8 elements",
            True,
        ),
        ("on rank 0: the first is np.float32(1.5)", "on rank 1: the first is np.int8(-7)", True),
        ("on rank 0: rank 1 missing", "on rank 0: rank 1 twice", False),
        ("on rank 0: uint8 compared as int8", "on rank 0: int8 compared as uint8", False),
    ],
)
def test_which_diagnoses_are_alike(one, other, alike):
    assert (len(report(wrong(SUM, one), wrong(MIN, other)).groups()) == 1) == alike


def test_a_call_that_is_wrong_on_several_inputs_counts_once():
    judged = wrong(SUM, "x")
    judged.findings += wrong(SUM, "x", "rough").findings
    (group,) = report(judged).groups()
    assert (len(group.calls), group.others()) == (1, "wrong with rough inputs, too")
    assert report(judged).verdict.startswith("FAILS: 1 of 1 call on")


def test_other_inputs_are_not_told_of_where_coded_ones_say_it_already():
    """But they are where these are right, or where another verdict fails, or is not declared."""
    judged = wrong(SUM, "rank 2 missing")
    judged.findings += wrong(SUM, "a NaN that was lost", "special").findings
    judged.findings += wrong(SUM, "overflow", "huge").findings
    judged.findings += wrong(SUM, "wrote up to", "rough", "guards intact").findings
    alone = wrong(MIN, "a NaN that was lost", "special")
    missing, guards, lost = report(judged, alone).groups()
    assert missing.simplest.diagnosis == "rank 2 missing"
    assert missing.others() == "wrong with special, huge inputs, too"
    assert (lost.calls, lost.others()) == ([MIN], "")
    assert guards.simplest.verdict == "guards intact"
    other = wrong(SUM, "wrote up to", verdict="guards intact")
    other.findings += wrong(SUM, "a NaN that was lost", "special").findings
    assert [each.others() for each in report(other).groups()] == ["", ""]
    known = report(judged, xfails="* sum * * coded")
    assert [each.simplest.probe for each in known.groups()] == ["special", "huge", "rough"]
    (group,) = [each for each in as_json(report(judged))["groups"] if each["besides"]]
    assert group["besides"] == ["huge", "special"]


def test_deadlines_are_alike_whoever_waited_for_whom():
    waits = "did not return, but for its deadline: DeadlineError: rank {} waited for rank {}"
    one = wrong(SUM, f"rank 0: {waits.format(0, 1)}", verdict="finished")
    other = wrong(MIN, f"ranks 1-2: {waits.format(1, 3)}, in the handshake", verdict="finished")
    assert len(report(one, other).groups()) == 1


# ---- what hangs ----------------------------------------------------------------------------------

STANDING = [Standing(HANGS, ("mine.py:7 in all_reduce: self.wait()",)), Standing("done")]


def stopped(xfails=""):
    """The first of three calls has not returned; before that two were wrong otherwise."""
    made = report(wrong(SUM, "x"), wrong(MIN, "x"), hang(SUM, 5, 3.0, STANDING), xfails=xfails)
    made.asked = 7
    return made


def test_a_hang_is_told_first_and_that_the_rest_was_not_judged():
    made = stopped()
    said = "did not finish within 3 s: rank 0: still in it; rank 1: returned"
    assert made.stopped == "stopped after 3 of 7 calls; the rest was not judged"
    assert made.groups()[0].simplest.diagnosis == said
    assert made.verdict.endswith(f"all_reduce sum float32 x 131, any inputs: finished: {said}")
    told = as_json(made)
    assert told["stopped"] == made.stopped
    assert told["calls"][2]["findings"][0]["standing"] == [
        {"status": "still in it", "stack": ("mine.py:7 in all_reduce: self.wait()",)},
        {"status": "done", "stack": ()},
    ]
    text = as_markdown(made)
    assert "It stopped after 3 of 7 calls; the rest was not judged." in text
    assert "```text\nrank 0, innermost last:\n   mine.py:7 in all_reduce: self.wait()\n" in text


def test_what_an_error_says_is_no_markup():
    """Rendered by markdown-it, which rich brings, all of it is there, and nothing is emphasised."""
    words = "rank 1: raised TypeError: <Mine> has no __add__, *args or `out` in all_reduce"
    text = as_markdown(report(wrong(SUM, words, verdict="finished")))
    quote = next(line for line in text.splitlines() if line.startswith("> "))
    (inline,) = MarkdownIt().parseInline(quote.removeprefix("> "))
    assert {each.type for each in inline.children} <= {"text", "text_special"}
    assert "".join(each.content for each in inline.children) == words


def test_what_was_not_judged_does_not_hold_though_all_that_failed_is_declared():
    made = stopped(xfails="all_reduce")
    assert not made.holds
    assert made.verdict == (
        "FAILS: stopped after 3 of 7 calls; the rest was not judged, 3 failing as declared, on 4 "
        "ranks of mylib 1.2"
    )


def test_a_run_that_came_to_its_end_has_not_stopped():
    made = report(Judgement(SUM))
    assert (made.stopped, as_json(made)["stopped"]) == (None, None)
    made.asked = 1
    assert made.stopped is None
    assert made.holds


def test_the_same_words_of_another_verdict_are_another_group():
    made = report(wrong(SUM, "x"), wrong(SUM, "x", verdict="agreement"))
    assert len(made.groups()) == 2
    assert made.verdicts() == {**dict.fromkeys(VERDICTS, 0), "value": 1, "agreement": 1}


def test_reproducers_name_the_call_the_ranks_the_seed_and_what_steers_the_library(monkeypatch):
    finding = wrong(SUM, "x").findings[0]
    assert report().reproducer(finding) == (
        "mpirun -n 4 refcoll judge mine:make -c all_reduce --dtype float32 --op sum --count 131 "
        "--seed 5"
    )
    monkeypatch.setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1")
    monkeypatch.setenv("MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "set by mpirun")
    assert report().reproducer(finding).startswith("OMPI_MCA_coll_tuned_use_dynamic_rules=1 mpi")
    alone = Report(Setting("refcoll", "refcoll ring", 3, False, options=("-a", "ring")))
    moved = Call("gather", 1, op=None)
    assert alone.reproducer(wrong(moved, "x").findings[0]).endswith(
        "refcoll judge refcoll -a ring -n 3 -c gather --dtype float32 --count 1 --seed 5"
    )


# ---- declared failures -----------------------------------------------------------------------


def test_declared_failures_hold_and_others_beside_them_do_not():
    pattern = "all_reduce min float*  # known"
    made = report(wrong(MIN, "x"), Judgement(SUM), xfails=pattern)
    assert made.holds
    assert "1 call right, 1 failing as declared" in made.verdict
    assert not report(wrong(MIN, "x"), wrong(SUM, "y"), xfails=pattern).holds
    assert [g.simplest.call for g in made.groups(declared=True)] == [MIN]


@pytest.mark.parametrize(
    ("pattern", "covered"),
    [
        ("all_reduce", True), ("* sum,min", True), ("* max", False), ("scan", False),
        ("* * float64", False), ("* * float32 131", False), ("* * * 1024", True),
        ("all_* m?n float* * special", True), ("* min * * coded,rough", False), ("* -", False),
        ("* * * * * value", True), ("* * * * special agreement,guards-intact", False),
    ],
)  # fmt: skip
def test_patterns(pattern, covered):
    finding = wrong(MIN, "x", "special").findings[0]
    assert (parsed(pattern).reason(finding) is not None) == covered


def test_a_dash_is_no_operator():
    moved = Call("broadcast", 4, op=None)
    assert parsed("* - *").reason(wrong(moved, "x").findings[0]) == "* -"


def test_patterns_that_are_not_needed_are_told_but_only_where_calls_were_tried():
    needed = parsed("all_reduce min\nall_reduce sum\nscan # elsewhere\n* prod")
    judgements = [wrong(MIN, "x"), Judgement(SUM), Judgement(Call("scan", 1), skipped="no")]
    assert [str(each) for each in needed.unneeded(judgements)] == ["all_reduce sum"]
    made = Report(SETTING, needed, judgements)
    assert as_json(made)["xpass"] == ["all_reduce sum"]
    assert "XPASS: `all_reduce sum`" in as_markdown(made)


def test_comments_and_empty_lines_are_no_patterns():
    assert parsed("# nothing\n\n   # either\n") == Xfails([])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("allreduce", "line 1: 'allreduce' is no collective"),
        ("\nscan a b c d e f", "line 2: 7 words"),
    ],
)
def test_what_is_no_pattern_is_refused_with_its_line(text, said):
    with pytest.raises(ArgumentError, match=said):
        parsed(text, "mine.txt")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ArgumentError, match="cannot be read"):
        read(tmp_path / "none")
    assert read(None) == Xfails()


# ---- files -----------------------------------------------------------------------------------


def test_the_keys_of_the_json_are_documented():
    made = report(wrong(MIN, "x"), wrong(SUM, "y"), hang(MIN, 5, 3.0, STANDING), xfails="* sum")
    made.traffic = Traffic([Row(8, [[0, 8], [8, 0]], 8)])
    _, _, section = PAGE.read_text().partition("**`refcoll judge`**")
    section = section.partition("\n\n**")[0]
    documented = set(re.findall(r"`(\w+)`", section))
    assert keys(as_json(made)) <= documented


def keys(content):
    if isinstance(content, list):
        return set().union(*map(keys, content))
    if not isinstance(content, dict):
        return set()
    named = {k for k in content if k.isidentifier()}
    if "all_reduce" in content or "value" in content or "python" in content:
        named = set()  # by collective, by verdict, by what the environment has
    return named.union(*map(keys, content.values()))


def test_markdown_has_what_an_issue_needs():
    missing = Judgement(Call("scan", 1), skipped="neither | nor")
    text = as_markdown(report(wrong(MIN, "on rank 2: a|b"), Judgement(SUM), missing))
    assert text.startswith("**FAILS: 1 of 2 calls on 4 ranks of mylib 1.2")
    for part in (
        "| numpy |", "| refcoll |", "| python |", "| platform |", "| all_reduce | 2 | 1 | 1 |",
        "| value | 1 |", "> on rank 2: a|b", "Not supported: 1 call: neither | nor (1)",
        "```sh\nmpirun -n 4 refcoll judge mine:make -c all_reduce,scan --xfails "
        "'what I know.txt'\n```",
        "mpirun -n 4 refcoll judge mine:make -c all_reduce --dtype float32 --op min --count 1024",
    ):  # fmt: skip
        assert part in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in rows} == {3, 5}  # two columns, or four
    assert "agreement" not in text


def test_where_nothing_fails_there_is_no_table_of_failures():
    assert verdicts_failed(report(Judgement(SUM))) == []
    assert "calls that fail in it" not in as_markdown(report(Judgement(SUM)))
    assert verdicts_failed(report(wrong(SUM, "x", verdict="agreement"))) == [["agreement", "1"]]


def test_the_version_of_the_mpi_in_use_is_told(monkeypatch):
    monkeypatch.delitem(sys.modules, "mpi4py.MPI", raising=False)
    assert "MPI" not in SETTING.environment()
    library = SimpleNamespace(Get_library_version=lambda: "MPICH Version:      5.0.2\n...")
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", library)
    assert SETTING.environment()["MPI"] == "MPICH 5.0.2"


def test_collectives_that_are_not_there_are_no_rows_but_one_line():
    absent = [
        Judgement(Call(name, 1), skipped=f"there is no {name}") for name in ("scan", "exscan")
    ]
    partly = Judgement(Call("reduce", 1, op="max"), skipped="no max")
    made = report(Judgement(SUM), Judgement(Call("reduce", 1)), partly, *absent, absent[0])
    header, rows = counts_tried(made)
    assert header == ("collective", "calls", "right", "failed", "unsupported")
    assert rows == [["all_reduce", "1", "1", "0", "0"], ["reduce", "2", "1", "0", "1"]]
    assert not_supported(made) == (
        "not supported: 4 calls: there is no scan, exscan (3), no max (1)"
    )
    assert set(as_json(made)["counts"]) == {"all_reduce", "reduce", "scan", "exscan"}
    assert not_supported(report(Judgement(SUM))) is None


def around(nbytes):
    """Each of four ranks sends so many to the next."""
    return [[nbytes if to == (rank + 1) % 4 else 0 for to in range(4)] for rank in range(4)]


class CountedRing:
    """refcoll's ring on so many ranks, of which rank 0 is seen by a counter as Open MPI has it."""

    def __init__(self, size):
        self.size, self.total = size, np.zeros(size, np.uint64)

    def all_reduce(self, x, out, op):
        counted = refcoll.count(refcoll.program("all_reduce", "ring", self.size), x.size)
        for (source, to), elements in counted.links.items():
            self.total[to] += np.uint64(x.itemsize * elements * (source == 0))

    def read(self):
        return self.total.copy()

    def allgather(self, sent):
        """As all ranks of a ring send alike, each to its neighbour."""
        return [np.roll(sent, rank).tolist() for rank in range(self.size)]


@pytest.mark.parametrize("size", [2, 3, 4, 7])
def test_a_ring_sends_the_lower_bound(size):
    """2(N-1)/N S, of which S is a multiple of N elements."""
    ring = CountedRing(size)
    ring.total += np.uint64(77)  # sent before
    row = _row(ring, ring, ring, 1000)
    assert row.nbytes >= 1000
    assert row.nbytes % (4 * size) == 0
    assert row.lower_bound == Fraction(2 * (size - 1), size) * row.nbytes
    assert row.most == row.lower_bound
    assert [sum(each) for each in row.sent] == [row.lower_bound] * size


def test_traffic_says_whether_it_is_optimal():
    ring = Row(4000, around(6000), 6000)
    tree = Row(4000, around(8000), 6000)
    hidden = Row(4000, [[0, 0, 0, 0]] * 4, 6000)
    gathered = Row(4000, [[0, 4000, 0, 0], *[[4000, 0, 0, 0]] * 3], 6000)
    assert gathered.most == 12_000  # which rank 0 receives
    lines = [line for line in Traffic([ring, tree, hidden]).lines() if "S = 4000" in line]
    assert lines[0].endswith("lower bound 2(N-1)/N S = 6000; bandwidth-optimal")
    assert lines[1].endswith("1.33 times that")
    assert lines[2].endswith("not all of it went by messages")


# ---- what crashes --------------------------------------------------------------------------------


def test_a_crash_is_told_first_and_a_later_one_leaves_what_all_calls_gave(tmp_path, capsys):
    """While calls are judged it is the next one's; behind them commands stay untried."""
    path = tmp_path / "r.md"
    for done, cut in (([wrong(SUM, "x")], False), ([wrong(SUM, "x"), wrong(MIN, "x")], True)):
        telling = Telling(None, path)
        telling.bars = False
        telling.begin(Report(SETTING), [SUM, MIN])
        for each in done:
            telling.judged(each)
        telling.crashed("the job ended")
        assert not telling.end()
        told = as_json(telling.report)
        words = "it ended while findings were tried again: commands are untried"
        assert told["cut"] == (words if cut else None)
        assert (f"I{words[1:]}." in path.read_text()) == (words in capsys.readouterr().out) == cut
        first = telling.report.groups()[0].simplest
        assert (first.call, first.diagnosis) == ((SUM, "x") if cut else (MIN, "the job ended"))


def in_five_ways(calls):
    """As many judgements, all of them wrong."""
    ways = ["rotated", "zeros", "twice", "missing", "cut"]
    return [wrong(Call("all_reduce", 200 + n), ways[n % len(ways)]) for n in range(calls)]


def test_where_nearly_all_is_wrong_from_one_call_on_it_is_told_where_that_begins():
    right = [Judgement(Call("all_reduce", n)) for n in range(3)]
    missing = Judgement(Call("scan", 1), skipped="no scan")
    made = report(*right, *in_five_ways(8), Judgement(SUM), missing)
    assert made.onset == (
        "8 of 9 calls are wrong, in 5 ways, and none of the 3 before: that may be one fault, which "
        "goes on from call to call; it begins with all_reduce sum float32 x 200: mpirun -n 4 "
        "refcoll judge mine:make -c all_reduce,scan --xfails 'what I know.txt' --first 4"
    )
    assert as_json(made)["onset"] == made.onset
    assert "8 of 9 calls are wrong, in 5 ways" in as_markdown(made)


def test_several_faults_or_one_that_is_told_in_few_ways_have_no_such_line():
    faulty, rights = in_five_ways(8), [Judgement(Call("scan", n)) for n in range(3)]
    assert report(*faulty).onset is not None
    assert report(*faulty, *rights).onset is None  # 8 of 11
    assert report(*(each for each in faulty if each.findings[0].diagnosis != "cut")).onset is None
    assert report(*rights).onset is None
    assert report(*faulty, xfails="all_reduce").onset is None
