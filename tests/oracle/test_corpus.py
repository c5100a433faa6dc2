"""Of every reported fault there is a test, or it is said where it belongs.

Each test has the faulty mechanism, as small as it can be, give the reported wrong value; the
oracle, the checker or the handshake says in words what is wrong; and what is right passes.
"""

import ast
from pathlib import Path

from corpus_cases import CASES, ELSEWHERE, OF_COLLECTIVES

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def named_here():
    """Names of all tests in the files of this corpus."""
    files = HERE.glob("test_corpus_*.py")
    trees = [ast.parse(file.read_text()) for file in files]
    return {each.name for tree in trees for each in tree.body if isinstance(each, ast.FunctionDef)}


def test_every_case_has_one_place():
    named = named_here()
    for case in CASES:
        places = [case.test in named, case.name in ELSEWHERE]
        assert sum(places) == 1, case
    assert len({case.name for case in CASES}) == len({case.report for case in CASES}) == 54
    known = {case.test for case in CASES}
    assert {name for name in named if name.startswith("test_")} <= known


def test_what_results_show_is_tested_and_so_are_the_faults_of_collectives():
    named = named_here()
    for case in CASES:
        if case.kind in OF_COLLECTIVES and set(case.found_by) & set("abc"):
            assert case.test in named, case
        if "a" in case.found_by and case.test not in named:
            assert ELSEWHERE[case.name][0].startswith("tests/"), case


def test_what_is_elsewhere_is_there():
    for name, (file, words) in ELSEWHERE.items():
        assert words in (ROOT / file).read_text(), name
