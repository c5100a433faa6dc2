"""Drawings say what the schedule says.  The layout is free; only its meaning is read here."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from refcoll import Reduce, draw, from_steps, node_shape, program
from refcoll.schedule import ScheduleError
from samples import through


def cells(drawing):
    """The table: per line, one cell a rank; without the legend, rules and titles."""
    rows = [line.split("|") for line in drawing.splitlines() if "|" in line]
    return [[cell.strip() for cell in row[1:]] for row in rows]


def column(drawing, rank):
    """What one rank does and holds, from top to bottom."""
    return [row[rank] for row in cells(drawing) if len(row) > rank]


def test_every_send_of_the_ring_is_in_the_column_of_its_rank():
    """In step t of 3 rank r sends chunk r - t to r + 1, and then r, r - 1, r - 2."""
    drawing = draw(program("all_reduce", "ring", 4))
    for rank in range(4):
        sends = re.findall(r"\b([a-d]) -> (\d)", "\n".join(column(drawing, rank)))
        chunks = [*((rank - t) % 4 for t in (1, 2, 3)), *((rank - t) % 4 for t in (0, 1, 2))]
        assert sends == [("abcd"[chunk], str((rank + 1) % 4)) for chunk in chunks]


def test_every_receive_of_the_ring_is_there_too():
    drawing = draw(program("all_reduce", "ring", 4))
    for rank in range(4):
        text = "\n".join(column(drawing, rank))
        left = str((rank - 1) % 4)
        merged = [("abcd"[(rank - t - 1) % 4], left) for t in (1, 2, 3)]
        copied = [("abcd"[(rank - t - 1) % 4], left) for t in (0, 1, 2)]
        assert re.findall(r"\b([a-d]) \+= (\d)", text) == merged
        assert re.findall(r"\b([a-d]) = (\d)", text) == copied


def test_the_ring_ends_with_every_chunk_finished_on_every_rank():
    drawing = draw(program("all_reduce", "ring", 4))
    for rank in range(4):
        assert column(drawing, rank)[-4:] == ["a*", "b*", "c*", "d*"]
    finished = Counter(cell for row in cells(drawing)[-4:] for cell in row)
    assert finished == {"a*": 4, "b*": 4, "c*": 4, "d*": 4}


def test_the_ring_starts_with_each_ranks_own():
    drawing = draw(program("all_reduce", "ring", 4))
    for rank in range(4):
        held = [cell for cell in column(drawing, rank) if ":" in cell][:4]
        assert held == [f"{chunk}:{rank}" for chunk in "abcd"]


def test_the_sums_of_the_ring_grow_by_a_rank_a_hop():
    """Chunk a goes 1, 2, 3, 0: rank 2 then holds x1 + x2, rank 3 x1 + x2 + x3."""
    drawing = draw(program("all_reduce", "ring", 4))
    assert "a:12" in column(drawing, 2)
    assert "a:123" in column(drawing, 3)
    assert "a:012" not in drawing


@through([1, 2, 4, 5])
def test_every_algorithm_can_be_drawn(each, size):
    made = program(each.collective, each.name, size, segments=2)
    drawing = draw(made)
    assert each.name in drawing
    assert each.collective in drawing
    header = next(line for line in drawing.splitlines() if "rank 0" in line and "|" in line)
    for rank in range(size):
        assert f"rank {rank}" in header
    assert f"rank {size}" not in header


@through([2, 3, 4, 5])
def test_what_the_collective_wants_is_drawn_as_finished_at_the_end(each, size):
    made = program(each.collective, each.name, size, segments=2)
    drawing = draw(made)
    for rank in range(made.size):
        wanted = {c for c in range(made.chunks) if made.after(rank, c) is not None}
        last = {}
        for cell in column(drawing, rank):
            if held := re.fullmatch(r"([a-z]'*)([:*].*)", cell):
                last[held[1]] = held[2]
        finished = {name for name, content in last.items() if content == "*"}
        dashes = "'" * made.result_area
        assert finished >= {"abcdefghijklmnopqrstuvwxyz"[chunk] + dashes for chunk in wanted}


@through([4, 5])
def test_as_many_messages_are_drawn_as_are_sent(each, size):
    made = program(each.collective, each.name, size, segments=2)
    drawn = sum(cell.count("->") for row in cells(draw(made)) for cell in row)
    sent = sum(hasattr(a, "to") for graph in made.graphs for node in graph for a in node.actions)
    assert drawn == sent


@pytest.mark.parametrize("size", [12, 27])
def test_more_ranks_and_chunks_than_digits_and_letters(size):
    drawing = draw(program("all_gather", "ring", size))
    assert f"rank {size - 1}" in drawing
    drawn = sum(cell.count("->") for row in cells(drawing) for cell in row)
    assert drawn == (size - 1) * size


def test_of_many_ranks_contributors_are_spans():
    """After step s of a ring, rank r has chunk r - s - 1 of the ranks r - s to r."""
    drawing = draw(program("reduce_scatter", "ring", 12))
    assert "a:1-4" in column(drawing, 4)
    assert "i:0,9-11" in column(drawing, 0)
    assert "a:0-1 " in drawing  # the legend


def test_nodes_root_and_helpers_are_drawn():
    rails = program("all_reduce", "hierarchical_rails", 5, nodes=node_shape((3, 2)))
    assert "rank 4" in draw(rails)
    tree = draw(program("broadcast", "binomial", 5, root=3))
    assert any("-> 4" in cell for cell in column(tree, 3))
    assert "helper 5" in draw(program("all_reduce", "parameter_server_alone", 5))


def test_what_cannot_be_played_cannot_be_drawn():
    with pytest.raises(ScheduleError):
        draw(from_steps("reduce", [[(Reduce(0, 1),)], []], 1))


def test_steps_in_which_nothing_is_sent_are_not_counted_as_messages():
    """All send once; then each merges what has come, within itself."""
    last = draw(program("all_reduce", "one_shot", 4)).splitlines()[-2]
    assert last == "Done after 2 steps; no rank sends or receives in more than 1."
