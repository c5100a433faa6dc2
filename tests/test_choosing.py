"""What "auto" takes, where textbooks agree."""

import pytest

from refcoll import ArgumentError
from refcoll.choosing import choose
from refcoll.registry import program

FEW_STEPS = {"recursive_doubling", "binomial"}
LEAST_BYTES = {"ring", "rabenseifner", "hierarchical_rails", "two_shot"}


@pytest.mark.parametrize("size", [4, 8, 64, 256])
def test_short_vectors_take_few_steps_and_long_ones_few_bytes(size):
    """Thakur, Rabenseifner and Gropp 2005: recursive doubling for short messages,
    Rabenseifner, or the ring, for long ones."""
    assert choose("all_reduce", size, 8, 0, None, False) in FEW_STEPS
    assert choose("all_reduce", size, 1 << 30, 0, None, False) in LEAST_BYTES


def test_two_ranks_share_the_merging_of_long_vectors():
    """Either way S goes out and S comes in, but each merges S/2 instead of S."""
    assert choose("all_reduce", 2, 8, 0, None, False) == "recursive_doubling"
    assert choose("all_reduce", 2, 1 << 24, 0, None, False) != "recursive_doubling"


def test_few_steps_of_many_messages_are_not_cheap():
    """A parameter server has 2 steps and 2(N-1) messages on one link."""
    assert choose("all_reduce", 256, 8, 0, None, False) not in ("parameter_server", "two_shot")


@pytest.mark.parametrize("nbytes", [0, 1, 1000, 1 << 28])
@pytest.mark.parametrize("size", [1, 2, 5, 8, 17])
def test_order_is_kept_where_it_must_be(size, nbytes):
    name = choose("all_reduce", size, nbytes, 0, None, True)
    assert program("all_reduce", name, size).claims.in_rank_order


def test_no_order_from_another_root():
    with pytest.raises(ArgumentError, match="no algorithm for reduce with root=2"):
        choose("reduce", 4, 100, 2, None, True)
