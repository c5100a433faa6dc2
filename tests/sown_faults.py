"""Faults to sow into right schedules.

Each takes a program and its steps as lists (``taken_apart``), and yields (place, steps with the
fault there) for every place where it can be.
"""

from __future__ import annotations

from dataclasses import replace

from refcoll import Copy, Reduce, Send
from refcoll.schedule import indices
from taken_apart import at, changed, places, send_of, shifted


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
    doubled_reduce: ({"result"}, "twice"),
    doubled_copy: ({"race"}, "just received"),
    copy_for_reduce: ({"result", "race"}, ""),
    reduce_for_copy: ({"result", "undefined"}, ""),
    wrong_peer: (STUCK, ""),
    swapped_peers: (STUCK, ""),
    chunk_out_of_bounds: ({"bounds"}, "names chunk"),
    rank_out_of_bounds: ({"bounds"}, "names a rank outside"),
    first_step_missing_everywhere: ({"result", "undefined"}, ""),
    last_step_missing_everywhere: ({"result"}, ""),
    one_step_too_many_everywhere: ({"result"}, "twice"),
    last_step_missing_on_one_rank: (STUCK | {"result"}, ""),
    copy_into_a_sent_chunk: ({"race"}, "which the step sends"),
    chunk_named_twice: ({"race"}, "names a chunk twice"),
}


def sample(sown, at_most=24):
    """All, or of many every so-manieth, the first and the last among them."""
    sown = list(sown)
    stride = -(-len(sown) // at_most) or 1
    return sown[::stride] + sown[-1:]
