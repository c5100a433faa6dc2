"""The worked examples at the top of each file of ``refcoll/algorithms`` are what the schedule does.

They stand here once more as their authors wrote them: who sends which chunks to whom, round by
round; chunks are left out where the text does so.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, zip_longest

import pytest

from refcoll import Send, program
from refcoll.schedule import indices

ONE, NODES = {"segments": 1}, {"nodes": [[0, 1], [2, 3]]}
EXAMPLES = [
    ("reduce_scatter ring 4", {}, "1>2:0 2>3:1 3>0:2 0>1:3; 2>3:0 3>0:1 0>1:2 1>2:3; "
     "3>0:0 0>1:1 1>2:2 2>3:3"),
    ("all_reduce recursive_doubling 4", {}, "0>1 1>0 2>3 3>2; 0>2 2>0 1>3 3>1"),
    ("all_reduce swing 4", {}, "0>1 1>0 2>3 3>2; 0>3 3>0 1>2 2>1; "
     "0>3 3>0 1>2 2>1; 0>1 1>0 2>3 3>2"),
    ("broadcast binomial 4", {}, "0>2; 0>1 2>3"),
    ("reduce binomial 4", {}, "1>0 3>2; 2>0"),
    ("broadcast knomial 9", {"radix": 3}, "0>3 0>6; 0>1 0>2 3>4 3>5 6>7 6>8"),
    ("broadcast knomial 4", {"radix": 4}, "0>1 0>2 0>3"),
    ("broadcast bine 8", {}, "0>3; 0>7 3>4; 0>1 7>6 3>2 4>5"),
    ("broadcast chain 4", {"segments": 3}, "0>1:0; 0>1:1 1>2:0; 0>1:2 1>2:1 2>3:0; "
     "1>2:2 2>3:1; 2>3:2"),
    ("broadcast split_binary_tree 7", ONE, "0>1:0 0>2:1; 1>3:0 1>5:0 2>4:1 2>6:1; "
     "1>2:0 2>1:1 3>4:0 4>3:1 5>6:0 6>5:1"),
    ("broadcast split_binary_tree 4", ONE, "0>1:0 0>2:1; 1>3:0; 1>2:0 2>1:1 0>3:1"),
    ("broadcast circulant 4", {"segments": 3}, "0>1:0; 0>2:1 1>3:0; 0>1:2 1>2:0 2>3:1; "
     "0>2:2 1>3:2 3>1:1"),
    ("broadcast scatter_all_gather 4", {}, "0>2:2,3; 0>1:1 2>3:3; 0>1:0 1>2:1 2>3:2 3>0:3; "
     "0>1:3 1>2:0 2>3:1 3>0:2; 0>1:2 1>2:3 2>3:0 3>0:1"),
    ("all_gather bruck 5", {}, "1>0:1 2>1:2 3>2:3 4>3:4 0>4:0; "
     "2>0:2,3 3>1:3,4 4>2:4,0 0>3:0,1 1>4:1,2; 4>0:4 0>1:0 1>2:1 2>3:2 3>4:3"),
    ("all_gather neighbor_exchange 6", {}, "0>1 1>0 2>3 3>2 4>5 5>4; 1>2 2>1 3>4 4>3 5>0 0>5; "
     "0>1 1>0 2>3 3>2 4>5 5>4"),
    ("all_gather pat 4", {}, "0>2:0 1>3:1 2>0:2 3>1:3; 0>1:0,2 1>2:1,3 2>3:2,0 3>0:3,1"),
    ("reduce_scatter butterfly 4", {}, "0>1:2,3 1>0:0,1 2>3:2,3 3>2:0,1; "
     "0>2:1 2>0:0 1>3:3 3>1:2; 1>2:2 2>1:1"),
    ("all_to_all bruck 4", {}, "0>1:1,3 1>2:2,0 2>3:3,1 3>0:0,2; 0>2 1>3 2>0 3>1"),
    ("all_reduce rabenseifner_half_folding 5", {}, "0>1:2,3 1>0:0,1; 1>0:2,3; "
     "0>2 2>0 3>4 4>3; 0>3 3>0 2>4 4>2; 0>3 3>0 2>4 4>2; 0>2 2>0 3>4 4>3; 0>1:0,1,2,3"),
    ("all_reduce recursive_multiplying 4", {"radix": 3}, "3>2; 0>1 0>2 1>0 1>2 2>0 2>1; 2>3"),
    ("all_reduce in_network 4", {"radix": 2}, "0>4 1>4 2>5 3>5; 4>6 5>6; 6>4 6>5; 4>0 4>1 5>2 5>3"),
    ("all_reduce hierarchical_leaders 4", NODES, "1>0 3>2; 0>2 2>0; 0>2 2>0; 0>1 2>3"),
    ("all_reduce hierarchical_rails 4", NODES, "0>1:2,3 1>0:0,1 2>3:2,3 3>2:0,1; "
     "0>2 2>0 1>3 3>1; 0>2 2>0 1>3 3>1; 0>1:0,1 1>0:2,3 2>3:0,1 3>2:2,3"),
    ("scan simultaneous 4", {}, "0>1 1>2 2>3; 0>2 1>3"),
    ("scan recursive_doubling 4", {}, "0>1 1>0 2>3 3>2; 0>2 2>0 1>3 3>1"),
    ("barrier dissemination 4", {}, "0>1 1>2 2>3 3>0; 0>2 1>3 2>0 3>1"),
]  # fmt: skip


def rounds(made):
    """(from, to, chunks) of each message to another rank, by rounds that have any."""
    for steps in zip_longest(*map(made.steps, range(made.ranks)), fillvalue=()):
        sent = [
            (rank, action.to, list(indices(action.chunks)))
            for rank, step in enumerate(steps)
            for action in step
            if isinstance(action, Send) and action.to != rank
        ]
        if sent:
            yield sent


@pytest.mark.parametrize(("name", "options", "text"), EXAMPLES, ids=[each[0] for each in EXAMPLES])
def test_a_worked_example_is_what_the_schedule_does(name, options, text):
    collective, algorithm, size = name.split()
    told = [part.split() for part in text.split("; ")]
    happens = list(rounds(program(collective, algorithm, int(size), **options)))
    assert len(happens) == len(told)
    for messages, words in zip(happens, told, strict=True):
        chunked = ":" in words[0]
        assert sorted(words) == sorted(
            f"{source}>{to}" + f":{','.join(map(str, chunks))}" * chunked
            for source, to, chunks in messages
        )


def test_the_two_trees_of_size_4():
    """The first half: 1 and 3 to 2, 2 to 0, and back; the second is mirrored."""
    made = program("all_reduce", "double_binary_tree", 4, segments=1)
    halves = [[], []]
    for messages in rounds(made):
        for half in (0, 1):
            halves[half].append({(a, b) for a, b, chunks in messages if chunks == [half]})
    first = [{(1, 2), (3, 2)}, {(2, 0)}, {(0, 2)}, {(2, 1), (2, 3)}]
    assert halves == [first, [{(3 - a, 3 - b) for a, b in each} for each in first]]


def test_a_leaf_of_one_tree_is_none_of_the_other():
    """Whoever has one neighbour in a tree, and is not its root, has more in the other."""
    for size in range(2, 34):
        messages = [*chain(*rounds(program("all_reduce", "double_binary_tree", size, segments=1)))]
        leaves = []
        for half, root in ((0, 0), (1, 1 if size % 2 else size - 1)):
            of_half = {(source, to) for source, to, chunks in messages if chunks == [half]}
            degrees = Counter(source for source, _ in of_half)
            leaves.append({rank for rank in range(size) if degrees[rank] == 1} - {root})
        assert not leaves[0] & leaves[1]
