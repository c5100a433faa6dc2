"""What a report tells of judgements: made up here, so that the right answer is known."""

import re
from pathlib import Path

import pytest

import refcoll
from refcoll.errors import ArgumentError
from refcoll.oracle.calls import Call
from refcoll.oracle.judging import VERDICTS, Finding, Judgement
from refcoll.oracle.monitoring import Row, Traffic
from refcoll.oracle.reporting.as_json import as_json
from refcoll.oracle.reporting.markdown import as_markdown
from refcoll.oracle.reporting.report import Report, Setting
from refcoll.oracle.xfails import Xfails, parsed, read

PAGE = Path(__file__).parents[2] / "docs" / "json.md"
SETTING = Setting("mine:make", "mylib 1.2", 4, launched=True, seed=5)
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
    assert made.verdict == "holds: 1 calls right, 1 not supported, on 4 ranks of mylib 1.2"


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
    assert first.smallest.call == SUM
    assert first.others() == "1 calls more like it: all_reduce; min, sum; float32"
    assert second.others() == ""


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
    assert (len(group.findings), group.others()) == (2, "")


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
    assert "1 calls right, 1 fail as declared" in made.verdict
    assert not report(wrong(MIN, "x"), wrong(SUM, "y"), xfails=pattern).holds
    assert [g.smallest.call for g in made.groups(declared=True)] == [MIN]


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
    made = report(wrong(MIN, "x"), wrong(SUM, "y"), xfails="* sum")
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
    for part in ("| numpy |", "| platform |", "| all_reduce | 2 | 1 | 1 | 0 | 0 |", "mpirun -n 4"):
        assert part in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in rows} == {3, 7}  # two columns, or six


def around(nbytes):
    """Each of four ranks sends so many to the next."""
    return [[nbytes if to == (rank + 1) % 4 else 0 for to in range(4)] for rank in range(4)]


@pytest.mark.parametrize("size", [2, 3, 4, 7])
def test_the_lower_bound_is_what_refcoll_counts(size):
    program = refcoll.program("all_reduce", "ring", size)
    made = refcoll.count(program, 10 * size)
    assert made.least * 4 == 2 * (size - 1) * (10 * size * 4 // size)
    assert made.sent == made.least


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
