"""Whose fault it is that a rank waits, told from where the others stand."""

from refcoll.standing import SILENT, Standing, culprit


def waits(*ranks):
    return Standing("step 2 of a ring", ranks, f"16 bytes from rank {ranks[0]}" if ranks else "")


def test_a_rank_that_gives_no_answer_is_the_culprit():
    assert culprit(0, [3], {1: waits(0)}) == (3, f"rank 3 {SILENT}")


def test_the_chain_is_followed_to_its_end():
    guilty, way = culprit(0, [3], {3: waits(2), 2: waits(1), 1: "is stopped (process 12)"})
    assert guilty == 1
    assert way.split("; ") == [
        "rank 3 itself waits for 16 bytes from rank 2, in step 2 of a ring",
        "rank 2 itself waits for 16 bytes from rank 1, in step 2 of a ring",
        "rank 1 is stopped (process 12)",
    ]


def test_of_several_that_are_waited_for_the_one_that_does_not_wait_counts():
    assert culprit(0, [1, 2], {1: waits(0), 2: "has ended"}) == (2, "rank 2 has ended")


def test_a_circle_has_no_culprit():
    guilty, way = culprit(0, [2], {2: waits(1), 1: waits(2)})
    assert guilty is None
    assert "so ranks 2, 1 wait for one another: a message between them was lost" in way


def test_two_that_wait_for_each_other():
    assert "so ranks 0, 1 wait for one another" in culprit(0, [1], {1: waits(0)})[1]


def test_a_chain_through_a_rank_that_is_about_to_go_on():
    guilty, way = culprit(0, [1], {1: waits()})
    assert guilty is None
    assert "rank 1 itself waits" in way


def test_a_long_chain_shows_its_ends():
    known = {rank: waits(rank - 1) for rank in range(2, 1000)}
    guilty, way = culprit(0, [999], known)
    assert guilty == 1
    assert way.startswith("rank 999 itself waits for 16 bytes from rank 998")
    assert "and so on through 990 more ranks" in way
    assert way.endswith(f"rank 1 {SILENT}")
    assert len(way) < 1000
