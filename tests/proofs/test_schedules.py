"""Python's schedules, and what they cost, are those that the proofs are about.

The kernel of Coq compares them by computation; without Coq, they are compared with what Coq
has printed (proofs/golden).
"""

from __future__ import annotations

import pytest

import coq
import coq_costs
from coq_golden import FOLDER, GOLDEN, golden, kept, lines
from coq_terms import (
    BOUND,
    DAILY,
    SIZES,
    Bound,
    Instance,
    instances,
    program_term,
    text,
)

TITLE = "{0.collective}-{0.algorithm}".format
bound = pytest.mark.parametrize("bound", BOUND, ids=TITLE)


@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize("sizes", [DAILY, pytest.param(SIZES, marks=pytest.mark.long)], ids=len)
def test_coq_computes_what_python_does(sizes):
    coq.accepted(text(instances(sizes)))


@pytest.mark.usefixtures("checked")
def test_coq_notices_one_index():
    """The control: what is compared may be found to differ."""
    right = text([Instance(BOUND[0], 4)])
    coq.accepted(right)
    wrong = right.replace("Send [n3] n1", "Send [n2] n1", 1)
    with pytest.raises(coq.CoqError, match="Example ring_reduce_scatter_4"):
        coq.accepted(wrong)


@bound
def test_python_does_what_coq_has_printed(bound: Bound):
    printed = golden("schedules.txt")
    for each in instances(bounds=[bound]):
        assert kept(program_term(each.steps())) == printed[each.schedule], each.schedule


@pytest.mark.usefixtures("checked")
def test_coq_counts_what_python_counts():
    """Steps, messages and elements, within nodes and between them, for unequal chunks."""
    coq.accepted(coq_costs.text(instances(range(1, 10))))


@pytest.mark.parametrize("name", GOLDEN)
def test_the_golden_files_have_all_instances(name: str):
    _, which = GOLDEN[name]
    assert list(golden(name)) == [each.schedule for each in which]


@pytest.mark.long
@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize("name", GOLDEN)
def test_the_golden_files_are_what_coq_prints(name: str):
    ask, which = GOLDEN[name]
    assert lines(which, ask(which)) == (FOLDER / name).read_text()
