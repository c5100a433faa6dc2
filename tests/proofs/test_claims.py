"""What an algorithm declares to be proved is proved: of its schedule, and what it must achieve."""

from __future__ import annotations

import pytest

import coq
from coq_terms import BOUND, Bound
from refcoll import algorithms

PROVED = [each for each in algorithms() if each.proved]
ACHIEVED = {
    "all_reduce": "all_reduces N _ {} _",
    "reduce_scatter": "reduce_scatters N {} _",
    "all_gather": "all_gathers N {} _",
    "reduce": "reduces_to_root N _ {} _",
    "broadcast": "broadcasts N _ {} _",
}
"""Coq's predicates of Collectives.v; an algorithm that keeps rank order has another one."""
IN_RANK_ORDER = "all_reduces_in_rank_order N _ {} _"


def test_what_is_proved_is_what_is_bound():
    assert {each.declared for each in BOUND} == set(PROVED)


@pytest.mark.parametrize("each", PROVED, ids="{0.collective}-{0.name}".format)
def test_the_docstring_names_the_theorem(each):
    file, _, theorem = each.proved.partition(".")
    assert f"{theorem} in proofs/{file}.v." in each.schedule.__doc__


@pytest.mark.usefixtures("checked")
def test_each_theorem_says_of_the_schedule_what_the_collective_asks_for():
    files = {"Schedule", "Collectives", "Nodes"}
    for each in BOUND:
        files |= {each.file, each.declared.proved.partition(".")[0]}
    coq.accepted(coq.required(sorted(files)) + "".join(map(statement, BOUND)))


def statement(bound: Bound) -> str:
    """That the theorem, for any N and any nodes, is about this very schedule."""
    of_nodes = "{nodes}" in bound.schedule
    given = "N nodes positive valid" if of_nodes else "N positive"
    kinds = "(N : Z) (positive : 0 < N)"
    if of_nodes:
        kinds = "(N : Z) nodes (positive : 0 < N) (valid : valid_nodes N nodes)"
    kept = bound.collective == "all_reduce" and bound.declared.in_rank_order
    program = f"(fun rank => {bound.schedule.format(size='N', nodes='nodes')})"
    achieved = (IN_RANK_ORDER if kept else ACHIEVED[bound.collective]).format(program)
    return f"Check fun {kinds} =>\n  {bound.declared.proved} {given} : {achieved}.\n"
