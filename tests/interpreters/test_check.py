"""The checker proves what is right, and rejects, for the right reason, what is not.

Faults are sown into the right algorithms by functions from schedules to schedules: what
every rank does, as a list of lists of steps.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from math import inf

import pytest

from refcoll import (
    ArgumentError,
    Copy,
    Reduce,
    Send,
    algorithms,
    check,
    count,
    from_steps,
    node_shape,
    program,
)
from refcoll.algorithms.ring import ring_reduce_scatter
from refcoll.graph import Node, chained
from refcoll.interpreters.check import VERDICTS
from refcoll.interpreters.delivery import (
    DeadlockError,
    Finished,
    Started,
    UnmatchedError,
    deliver,
)
from refcoll.programs import Claims
from refcoll.schedule import ScheduleError, indices
from samples import (
    EVERY_DAY,
    FLAT,
    HIERARCHICAL,
    OTHER_DAYS,
    ROOTED,
    SHAPES,
    SIZES,
    looped,
    named,
    sizes_of,
    switched,
    through,
    variants,
)

MERGING = [each for k in ("all_reduce", "reduce_scatter", "reduce") for each in algorithms(k)]


def require_proof(made):
    report = check(made)
    assert report.failures == []
    assert report.ok
    assert report.aligned
    assert report.capacity == 0
    assert report.in_rank_order or not made.claims.in_rank_order


# ---- what is right -------------------------------------------------------------------------


@through(EVERY_DAY, FLAT)
def test_every_algorithm_is_right(each, size):
    """With every value of its options."""
    for options in variants(each):
        require_proof(program(each.collective, each.name, size, **options))


@pytest.mark.long
@through(OTHER_DAYS, FLAT)
def test_every_algorithm_is_right_on_other_numbers_of_ranks(each, size):
    """With every value of its options up to 33 ranks; above with one."""
    for options in variants(each)[: None if size <= 33 else 1]:
        require_proof(program(each.collective, each.name, size, **options))


@pytest.mark.parametrize("each", FLAT, ids=named)
def test_where_an_algorithm_is_not_defined_it_says_so(each):
    for size in SIZES:
        if not each.sizes.holds(size):
            with pytest.raises(ArgumentError, match=rf"size={size}: .* is defined for"):
                program(each.collective, each.name, size)


@through([2, 3, 5, 8, 13, 32], ROOTED)
def test_every_root_is_right(each, size):
    for root in range(size):
        require_proof(program(each.collective, each.name, size, root=root))


@pytest.mark.parametrize("each", HIERARCHICAL, ids=named)
@pytest.mark.parametrize("nodes", SHAPES, ids=sizes_of)
def test_every_arrangement_of_nodes_is_right(each, nodes):
    size = sum(len(node) for node in nodes)
    for where in (nodes, *switched(nodes)):
        require_proof(program(each.collective, each.name, size, nodes=where))


@through(EVERY_DAY, HIERARCHICAL)
def test_hierarchical_algorithms_are_right_on_nodes_of_up_to_four(each, size):
    require_proof_on_nodes_of_four(each, size)


@pytest.mark.long
@through(OTHER_DAYS, HIERARCHICAL)
def test_hierarchical_algorithms_are_right_on_more_nodes_of_up_to_four(each, size):
    require_proof_on_nodes_of_four(each, size)


def require_proof_on_nodes_of_four(each, size):
    nodes = node_shape([4] * (size // 4) + [size % 4] * (size % 4 > 0))
    require_proof(program(each.collective, each.name, size, nodes=nodes))


# ---- schedules as lists, and back ----------------------------------------------------------


@cache
def right(each, size):
    """A program without fault, hierarchical ones on two switches with a node each."""
    nodes = [[list(node)] for node in two_nodes(size)]
    return program(
        each.collective, each.name, size, nodes=nodes, segments=2, radix=2 + size % 2, shards=2
    )


def two_nodes(size):
    return node_shape([size - size // 2, size // 2]) if size > 1 else ((0,),)


def steps_of(made):
    """Per rank, its steps, idle ones included, as lists."""
    last = max((graph[-1].number for graph in made.graphs if graph), default=-1)
    steps = [[()] * (last + 1) for _ in made.graphs]
    for rank, graph in enumerate(made.graphs):
        for node in graph:
            steps[rank][node.number] = node.actions
    return steps


def rebuilt(made, steps):
    return replace(made, steps=steps.__getitem__)


def places(steps, kind):
    """(rank, step, position) of all actions of a kind."""
    return [
        (rank, number, position)
        for rank, mine in enumerate(steps)
        for number, step in enumerate(mine)
        for position, action in enumerate(step)
        if isinstance(action, kind)
    ]


def at(steps, place):
    rank, number, position = place
    return steps[rank][number][position]


def changed(steps, *changes):
    """The steps with the action at each place replaced by others: none, one or more."""
    result = [list(mine) for mine in steps]
    for (rank, number, position), actions in sorted(changes, reverse=True):
        step = result[rank][number]
        result[rank][number] = (*step[:position], *actions, *step[position + 1 :])
    return result


def send_of(steps, receive):
    """Where the message received at a place is sent: in aligned schedules, in the same step."""
    rank, number, _ = receive
    source = at(steps, receive).source
    before = [p for p in places(steps, (Copy, Reduce)) if p[:2] == (rank, number) and p < receive]
    nth = sum(at(steps, p).source == source for p in before)
    sends = [p for p in places(steps, Send)
             if p[:2] == (source, number) and at(steps, p).to == rank]  # fmt: skip
    return sends[nth]


def shifted(action, chunks):
    """The same with every chunk one too high, modulo their number, in the same area."""
    wrong = tuple(i // chunks * chunks + (i + 1) % chunks for i in indices(action.chunks))
    return replace(action, chunks=wrong)


# ---- faults: each yields (what is wrong, the steps) ----------------------------------------


def wrong_chunk_received(made, steps):
    for place in places(steps, (Copy, Reduce)):
        action = at(steps, place)
        wrong = shifted(action, made.chunks)
        if set(wrong.chunks) != set(indices(action.chunks)):
            yield place, changed(steps, (place, [wrong]))


def wrong_chunk_at_both_ends(made, steps):
    for place in places(steps, (Copy, Reduce)):
        action, sender = at(steps, place), send_of(steps, place)
        wrong = shifted(action, made.chunks)
        if set(wrong.chunks) != set(indices(action.chunks)):
            send = shifted(at(steps, sender), made.chunks)
            yield place, changed(steps, (place, [wrong]), (sender, [send]))


def dropped_receive(made, steps):
    for place in places(steps, (Copy, Reduce)):
        yield place, changed(steps, (place, []))


def dropped_send(made, steps):
    for place in places(steps, Send):
        yield place, changed(steps, (place, []))


def dropped_reduce_at_both_ends(made, steps):
    for place in places(steps, Reduce):
        yield place, changed(steps, (place, []), (send_of(steps, place), []))


def dropped_copy_at_both_ends(made, steps):
    for place in places(steps, Copy):
        yield place, changed(steps, (place, []), (send_of(steps, place), []))


def doubled_reduce(made, steps):
    for place in places(steps, Reduce):
        sender = send_of(steps, place)
        yield (
            place,
            changed(steps, (place, [at(steps, place)] * 2), (sender, [at(steps, sender)] * 2)),
        )


def doubled_copy(made, steps):
    for place in places(steps, Copy):
        if indices(at(steps, place).chunks):
            sender = send_of(steps, place)
            yield (
                place,
                changed(steps, (place, [at(steps, place)] * 2), (sender, [at(steps, sender)] * 2)),
            )


def copy_for_reduce(made, steps):
    for place in places(steps, Reduce):
        action = at(steps, place)
        yield place, changed(steps, (place, [Copy(action.chunks, action.source)]))


def reduce_for_copy(made, steps):
    for place in places(steps, Copy):
        action = at(steps, place)
        if indices(action.chunks):
            yield place, changed(steps, (place, [Reduce(action.chunks, action.source)]))


def wrong_peer(made, steps):
    for place in places(steps, Send):
        action = at(steps, place)
        other = next(r for r in range(made.ranks) if r not in (place[0], action.to))
        yield place, changed(steps, (place, [Send(action.chunks, other)]))


def swapped_peers(made, steps):
    """Sends to where it should receive from, and the other way round."""
    for place in places(steps, Send):
        rank, number, _ = place
        to, chunks = at(steps, place).to, at(steps, place).chunks
        for other in places(steps, (Copy, Reduce)):
            receive = at(steps, other)
            if other[:2] == (rank, number) and receive.source != to:
                wrong = replace(receive, source=to)
                yield place, changed(steps, (place, [Send(chunks, receive.source)]),
                                     (other, [wrong]))  # fmt: skip


def chunk_out_of_bounds(made, steps):
    for place in places(steps, (Send, Copy, Reduce)):
        action = at(steps, place)
        if indices(action.chunks):
            beyond = made.areas * made.chunks
            yield place, changed(steps, (place, [replace(action, chunks=beyond)]))


def rank_out_of_bounds(made, steps):
    for place in places(steps, Send):
        yield place, changed(steps, (place, [replace(at(steps, place), to=made.ranks)]))


def first_step_missing_everywhere(made, steps):
    yield None, [mine[1:] for mine in steps]


def last_step_missing_everywhere(made, steps):
    yield None, [mine[:-1] for mine in steps]


def one_step_too_many_everywhere(made, steps):
    """Of reductions: copying what is there once more does no harm."""
    if any(isinstance(action, Reduce) for mine in steps for action in mine[-1]):
        yield None, [mine + mine[-1:] for mine in steps]


def last_step_missing_on_one_rank(made, steps):
    for rank, mine in enumerate(steps):
        last = max((t for t, step in enumerate(mine) if step), default=None)
        if last is not None:
            short = [*steps]
            short[rank] = mine[:last]
            yield (rank, last, 0), short


def copy_into_a_sent_chunk(made, steps):
    for place in places(steps, (Copy, Reduce)):
        rank, number, _ = place
        sent = [a for a in steps[rank][number] if isinstance(a, Send) and indices(a.chunks)]
        if sent:
            wrong = Copy(sent[0].chunks, at(steps, place).source)
            yield place, changed(steps, (place, [wrong]))


def chunk_named_twice(made, steps):
    for place in places(steps, (Copy, Reduce)):
        action = at(steps, place)
        if named_chunks := tuple(indices(action.chunks)):
            wrong = replace(action, chunks=named_chunks + named_chunks[-1:])
            yield place, changed(steps, (place, [wrong]))


STUCK = {"deadlock", "matching"}
WRONG = {"result", "undefined", "race", "agreement", "matching", "order"}
FAULTS = {
    # fault: (the verdict that may come first, words of it)
    wrong_chunk_received: ({"matching", "race", "result", "undefined"}, ""),
    wrong_chunk_at_both_ends: (WRONG, ""),
    dropped_receive: (STUCK, ""),
    dropped_send: (STUCK, ""),
    dropped_reduce_at_both_ends: ({"result"}, "lacks rank"),
    dropped_copy_at_both_ends: ({"result", "undefined"}, ""),
    doubled_reduce: ({"result"}, "times"),
    doubled_copy: ({"race"}, "just received"),
    copy_for_reduce: ({"result", "race"}, ""),
    reduce_for_copy: ({"result", "undefined"}, ""),
    wrong_peer: (STUCK, ""),
    swapped_peers: (STUCK, ""),
    chunk_out_of_bounds: ({"bounds"}, "names chunk"),
    rank_out_of_bounds: ({"bounds"}, "names a rank outside"),
    first_step_missing_everywhere: ({"result", "undefined"}, ""),
    last_step_missing_everywhere: ({"result"}, ""),
    one_step_too_many_everywhere: ({"result"}, "2 times"),
    last_step_missing_on_one_rank: (STUCK | {"result"}, ""),
    copy_into_a_sent_chunk: ({"race"}, "which the step sends"),
    chunk_named_twice: ({"race"}, "names a chunk twice"),
}

REDUCTIONS = {dropped_reduce_at_both_ends, doubled_reduce, copy_for_reduce,
              one_step_too_many_everywhere}  # fmt: skip
EXCHANGES = {swapped_peers, copy_into_a_sent_chunk}
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


def sample(sown, at_most=24):
    """All, or of many every so-manieth, the first and the last among them."""
    sown = list(sown)
    stride = -(-len(sown) // at_most) or 1
    return sown[::stride] + sown[-1:]


# ---- what is wrong -------------------------------------------------------------------------


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


def test_the_schedules_survive_taking_apart_and_putting_together():
    for each in algorithms():
        made = right(each, 5 if each.sizes.holds(5) else 8)
        require_proof(rebuilt(made, steps_of(made)))


# ---- messages say where --------------------------------------------------------------------


def first_failure(fault, collective="all_reduce", name="ring", size=4, number=0):
    (each,) = algorithms(collective, name)
    made = right(each, size)
    place, steps = list(fault(made, steps_of(made)))[number]
    return place, check(rebuilt(made, steps)).failures[0]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (wrong_chunk_received, ["rank 0 step 1", "chunks=(3,)", "meets", "rank 3 step 1"]),
        # The k-th message meets the k-th receive, so it is the last that is left over.
        (dropped_receive, ["rank 3 step 6 waits in Send(chunks=1, to=0)"]),
        (dropped_send, ["rank 1 step 6 waits in Copy(chunks=2, source=0)"]),
        # Chunk 2 goes from rank 3 by 0 and 1 to 2; the first message of it is rank 3's own.
        (doubled_reduce, ["chunk 2 on rank 0", "has rank 3 2 times"]),
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
    _, failure = first_failure(fault)
    for word in words:
        assert word in failure.message, failure.message


@through([2, 3, 5, 8])
def test_where_a_fault_was_sown_is_where_the_checker_points(each, size):
    """Static faults lie at one place; so must the failure."""
    made = right(each, size)
    for fault in (chunk_out_of_bounds, rank_out_of_bounds, copy_into_a_sent_chunk, doubled_copy):
        for (rank, step, _), steps in sample(fault(made, steps_of(made)), 8):
            report = check(rebuilt(made, steps))
            assert report.failures[0].message.startswith(f"rank {rank} step {step + 1}: ")


@through(
    [2, 3, 5, 8], [e for k in ("all_reduce", "reduce_scatter", "reduce") for e in algorithms(k)]
)
def test_a_dropped_reduce_lacks_whom_it_should_have_brought(each, size):
    """Played by hand with sets of ranks, on which one rank counts once."""
    made = right(each, size)
    for _, steps in sample(dropped_reduce_at_both_ends(made, steps_of(made)), 6):
        held = played(made, steps)
        said = {f.message for f in check(rebuilt(made, steps)).failures if f.verdict == "result"}
        expected = set()
        for rank in range(size):
            for chunk in range(made.chunks):
                wanted = made.after(rank, chunk)
                missing = sorted(set(wanted or ()) - set(held[rank][chunk]))
                if missing:
                    lacks = ", ".join(f"lacks rank {who}" for who in missing)
                    area = f" of area {made.result_area}" if made.areas > 1 else ""
                    expected.add(f"at the end chunk {chunk}{area} on rank {rank} {lacks}")
        assert expected
        assert said == expected


def played(made, steps):
    """What every chunk holds at the end of an aligned schedule, as counters of ranks."""
    held = [
        [Counter() if c >= made.chunks or (who := made.before(rank, c)) is None else Counter([who])
         for c in range(made.areas * made.chunks)]
        for rank in range(made.ranks)
    ]  # fmt: skip
    for number in range(len(steps[0])):
        before = [[Counter(chunk) for chunk in mine] for mine in held]
        for place in places([[mine[number]] for mine in steps], (Copy, Reduce)):
            receive = (place[0], number, place[2])
            action, sender = at(steps, receive), send_of(steps, receive)
            sent = indices(at(steps, sender).chunks)
            for chunk, origin in zip(indices(action.chunks), sent, strict=True):
                incoming = before[sender[0]][origin]
                mine = held[place[0]][chunk] if isinstance(action, Reduce) else Counter()
                held[place[0]][chunk] = mine + incoming
    return held


@through([1, 2, 3, 6, 9])
def test_the_contributors_are_those_of_a_simpler_player(each, size):
    made = right(each, size)
    held, report = played(made, steps_of(made)), check(made)
    for rank in range(made.ranks):
        for chunk in range(made.areas * made.chunks):
            value = report.values[rank].get(chunk)
            assert held[rank][chunk] == (value.contributors() if value else Counter())


# ---- deadlock ------------------------------------------------------------------------------

CYCLIC = [
    "all_reduce-ring", "all_gather-ring", "reduce_scatter-ring", "reduce_scatter-pairwise",
    "all_reduce-recursive_doubling", "all_reduce-rabenseifner", "all_reduce-hierarchical_rails",
    "all_reduce-hierarchical_leaders", "barrier-dissemination",
]  # fmt: skip


def split(steps):
    """First the sends of a step, then, in a step of its own, the receives."""
    return [
        [
            tuple(a for a in step if isinstance(a, Send) == sends)
            for step in mine
            for sends in (True, False)
        ]
        for mine in steps
    ]


@pytest.mark.parametrize("size", [2, 4, 6, 8])
@pytest.mark.parametrize("each", [e for e in algorithms() if named(e) in CYCLIC], ids=named)
def test_sending_before_receiving_deadlocks_unless_channels_hold_a_message(each, size):
    made = right(each, size)
    apart = rebuilt(made, split(steps_of(made)))
    report = check(apart)
    assert [failure.verdict for failure in report.failures] == ["deadlock"]
    assert report.capacity == 1
    message = report.failures[0].message
    assert message.startswith("with room for 0 messages: ")
    assert "rank 0 step" in message
    assert "waits in Send(" in message
    assert not report.aligned
    assert check(apart, capacities=(1,)).ok


def blocking_ring():
    return from_steps(
        "reduce_scatter",
        [
            [(action,) for step in ring_reduce_scatter(rank, 4) for action in step]
            for rank in range(4)
        ],
        4,
    )


def test_a_blocking_ring_reduce_scatter():
    """4 ranks: 3 sends and 3 receives in turn are 6 steps, but only 3 messages in a chain."""
    made = blocking_ring()
    report = check(made)
    assert [failure.verdict for failure in report.failures] == ["deadlock"]
    assert report.capacity == 1
    assert check(made, capacities=(1,)).ok
    assert count(made, 400).steps == 6


def test_the_depth_of_a_blocking_ring_reduce_scatter():
    """Each message waits for the one before it in the chain alone: it is already on its way
    when its receive starts."""
    assert count(blocking_ring(), 400).depth == 3


def test_the_message_of_a_deadlock_says_what_each_rank_waits_for():
    made = from_steps("reduce", [[(Reduce(0, 1),)], [(Copy(0, 0),), (Send(0, 0),)]], 1)
    (failure,) = check(made).failures
    assert failure.verdict == "deadlock"
    assert "rank 0 step 1 waits in Reduce(chunks=0, source=1)" in failure.message
    assert "rank 1 step 1 waits in Copy(chunks=0, source=0)" in failure.message
    assert "Send" not in failure.message


def test_what_has_been_met_is_not_waited_for():
    steps = [[(Send(0, 1), Reduce(0, 1), Reduce(0, 2))], [(Send(0, 0), Reduce(0, 0))], []]
    (failure,) = check(from_steps("all_reduce", steps, 1)).failures
    assert failure.message.endswith("rank 0 step 1 waits in Reduce(chunks=0, source=2)")


def test_step_numbers_count_idle_steps():
    made = from_steps("reduce", [[(), (), (Reduce(0, 1),)], []], 1)
    (failure,) = check(made).failures
    assert "rank 0 step 3 waits" in failure.message


def test_a_message_that_nobody_receives():
    steps = [[(Send(0, 1),)], []]
    report = check(from_steps("broadcast", steps, 1))
    assert report.failed("matching")
    assert "rank 0 step 1: rank 1 never receives Send(chunks=0, to=1) from rank 0" in "".join(
        failure.message for failure in report.failures
    )


# ---- one by one ----------------------------------------------------------------------------


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
        f"result: at the end chunk 0 on rank {rank} has rank 0 2 times, has rank 1 2 times"
        for rank in (0, 1)
    ]


def test_a_piece_that_comes_back_and_is_merged_is_there_twice():
    steps = [[(Copy(1, 1),), (Send(1, 1),)], [(Send(1, 0),), (Reduce(1, 0),)]]
    lacks, twice = check(from_steps("all_gather", steps, 2)).failures
    assert lacks.message == "chunk 0 on rank 1 is empty"
    assert twice.message == "at the end chunk 1 on rank 1 has rank 1 2 times"


def test_who_is_not_asked_for_is_named():
    """An exchange, where each should end with the value of rank 0 alone."""
    exchange = [[(Send(0, 1 - r), Reduce(0, 1 - r))] for r in (0, 1)]
    made = from_steps("all_reduce", exchange, 1)
    alone = replace(made, collective=replace(made.collective, after=lambda *_: frozenset({0})))
    assert [failure.message for failure in check(alone).failures] == [
        f"at the end chunk 0 on rank {rank} has rank 1, which is not asked for" for rank in (0, 1)
    ]


def test_a_chunk_of_another_name_is_not_the_one_asked_for():
    steps = [[(Send((0, 0), 1),)], [(Copy((0, 1), 0),)]]
    assert [str(failure) for failure in check(from_steps("broadcast", steps, 2)).failures] == [
        "matching: rank 1 step 1: Copy(chunks=(0, 1), source=0) meets "
        "Send(chunks=(0, 0), to=1) of rank 0 step 1",
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
        "at the end chunk 0 on rank 0 mixes different chunks: (x0+x1)",
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


@pytest.mark.parametrize(
    ("collective", "chunks", "options", "words"),
    [
        ("all_to_one", 1, {}, "'all_to_one' does not exist; there are all_reduce"),
        ("all_gather", 3, {}, "chunks=3 must be 2, one a rank"),
        ("all_reduce", 0, {}, "chunks=0 must be at least 1"),
        ("broadcast", 1, {"root": 2}, "root=2 must be a rank from 0 to 1"),
        ("all_reduce", 1, {"root": 1}, "root=1 has no meaning for all_reduce"),
    ],
)
def test_a_program_that_makes_no_sense_is_refused(collective, chunks, options, words):
    with pytest.raises(ArgumentError, match=words):
        from_steps(collective, [[], []], chunks, **options)


def test_a_root_of_one_s_own():
    steps = [[(Copy(0, 1),)], [(Send(0, 0),)]]
    assert check(from_steps("broadcast", steps, 1, root=1)).ok
    assert not check(from_steps("broadcast", steps, 1)).ok


def test_a_helper_of_one_s_own():
    """It starts with nothing, may hold anything, and takes no part in what is asked for."""
    worker = [(Send(0, 2),), (Copy(0, 2),)]
    helper = [(Copy(0, 0), Reduce(0, 1, "right")), (Send(0, 0), Send(0, 1))]
    report = check(from_steps("all_reduce", [worker, worker, helper], 1, helpers=1))
    assert report.ok
    assert [str(values[0]) for values in report.values] == ["(x0+x1)"] * 3


# ---- delivery ------------------------------------------------------------------------------


@looped(capacity=[0, 1, 2, inf])
@through([1, 2, 5, 8])
def test_delivery_respects_cause_and_effect(each, size, capacity):
    graphs = right(each, size).graphs
    started, finished = set(), set()
    for event in deliver(graphs, capacity):
        here = event.rank, event.node
        node = graphs[event.rank][event.node]
        if isinstance(event, Started):
            assert here not in started
            assert all((event.rank, earlier) in finished for earlier in node.after)
            started.add(here)
            continue
        assert isinstance(event, Finished)
        assert here in started - finished
        for action, partner in zip(node.actions, event.partners, strict=True):
            if partner is None:
                assert isinstance(action, Send)
                assert capacity > 0
                continue
            assert partner[:2] in started
            other = graphs[partner[0]][partner[1]].actions[partner[2]]
            assert isinstance(other, Send) != isinstance(action, Send)
        finished.add(here)
    assert finished == {(r, i) for r, graph in enumerate(graphs) for i in range(len(graph))}


@pytest.mark.parametrize("room", range(5))
@pytest.mark.parametrize("messages", range(1, 5))
def test_a_channel_holds_as_many_messages_as_it_is_said_to(room, messages):
    """Both ranks send all, then receive all: that needs room for as many."""
    graphs = [
        chained([(Send(0, 1 - r),)] * messages + [(Copy(0, 1 - r),)] * messages) for r in (0, 1)
    ]
    if room < messages:
        with pytest.raises(DeadlockError, match=r"rank 0 step .* waits in Send.*; rank 1 step"):
            list(deliver(graphs, room))
    else:
        assert sum(isinstance(event, Finished) for event in deliver(graphs, room)) == 4 * messages


def test_a_surplus_message_is_reported_where_it_was_sent():
    graphs = [chained([(), (Send(3, 1),)]), ()]
    with pytest.raises(UnmatchedError, match=r"rank 0 step 2: rank 1 never receives Send"):
        list(deliver(graphs))
    with pytest.raises(DeadlockError):
        list(deliver(graphs, 0))


def test_messages_of_different_channels_do_not_meet():
    """Two threads of a rank, as foreign programs have them."""
    sender = (Node((Send(0, 1),), (), 0, channel=0), Node((Send(1, 1),), (), 0, channel=1))
    receiver = (Node((Copy(1, 0),), (), 0, channel=1), Node((Copy(0, 0),), (0,), 1, channel=0))
    meetings = {
        (event.node, event.partners)
        for event in deliver([sender, receiver], 0)
        if isinstance(event, Finished) and event.rank == 1
    }
    assert meetings == {(0, ((0, 1, 0),)), (1, ((0, 0, 0),))}


def test_a_graph_that_waits_for_itself_never_ends():
    loop = (Node((Send(0, 0), Copy(0, 0)), (1,), 0), Node((), (0,), 1))
    with pytest.raises(DeadlockError):
        list(deliver([loop]))
