"""Faults sown into every algorithm: the checker finds each, and says what and where it is."""

from __future__ import annotations

import pytest

from refcoll import algorithms, check
from refcoll.interpreters.check import VERDICTS
from refcoll.schedule import ScheduleError
from samples import looped, named, through
from sown_faults import (
    FAULTS,
    chunk_named_twice,
    chunk_out_of_bounds,
    copy_for_reduce,
    copy_into_a_sent_chunk,
    doubled_copy,
    doubled_reduce,
    dropped_copy_at_both_ends,
    dropped_receive,
    dropped_reduce_at_both_ends,
    dropped_send,
    last_step_missing_on_one_rank,
    one_step_too_many_everywhere,
    rank_out_of_bounds,
    reduce_for_copy,
    sample,
    swapped_peers,
    wrong_chunk_at_both_ends,
    wrong_chunk_received,
)
from taken_apart import rebuilt, right, steps_of

REDUCTIONS = {dropped_reduce_at_both_ends, doubled_reduce, copy_for_reduce,
              one_step_too_many_everywhere}  # fmt: skip
"""Faults for which a schedule must merge."""
EXCHANGES = {swapped_peers, copy_into_a_sent_chunk}
"""Faults for which a rank must send and receive in one step."""
HARMLESS = {
    # The all-gather brings again what the scatter has brought.
    (dropped_copy_at_both_ends, "broadcast-scatter_all_gather"),
    (dropped_copy_at_both_ends, "broadcast-scatter_doubling"),
    # It sends more than its receiver needs, as its source does.
    (wrong_chunk_at_both_ends, "reduce_scatter-recursive_doubling"),
    # The first of a group copies its own vector to where it is; doing the merges once more
    # gives the same.
    *((fault, f"all_reduce-{name}")
      for fault in (dropped_copy_at_both_ends, one_step_too_many_everywhere)
      for name in ("one_shot", "recursive_multiplying")),
    # In the last round nobody needs the merge of its whole block any more.
    *((fault, f"{scan}-recursive_doubling")
      for fault in (dropped_reduce_at_both_ends, dropped_copy_at_both_ends, doubled_reduce,
                    copy_for_reduce, reduce_for_copy, one_step_too_many_everywhere,
                    last_step_missing_on_one_rank)
      for scan in ("scan", "exscan")),
}  # fmt: skip
"""Pairs of fault and algorithm of which some places do no harm."""


@through([4, 5])
@looped(fault=FAULTS)
def test_a_fault_is_found_and_named(fault, each, size):
    verdicts, words = FAULTS[fault]
    made = right(each, size)
    for place, steps in sample(fault(made, steps_of(made)), 4):
        report = check(rebuilt(made, steps))
        if (fault, named(each)) in HARMLESS and report.ok:
            continue
        first = report.failures[0]
        assert first.verdict in verdicts, (place, str(first))
        assert words in first.message
        with pytest.raises(ScheduleError, match="is wrong"):
            report.raise_for_failures()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_every_fault_was_sown_in_every_kind_of_collective(fault):
    """A loop that never runs proves nothing."""
    kinds = {each.collective for each in algorithms()} - {"barrier"}
    if fault in REDUCTIONS:
        kinds = {"all_reduce", "reduce_scatter", "reduce", "scan", "exscan"}
    if fault in EXCHANGES:
        kinds = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}
    if fault in (dropped_copy_at_both_ends, doubled_copy, reduce_for_copy):
        kinds = {"all_reduce", "all_gather", "broadcast", "scatter", "gather", "all_to_all"}
    if fault in (wrong_chunk_received, wrong_chunk_at_both_ends):
        kinds -= {"scan", "exscan"}  # whose algorithms have one chunk
    for kind in kinds:
        sown = [
            list(fault(made, steps_of(made)))
            for each in algorithms(kind)
            for made in (right(each, 4),)
        ]
        assert any(sown), kind


def test_every_verdict_is_reached():
    found = set().union(*(verdicts for verdicts, _ in FAULTS.values()))
    assert found | {"order", "agreement"} == set(VERDICTS)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (wrong_chunk_received, ["rank 0 step 1", "chunks=(3,)", "meets", "rank 3 step 1"]),
        # The k-th message meets the k-th receive, so it is the last that is left over.
        (dropped_receive, ["rank 3 step 6 waits in Send(chunks=1, to=0)"]),
        (dropped_send, ["rank 1 step 6 waits in Copy(chunks=2, source=0)"]),
        # Chunk 2 goes from rank 3 by 0 and 1 to 2; the first message of it is rank 3's own.
        (doubled_reduce, ["chunk 2 on rank 0", "has rank 3 twice"]),
        (dropped_reduce_at_both_ends, ["chunk 2 on rank 0 lacks rank 3"]),
        (chunk_out_of_bounds, ["rank 0 step 1", "Send(chunks=4, to=1)", "chunk 4 of 4"]),
        (rank_out_of_bounds, ["rank 0 step 1", "Send(chunks=3, to=4)", "a rank outside 0..3"]),
        (copy_into_a_sent_chunk, ["rank 0 step 1", "Copy(chunks=3, source=3)", "chunk 3"]),
        (doubled_copy, ["rank 0 step 4", "Copy(chunks=3, source=3)", "chunk 3"]),
        (chunk_named_twice, ["rank 0 step 1", "Reduce(chunks=(2, 2), source=3"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_failure_names_rank_step_and_chunk(fault, words):
    """Of the first place in a ring of 4."""
    (ring,) = algorithms("all_reduce", "ring")
    made = right(ring, 4)
    _, steps = next(fault(made, steps_of(made)))
    message = check(rebuilt(made, steps)).failures[0].message
    for word in words:
        assert word in message, message


@through([2, 3, 5, 8])
def test_where_a_fault_was_sown_is_where_the_checker_points(each, size):
    """Static faults lie at one place; so must the failure."""
    made = right(each, size)
    for fault in (chunk_out_of_bounds, rank_out_of_bounds, copy_into_a_sent_chunk, doubled_copy):
        for (rank, step, _), steps in sample(fault(made, steps_of(made)), 8):
            report = check(rebuilt(made, steps))
            assert report.failures[0].message.startswith(f"rank {rank} step {step + 1}: ")
