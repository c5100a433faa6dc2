"""NaN by one rule on all ranks, in all runs, to all roots, in place and out of place."""

import numpy as np
import pytest

from corpus_judged import findings
from refcoll.oracle.agreement import NaNRules
from refcoll.oracle.calls import Call, calls
from refcoll.oracle.courts import in_process
from refcoll.oracle.mutants import MUTANTS
from refcoll.oracle.mutants.sound import Sound
from refcoll.oracle.probes import inputs
from refcoll.oracle.truth import truth

THROUGH, IGNORED = ["comes through"], ["is ignored"]
EITHER = [*THROUGH, *IGNORED]


def run(*rules):
    return [{"rules": each} for each in rules]


def broken(*runs, call=Call("reduce", 5, op="min"), rules=None):  # noqa: B008
    return (rules or NaNRules()).broken(call, runs)


def test_one_rule_is_right_and_what_fits_both_says_nothing():
    assert broken(run(THROUGH, EITHER, None, THROUGH), run(EITHER, EITHER, EITHER, None)) is None
    assert broken(run(IGNORED), run(IGNORED), run(EITHER)) is None
    assert broken(run(None, None)) is None


def test_ranks():
    said = broken(run(THROUGH, EITHER, IGNORED, IGNORED))
    assert said == (
        "NaN goes by another rule on each side: it comes through on rank 0, it is ignored on "
        "ranks 2-3"
    )


def test_runs():
    assert broken(run(EITHER, THROUGH), run(IGNORED, EITHER)) == (
        "a NaN comes through in one call, and is ignored in the next"
    )


def test_calls_that_differ_in_root_or_place_only():
    rules, first = NaNRules(), Call("reduce", 5, op="min")
    assert broken(run(EITHER), call=Call("reduce", 5, op="min", root=2), rules=rules) is None
    assert broken(run(THROUGH), call=first, rules=rules) is None
    said = broken(run(IGNORED), call=Call("reduce", 5, op="min", in_place=True), rules=rules)
    assert said == f"a NaN is ignored, but comes through in {first}"
    others = [Call("reduce", 6, op="min"), Call("reduce", 5, op="max"), Call("scan", 5, op="min")]
    assert [broken(run(IGNORED), call=call, rules=rules) for call in others] == [None] * 3


@pytest.mark.parametrize("op", ["min", "max"])
def test_which_rule_a_result_goes_by(op):
    call = Call("all_reduce", 24, op=op)
    given = inputs("special", call, 4, 0)
    right = truth("special", call, given, 0)
    propagate, ignore = {"min": (np.minimum, np.fmin), "max": (np.maximum, np.fmax)}[op]
    for ufunc, rule in ((propagate, THROUGH), (ignore, IGNORED)):
        got = ufunc.reduce(given)
        assert [name for name, check in right.nan_rules.items() if not check(got).any()] == rule


def test_only_extrema_of_special_inputs_leave_a_choice():
    for probe, op in (("special", "sum"), ("special", "prod"), ("coded", "min"), ("huge", "max")):
        call = Call("all_reduce", 24, op=op)
        assert not truth(probe, call, inputs(probe, call, 4, 0), 0).nan_rules


class Ignores(Sound):
    """By the other rule that is right, and by that alone."""

    def merge(self, op, left, right):
        rule = {"min": np.fmin, "max": np.fmax}.get(op)
        if rule is None:
            super().merge(op, left, right)
        else:
            rule(left, right, out=left)


@pytest.mark.parametrize("kind", [Sound, Ignores])
def test_silence_on_either_rule(kind):
    asked = calls(3, ["reduce_scatter", "exscan", "reduce"], ["float32"], ["max"], lengths=[37])
    assert [str(f) for each in in_process(kind, 3, asked, timeout=30) for f in each.findings] == []


def test_a_root_s_rule_is_told_with_the_call_that_has_another():
    (mutant,) = [each for each in MUTANTS if each.name == "NaNByRoot"]
    asked = [Call("reduce", 37, op="max", root=root) for root in (0, 2, 1)]
    first, second, third = in_process(mutant.make, 4, asked, timeout=30)
    assert first.right
    assert second.right
    (finding,) = third.findings
    assert (finding.verdict, finding.probe) == ("agreement", "special")
    assert finding.diagnosis == f"a NaN is ignored, but comes through in {asked[0]}"


class OtherNaNsAndZeros(Sound):
    """On one rank NaNs have a payload, which is nobody's business, and zeros the other sign."""

    def store(self, values, out):
        if self.rank == 1:
            values[values == 0] *= -1
            values[np.isnan(values)] = np.uint32(0x7FC00123).view("f4")
        out[:] = values


def test_ranks_that_disagree_are_shown_where_they_do():
    said = [
        words
        for verdict, words in findings(OtherNaNsAndZeros, 3, Call("all_reduce", 131))
        if verdict == "agreement"
    ]
    assert said
    assert all("not the same bits" in words and "nan" not in words for words in said)
