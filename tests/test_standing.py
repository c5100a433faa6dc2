"""Whose fault it is that a rank waits, told from where the others stand."""

from refcoll.standing import Standing, culprit, silent

SILENT = silent()


def waits(*ranks):
    return Standing("a ring (call 1), step 2", ranks, "16 bytes from {}")


def blamed(rank, awaits, known, **more):
    return culprit(rank, waits(*awaits), known, **more)


def test_a_rank_that_gives_no_answer_is_the_culprit():
    assert blamed(0, [3], {1: waits(0)}) == (3, f"rank 3 {SILENT}")


def test_the_chain_is_followed_to_its_end():
    guilty, way = blamed(0, [3], {3: waits(2), 2: waits(1), 1: "is stopped (process 12)"})
    assert guilty == 1
    assert way.split("; ") == [
        "rank 3 itself waits for 16 bytes from rank 2, in step 2",
        "rank 2 itself waits for 16 bytes from rank 1, in step 2",
        "rank 1 is stopped (process 12)",
    ]


def test_of_several_that_are_waited_for_the_one_that_does_not_wait_counts():
    assert blamed(0, [1, 2], {1: waits(0), 2: "has ended"}) == (2, "rank 2 has ended")


def test_a_circle_has_no_culprit():
    guilty, way = blamed(0, [2], {2: waits(1), 1: waits(2)})
    assert guilty is None
    assert "so rank 2, rank 1 wait for one another: a message between them was lost" in way


def test_two_that_wait_for_each_other():
    assert "so rank 0, rank 1 wait for one another" in blamed(0, [1], {1: waits(0)})[1]


def test_a_chain_through_a_rank_that_is_about_to_go_on():
    guilty, way = blamed(0, [1], {1: waits()})
    assert guilty is None
    assert "rank 1 itself waits" in way


def test_a_long_chain_shows_its_ends():
    known = {rank: waits(rank - 1) for rank in range(2, 1000)}
    guilty, way = blamed(0, [999], known)
    assert guilty == 1
    assert way.startswith("rank 999 itself waits for 16 bytes from rank 998")
    assert "and so on through 990 more ranks" in way
    assert way.endswith(f"rank 1 {SILENT}")
    assert len(way) < 1000


def test_a_wait_in_another_call_names_it():
    other = Standing("a tree (call 2), step 1", (2,), "{} to receive 8 bytes")
    _, way = blamed(0, [1], {1: other})
    assert way.startswith(
        "rank 1 itself waits for rank 2 to receive 8 bytes, in a tree (call 2), step 1; "
    )


def test_a_chain_through_another_communicator():
    """Rank 1 is elsewhere, and waits for 2, which waits for 0 here: a circle."""
    elsewhere = Standing("a tree (call 2), step 1", (2,), "8 bytes from {}", elsewhere=True)
    guilty, way = blamed(0, [1], {1: elsewhere, 2: waits(0)})
    assert guilty is None
    assert (
        "rank 1 itself waits for 8 bytes from rank 2, in a tree (call 2), step 1 of another" in way
    )
    assert "so rank 0, rank 1, rank 2 wait for one another" in way


def test_a_rank_that_is_not_of_this_communicator_has_another_name():
    elsewhere = Standing("a tree (call 2), step 1", (-8,), "8 bytes from {}", elsewhere=True)
    name = {0: "rank 0", 1: "rank 1", -8: "process 7 of the job"}.get
    guilty, way = blamed(0, [1], {1: elsewhere}, name=name)
    assert guilty is None
    assert way.endswith(f"process 7 of the job {SILENT}")
