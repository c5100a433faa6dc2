"""Programs of one's own steps: roots, helpers, and what makes no sense."""

from __future__ import annotations

import pytest

from refcoll import ArgumentError, Copy, Reduce, Send, check, from_steps


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
