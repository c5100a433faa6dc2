"""Under mpirun a mistake is an error on every rank, row by row: see docs/bad-input.md."""

from __future__ import annotations

import json

import pytest

from bad_input_different import DIFFERENT
from bad_input_local import ACCEPTED, CLOSED, METHODS, SAID_TO_ALL, SAID_TO_NONE
from bad_input_rows import (
    ROWS,
    SOON,
    Heard,
    named,
    odd,
    require_different,
    require_refused,
)


@pytest.fixture(scope="module", params=[2, pytest.param(4, marks=pytest.mark.long)])
def said(request, program):
    """What every rank of a job heard of every row."""
    run = program(request.param, "bad_input.py")
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout)


def heard(said, part, key):
    return [Heard(**rank[part][key]) for rank in said]


def rows_of(said):
    return [row for row in ROWS.values() if row.bad.ranks in (0, len(said))]


def test_a_mistake_that_all_make_is_refused_and_forgotten(said):
    for row in rows_of(said):
        require_refused(row, heard(said, "all wrong", row.name), [*range(len(said))])


def test_a_mistake_of_one_rank_is_told_to_all_and_poisons(said):
    for row in rows_of(said):
        require_refused(row, heard(said, "one wrong", row.name), [odd(len(said))])


def test_different_calls_are_told_to_all_and_poison(said):
    for number, row in enumerate(DIFFERENT):
        require_different(row, heard(said, "different", number))


def test_what_a_rank_does_by_itself_goes_wrong_there_alone(said):
    for row in METHODS:
        for rank, (everywhere, alone, total) in enumerate(s["by itself"][row.name] for s in said):
            assert Heard(**everywhere).is_a(row.error.__name__, *row.words)
            here = rank == odd(len(said))
            assert Heard(**alone).is_a(*((row.error.__name__, *row.words) if here else ("",)))
            assert everywhere["then"] == alone["then"] == "works"
            assert total == sum(range(len(said)))


def test_what_connect_refuses_is_told_to_all(said):
    at_fault = odd(len(said))
    for row in SAID_TO_ALL:
        for rank, (everywhere, alone) in enumerate(each["connect"][row.name] for each in said):
            everywhere, alone = Heard(**everywhere), Heard(**alone)
            assert everywhere.is_a("ArgumentError", *row.words)
            assert max(everywhere.seconds, alone.seconds) < SOON
            if row.argument == "options":
                assert alone.is_a("ArgumentError", f"on rank {at_fault}: ", *row.words)
            elif rank == at_fault:
                assert alone.is_a("ArgumentError", *row.words)
            else:
                words = f"{named([at_fault])}: ", *row.words
                assert alone.is_a("DisagreementError", *words)


def test_what_is_wrong_before_there_is_a_transport_is_told_at_once(said):
    for row in SAID_TO_NONE:
        for each in heard(said, "said to none", row.name):
            assert each.is_a("ArgumentError", *row.words)


def test_what_was_closed_refuses_everything(said):
    for call in CLOSED:
        for each in heard(said, "closed", call):
            assert each.is_a("PoisonedError", "was closed and cannot be used again"), call


def test_what_looks_odd_and_is_right(said):
    for call in ACCEPTED:
        for each in heard(said, "accepted", call):
            assert (each.error, each.then) == ("", "works"), (call, each)


def test_a_rank_that_cannot_connect_ends_the_job(program):
    """The others are within MPI, over another communicator, where nobody can tell them."""
    run = program(2, "unconnected.py", limit=45)
    assert run.returncode != 0
    assert "comm=7 is no mpi4py.MPI.Intracomm" in run.stderr
