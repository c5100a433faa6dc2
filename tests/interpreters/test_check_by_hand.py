"""Small schedules, written by hand, and what the checker must say of each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from refcoll import Copy, Reduce, Send, algorithms, check, from_steps
from refcoll.programs import Claims
from sown_faults import last_step_missing_everywhere
from taken_apart import rebuilt, right, steps_of


def test_ranks_that_merge_in_different_orders_do_not_agree():
    """One step in which everyone sends to everyone and merges outwards from itself: all have
    the sum of all, but rank 0 as x0+x1+x2 and rank 2 as x0+(x1+x2)."""

    def outwards(rank, size):
        others = [*range(rank + 1, size), *reversed(range(rank))]
        yield *(Send(0, other) for other in others), *(Reduce(0, other) for other in others)

    report = check(from_steps("all_reduce", [outwards(r, 3) for r in range(3)], chunks=1))
    assert {failure.verdict for failure in report.failures} == {"agreement"}
    assert report.failures[0].message == (
        "chunk 0 is (x0+(x1+x2)) on rank 1, but ((x0+x1)+x2) on rank 0"
    )


def verdicts(collective, steps, chunks=1, **options):
    return [f.verdict for f in check(from_steps(collective, steps, chunks, **options)).failures]


def test_sending_a_chunk_that_is_still_empty():
    """Rank 1 passes on before it has received."""
    steps = [[(), (Send(0, 1),)], [(Send(0, 2),), (Copy(0, 0),)], [(Copy(0, 1),)]]
    report = check(from_steps("broadcast", steps, 1))
    assert [f.verdict for f in report.failures] == ["undefined", "result"]
    first, second = (f.message for f in report.failures)
    assert first == "rank 1 step 1: Send(chunks=0, to=2) sends chunk 0, still empty"
    assert second == "chunk 0 on rank 2 is empty"


@pytest.mark.parametrize("size", [3, 4, 8])
def test_a_ring_whose_loop_starts_one_late(size):
    """The all-gather from t = 1 on: every rank sends first what it has yet to receive."""
    ring = [
        [
            (Send((rank - t) % size, (rank + 1) % size),
             Copy((rank - t - 1) % size, (rank - 1) % size))
            for t in range(1, size)
        ]
        for rank in range(size)
    ]  # fmt: skip
    failures = check(from_steps("all_gather", ring, size)).failures
    for rank, failure in enumerate(failures[:size]):
        chunk = (rank - 1) % size
        assert failure.verdict == "undefined"
        assert failure.message.startswith(f"rank {rank} step 1: Send(chunks={chunk}, ")
        assert failure.message.endswith(f"sends chunk {chunk}, still empty")


def test_reducing_into_an_empty_chunk():
    steps = [[(Send(0, 1),)], [(Reduce(0, 0),)]]
    report = check(from_steps("broadcast", steps, 1))
    assert report.failures[0].verdict == "undefined"
    assert "rank 1 step 1" in report.failures[0].message
    assert "reduces into chunk 0, still empty" in report.failures[0].message


def test_receives_into_one_chunk_in_one_step():
    """Merged in the order written, that is; a copy would overwrite the other."""
    senders = [[(Send(0, 0),)], [(Send(0, 0),)]]
    assert verdicts("reduce", [[(Reduce(0, 1), Reduce(0, 2))], *senders]) == []
    assert "race" in verdicts("reduce", [[(Reduce(0, 1), Copy(0, 2))], *senders])
    assert "race" in verdicts("reduce", [[(Copy(0, 1), Copy(0, 2))], *senders])


def test_two_exchanges_with_the_same_rank_count_twice():
    """2 (x0 + x1): a checker that only asks who is in it would let that pass."""
    exchange = [[(Send(0, 1 - r), Reduce(0, 1 - r))] * 2 for r in (0, 1)]
    report = check(from_steps("all_reduce", exchange, 1))
    assert [str(f) for f in report.failures] == [
        f"result: at the end chunk 0 on rank {rank} has ranks 0-1 twice" for rank in (0, 1)
    ]


def test_many_ranks_are_named_as_spans_and_by_how_often_they_are_there():
    """Rank 5 gets 0 once more twice, 1 and 2 once more, and never 4; a reduce to it."""
    gives = [[(Send(0, 5),)] * times for times in (3, 2, 2, 1, 0)]
    takes = [(Reduce(0, rank),) for rank, mine in enumerate(gives) for _ in mine]
    report = check(from_steps("reduce", [*gives, takes], 1, root=5))
    assert [f.message for f in report.failures] == [
        "at the end chunk 0 on rank 5 lacks rank 4; has ranks 1-2 twice; has rank 0 3 times"
    ]


def test_a_piece_that_comes_back_and_is_merged_is_there_twice():
    steps = [[(Copy(1, 1),), (Send(1, 1),)], [(Send(1, 0),), (Reduce(1, 0),)]]
    lacks, twice = check(from_steps("all_gather", steps, 2)).failures
    assert lacks.message == "chunk 0 on rank 1 is empty"
    assert twice.message == "at the end chunk 1 on rank 1 has rank 1 twice"


def test_who_is_not_asked_for_is_named():
    """An exchange, where each should end with the value of rank 0 alone."""
    exchange = [[(Send(0, 1 - r), Reduce(0, 1 - r))] for r in (0, 1)]
    made = from_steps("all_reduce", exchange, 1)
    alone = replace(made, collective=replace(made.collective, after=lambda *_: frozenset({0})))
    assert [failure.message for failure in check(alone).failures] == [
        f"at the end chunk 0 on rank {rank} has rank 1, not asked for" for rank in (0, 1)
    ]


def test_a_chunk_of_another_name_is_not_the_one_asked_for():
    steps = [[(Send((0, 0), 1),)], [(Copy((0, 1), 0),)]]
    assert [str(failure) for failure in check(from_steps("broadcast", steps, 2)).failures] == [
        "matching: rank 1 step 1: Copy(chunks=(0, 1), source=0) meets "
        "Send(chunks=(0, 0), to=1) of rank 0 step 1, of other chunks",
        "result: at the end chunk 1 on rank 1 holds chunk 0 of rank 0, not chunk 1",
    ]


def test_a_result_in_the_wrong_area_is_said_to_be_missing_there():
    """An all-to-all among 2 ranks, right but for where its author says the result stands."""
    steps = [
        [(Send(r, r), Copy(2 + r, r)), (Send(1 - r, 1 - r), Copy(3 - r, 1 - r))] for r in range(2)
    ]
    assert check(from_steps("all_to_all", steps, 2, areas=2, result_area=1)).ok
    failures = check(from_steps("all_to_all", steps, 2, areas=2)).failures
    assert [str(failure) for failure in failures] == [
        "result: at the end place 1 of area 0 on rank 0 holds chunk 1 of rank 0, not chunk 0",
        "result: at the end place 0 of area 0 on rank 1 holds chunk 0 of rank 1, not chunk 1",
    ]


def test_chunks_must_not_be_mixed():
    steps = [[(Reduce(0, 1),)], [(Send(1, 0),)]]
    assert [f.message for f in check(from_steps("reduce", steps, 2)).failures[1:]] == [
        "at the end chunk 0 on rank 0 mixes chunks 0 and 1: (x0+x1)",
        "at the end chunk 1 on rank 0 lacks rank 1",
    ]


def test_scratch_areas_hold_chunks_of_the_same_lengths():
    """Rank 0 takes rank 1's chunk into scratch, merges it from there, and sends the sum."""
    steps = [
        [(Copy(1, 1),), (Send(1, 0), Reduce(0, 0, "right")), (Send(0, 1),)],
        [(Send(0, 0),), (), (Copy(0, 0),)],
    ]
    assert verdicts("all_reduce", steps, areas=2) == []
    assert verdicts("all_reduce", steps, areas=1)[0] == "bounds"


def test_negative_chunks_and_ranks_are_out_of_bounds():
    assert verdicts("broadcast", [[(Send(-1, 1),)], [(Copy(0, 0),)]]) == ["bounds"]
    assert verdicts("broadcast", [[(Send(0, -1),)], [(Copy(0, 0),)]]) == ["bounds"]


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_a_barrier_must_hear_of_everyone(size):
    (each,) = algorithms("barrier")
    made = right(each, size)
    ((_, steps),) = last_step_missing_everywhere(made, steps_of(made))
    heard = 1 << (len(steps[0]))  # each round doubles them
    for rank, failure in enumerate(check(rebuilt(made, steps)).failures):
        missing = sorted((rank - back) % size for back in range(heard, size))
        assert failure.verdict == "result"
        assert failure.message == f"rank {rank} ends without having heard of {missing}"


def test_a_false_claim_of_rank_order():
    (each,) = algorithms("all_reduce", "ring")
    made = right(each, 4)
    claims = made.claims
    false = replace(
        made,
        claims=Claims(claims.steps, claims.depth, claims.sent, claims.received, True),
    )
    report = check(false)
    assert [f.verdict for f in report.failures] == ["order"]
    assert not report.in_rank_order


@pytest.mark.parametrize("side", ["left", "right"])
def test_operands_on_the_wrong_side_break_rank_order(side):
    steps = [[(Reduce(0, 1, side),)], [(Send(0, 0),)]]
    report = check(from_steps("reduce", steps, 1))
    assert report.ok
    assert report.in_rank_order == (side == "right")
    assert str(report.values[0][0]) == {"left": "(x1+x0)", "right": "(x0+x1)"}[side]


def test_unaligned_is_said():
    steps = [[(), (Send(0, 1),)], [(Copy(0, 0),)]]
    report = check(from_steps("broadcast", steps, 1))
    assert report.ok
    assert not report.aligned
