"""What an algorithm declares to be proved is proved: of its schedule, and what it must achieve."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil, log2

import pytest

import coq
from coq_terms import BOUND, SHAPES, Bound, Instance, instances, several
from refcoll import algorithms
from refcoll.collectives import COLLECTIVES
from refcoll.errors import ArgumentError
from refcoll.topology import Nodes, topology

PROVED = [each for each in algorithms() if each.proved]
ACHIEVED = {
    "all_reduce": "all_reduces N C {} n",
    "all_reduce in rank order": "all_reduces_in_rank_order N C {} n",
    "reduce_scatter": "reduce_scatters N {} n",
    "all_gather": "all_gathers N {} n",
    "reduce": "reduces_to_root N C {} n",
    "broadcast": "broadcasts N C {} n",
}
"""What each collective asks for, in Coq (Collectives.v), of C chunks and after n rounds."""


def test_what_is_proved_is_what_is_bound():
    assert {each.declared for each in BOUND} == set(PROVED)


def test_the_number_of_proved_algorithms_that_the_readme_promises():
    readme = (coq.PROOFS.parent / "README.md").read_text()
    assert f"For {len(PROVED)} of the algorithms, the ring among them, it is also" in readme


@pytest.mark.parametrize("each", PROVED, ids="{0.collective}-{0.name}".format)
def test_the_docstring_names_the_theorem(each):
    file, _, theorem = each.proved.partition(".")
    assert f"{theorem} in proofs/{file}.v." in each.schedule.__doc__


def head() -> str:
    files = {"Schedule", "Collectives", "Nodes", "Executable"}
    for each in BOUND:
        files |= {each.file, each.declared.proved.partition(".")[0]}
    return coq.required(sorted(files))


def achieved(bound: Bound) -> str:
    """The collective, or that it keeps rank order, which says more."""
    keeps = bound.collective == "all_reduce" and bound.declared.in_rank_order
    return bound.collective + " in rank order" * keeps


@pytest.mark.usefixtures("checked")
def test_each_theorem_says_of_the_schedule_what_the_collective_asks_for():
    coq.accepted(head() + "".join(map(statement, BOUND)))


def statement(bound: Bound) -> str:
    """That the theorem, for any N and any nodes, is about this very schedule."""
    given, kinds = "N positive", "(N : Z) (positive : 0 < N)"
    if "{nodes}" in bound.schedule:
        given = "N nodes positive valid"
        kinds = "(N : Z) nodes (positive : 0 < N) (valid : valid_nodes N nodes)"
    program = f"(fun rank => {bound.schedule.format(size='N', nodes='nodes')})"
    asked = re.sub(r"\b[Cn]\b", "_", ACHIEVED[achieved(bound)]).format(program)
    return f"Check fun {kinds} =>\n  {bound.declared.proved} {given} : {asked}.\n"


@pytest.mark.usefixtures("checked")
def test_each_theorem_speaks_of_all_chunks_and_all_rounds():
    spoken = "".join(
        f"Definition {name.replace(' ', '_')}_spoken {{N{' C' * (' C ' in asked)} P n}} "
        f"(_ : {asked.format('P')}) := ({'C' if ' C ' in asked else 'N'}, n).\n"
        for name, asked in ACHIEVED.items()
    )
    coq.accepted(head() + spoken + "".join(map(extent, instances(range(1, 8)))))


def extent(each: Instance) -> str:
    """That C is the number of chunks, and n that of the longest schedule's steps."""
    theorem, name = each.bound.declared.proved, achieved(each.bound).replace(" ", "_")
    nodes = each.schedule.partition("rank ")[2] if each.nodes else None
    valid = f"(proj1 (valid_by_computation {each.size} {nodes}) eq_refl)"
    given = f"{each.size} {nodes} eq_refl {valid}" if nodes else f"{each.size} eq_refl"
    return (
        f"Example {each.identifier} :\n  {name}_spoken ({theorem} {given}) = "
        f"({each.program.chunks}, rounds {each.size} {each.coq_program}).\n"
        "Proof. vm_compute. reflexivity. Qed.\n"
    )


NOT_NODES: tuple[tuple[int, Nodes], ...] = (
    (3, ((0, 1),)), (3, ((0, 1), (1, 2))), (3, ((0, 1, 2), ())), (2, ((0, 2),)), (2, ((0, -1),)),
    (2, ((0, 1), (2,))), (2, ((0, 0),)),
)  # fmt: skip


@pytest.mark.usefixtures("checked")
def test_theorems_on_nodes_speak_of_the_nodes_that_refcoll_takes():
    """Of all of them, so that the theorems are not empty, and of no others."""
    asked = [*((sum(map(len, nodes)), nodes) for nodes in SHAPES), *NOT_NODES]
    terms = (
        f"are_valid {size} {several(several(f'({r})' for r in node) for node in nodes)}"
        for size, nodes in asked
    )
    said = coq.computed(coq.required(["Nodes"]), terms)
    assert [answer == "true" for answer in said] == [taken(*each) for each in asked]


def taken(size: int, nodes: Nodes) -> bool:
    """Whether refcoll accepts them."""
    try:
        topology(nodes, size)
    except ArgumentError:
        return False
    return True


# ---- lower bounds -------------------------------------------------------------------------

LEAST = {
    "all_reduce": ("LowerBoundPrograms.all_reduce_sends", "LowerBoundPrograms.all_reduce_receives"),
    "reduce_scatter": (
        "LowerBoundPrograms.reduce_scatter_sends", "LowerBoundPrograms.reduce_scatter_receives",
    ),
    "all_gather": ("LowerBoundPrograms.all_gather_sends", "LowerBoundPrograms.all_gather_receives"),
    "broadcast": (
        "LowerBoundRanks.broadcast_root_sends", "LowerBoundRanks.broadcast_others_receive",
    ),
    "reduce": ("LowerBoundRanks.reduce_others_send", "LowerBoundRanks.reduce_root_receives"),
}  # fmt: skip
"""The theorems on what some rank must send, and some rank receive."""


def conclusion(theorem: str) -> str:
    """What the theorem says in the end."""
    file, _, name = theorem.partition(".")
    source = (coq.PROOFS / f"{file}.v").read_text()
    said = re.search(rf"Theorem {name}\b(.*?)\.\s*Proof", source, re.S)
    assert said, theorem
    return re.split(r"->|/\\|,", said[1])[-1].strip()


def proved_least(theorem: str, ranks: int, elements: int) -> Fraction:
    """The bound, read from the theorem: "2 * (N - 1) * S <= N * sent len P r"."""
    said = re.fullmatch(r"(.*) <= (N \* )?(sent|received) len P \w+", conclusion(theorem))
    assert said, theorem
    return Fraction(eval(said[1], {"N": ranks, "S": elements}), ranks if said[2] else 1)


@pytest.mark.parametrize("collective", LEAST)
def test_the_least_traffic_is_what_the_theorems_say(collective):
    for size in range(2, 20):
        lengths = [chunk % 3 for chunk in range(size)]
        proved = tuple(proved_least(each, size, sum(lengths)) for each in LEAST[collective])
        assert COLLECTIVES[collective].least(size, lengths, 0) == proved


@pytest.mark.parametrize("collective", LEAST)
def test_the_least_rounds_are_what_the_theorems_say(collective):
    said = conclusion(f"LowerBoundRounds.{collective}_rounds")
    assert said == "Z.log2_up N <= Z.of_nat n"
    for size in range(1, 70):
        assert COLLECTIVES[collective].least_rounds(size) == ceil(log2(size))
