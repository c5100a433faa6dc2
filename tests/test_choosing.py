"""What "auto" takes, where textbooks agree."""

import pytest

from refcoll import ArgumentError, cost
from refcoll.choosing import choose, explain
from refcoll.programs import Program
from refcoll.rates import checked_rates
from refcoll.registry import algorithms, program
from refcoll.topology import LINKS, node_shape, topology

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


TYPICAL = checked_rates(
    2e-6, 12e9, 12e9, ports="one", links={LINKS[1]: (20e-6, 1e9), LINKS[2]: (30e-6, 1e9)}
)


def by_formula(collective, size, nbytes, where):
    """What every algorithm that could run says of itself; see docs/times.md."""
    made = (
        program(collective, each.name, size, nodes=where)
        for each in algorithms(collective)
        if each.sizes.holds(size) and not each.needs_helpers
    )
    return {each.name: each.claims.time(each.whole(nbytes), TYPICAL) for each in made}


@pytest.mark.parametrize("size", [128, 1000, 16384])
@pytest.mark.parametrize("collective", ["all_reduce", "reduce_scatter", "broadcast", "all_to_all"])
def test_many_ranks_take_the_least_time_by_formula(collective, size, monkeypatch):
    """And no schedule is looked at, so that 16,384 ranks are answered at once."""
    monkeypatch.setattr(Program, "graph", None)
    shapes = [None] if size > 1000 else [None, topology(node_shape([8] * (size // 8)), size)]
    for where in shapes:
        for nbytes in (256, 1 << 26):
            seconds = by_formula(collective, size, nbytes, where)
            chosen = choose(collective, size, nbytes, 0, where, False)
            assert seconds[chosen] == min(seconds.values())


def test_explain_orders_many_ranks_by_formula():
    choices = explain("all_reduce", 1000, 10**7)
    seconds = by_formula("all_reduce", 1000, 10**7, None)
    assert {each.algorithm: each.seconds for each in choices} == seconds
    assert [each.seconds for each in choices] == sorted(seconds.values())
    ring = next(each for each in choices if each.algorithm == "ring")
    assert (ring.depth, ring.sent, ring.received) == (2 * 999, 2 * 999 * 10**4, 2 * 999 * 10**4)
    assert ring.seconds == pytest.approx(1998 * 2e-6 + 2 * 9.99e6 / 12e9 + 9.99e6 / 12e9)


def test_a_formula_says_what_the_schedule_takes():
    """Just above the ranks whose schedules are played."""
    links = {LINKS[1]: (20e-6, 1e9)}
    said = {each.algorithm: each.seconds for each in explain("all_reduce", 65, 65 * 10**4)}
    for name in ("ring", "two_shot"):
        played = cost(
            program("all_reduce", name, 65), 65 * 10**4, latency=2e-6, bandwidth=12e9,
            reduce_bandwidth=12e9, ports="one", links=links,
        )  # fmt: skip
        assert said[name] == pytest.approx(played)
