"""Whose values each chunk ends with, beside a simpler player that counts ranks by hand."""

from __future__ import annotations

from collections import Counter

from refcoll import Copy, Reduce, algorithms, check
from refcoll.schedule import indices
from refcoll.words import ranked
from samples import through
from sown_faults import dropped_reduce_at_both_ends, sample
from taken_apart import at, places, rebuilt, right, send_of, steps_of

MERGING = [each for k in ("all_reduce", "reduce_scatter", "reduce") for each in algorithms(k)]


@through([2, 3, 5, 8], MERGING)
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
                    area = f" of area {made.result_area}" if made.areas > 1 else ""
                    expected.add(
                        f"at the end chunk {chunk}{area} on rank {rank} lacks {ranked(missing)}"
                    )
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
