"""The oracle finds every mutant and says what is wrong; of what is right it says nothing."""

from pathlib import Path

import pytest

from mutants_page import page, rows
from refcoll.oracle.calls import COLLECTIVES, STRIDED, calls
from refcoll.oracle.courts import in_process
from refcoll.oracle.mutants import MUTANTS, Mutant, ShowsAt, score
from refcoll.oracle.mutants.scoring import SIZES, right_ones
from refcoll.oracle.mutants.simple_checks import SIMPLE_CHECKS, simply_checked
from refcoll.oracle.mutants.sound import Sound

PAGE = Path(__file__).parent.parent.parent / "docs" / "oracle-mutants.md"
BY_NAME = {mutant.name: mutant for mutant in MUTANTS}


@pytest.fixture(scope="module")
def scores():
    return score(sizes=(), simple=False)


def test_every_mutant_is_found_and_explained(scores):
    assert [row.name for row in scores.rows] == [mutant.name for mutant in MUTANTS]
    assert [row for row in scores.rows if not row.found] == []


def test_there_are_many_of_every_class_and_collective():
    assert len(BY_NAME) == len(MUTANTS) >= 60
    assert {mutant.shows_at.collective for mutant in MUTANTS} == set(COLLECTIVES)
    faults = [mutant.fault for mutant in MUTANTS]
    assert all(faults.count(fault) >= 3 for fault in set(faults))
    assert len(set(faults)) == 22


def test_every_mutant_says_what_it_models():
    assert all(mutant.models.endswith(".") for mutant in MUTANTS)


@pytest.mark.parametrize("size", [1, 3])
def test_what_mutants_are_made_of_is_right(size):
    listed = calls(size, dtypes=("float32", "int16"), lengths=(0, size + 1))
    judged = in_process(Sound, size, listed, timeout=30)
    assert len(judged) > 60
    assert [str(f) for each in judged for f in each.findings] == []


@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.long)])
def test_right_algorithms_are_left_in_peace(size):
    found = score(mutants=(), sizes=[size])
    assert found.false_alarms == []
    assert found.judged > 100
    assert found.perfect


@pytest.mark.long
def test_the_whole_score():
    found = score()
    assert found.found == found.total == len(MUTANTS)
    assert found.false_alarms == []
    assert set(SIZES) == {1, 2, 3, 4, 5, 7, 8}


def test_every_reducing_algorithm_is_among_the_right_ones():
    names = {str(right) for size in SIZES for right, _ in right_ones(size)}
    assert {"ring all_reduce", "ring all_reduce, accumulating in float32"} <= names
    assert len(names) > 100


def test_a_mutant_that_is_not_found_lowers_the_score():
    few = ShowsAt("reduce_scatter", layout=STRIDED)
    right = Mutant("Sound", "none", "", Sound, few, "rotated")
    found = score(mutants=[right], sizes=(), simple=False)
    assert (found.found, found.total, found.perfect) == (0, 1, False)
    assert found.rows[0].diagnosis == ""


@pytest.mark.parametrize(
    ("name", "blind"),
    [
        ("RotatedOwnership", {"all ones"}),
        ("SamePartnerTwice", {"all ones", "same seed"}),
        ("GatherPhaseIndex", {"all ones", "rank 0 only"}),
        ("Bfloat16PerHop", {"all ones", "same seed", "rtol 1e-2", "rank 0 only"}),
        ("OwnFirst", {"all ones", "same seed", "rtol 1e-2", "rank 0 only"}),
    ],
)  # fmt: skip
def test_what_simple_checks_do_not_see(name, blind):
    mutant = BY_NAME[name]
    call = next(iter(mutant.shows_at.calls()))
    found = simply_checked(mutant, [call])
    assert set(found) == {check.name for check in SIMPLE_CHECKS}
    assert {check for check, seen in found.items() if not seen} == blind


def test_the_page_tells_of_every_mutant(scores):
    written = PAGE.read_text().splitlines()
    for row in rows(scores, []):  # what simple checks see comes behind that
        assert any(line.startswith(row) for line in written), row


@pytest.mark.long
def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(score(sizes=()))
