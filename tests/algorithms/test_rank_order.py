"""What does not claim rank order does not keep it; what claims it is in the checker's tests."""

from __future__ import annotations

import pytest

from refcoll import algorithms, check, program
from samples import named


@pytest.mark.parametrize(
    "each",
    [each for each in algorithms() if not each.in_rank_order and "reduce" in each.collective],
    ids=named,
)
def test_what_does_not_claim_rank_order_does_not_keep_it(each):
    """At least not on 5 or 8 ranks, on nodes that are not neighbours in rank."""
    shapes = {5: ((0, 2), (1, 3), (4,)), 8: ((0, 2), (1, 3), (4, 5), (7, 6))}
    tried = [
        program(each.collective, each.name, size, nodes=nodes, segments=2)
        for size, nodes in shapes.items()
        if each.sizes.holds(size)
    ]
    assert not all(check(made).in_rank_order for made in tried)
    assert not any(made.claims.in_rank_order for made in tried)


@pytest.mark.parametrize("each", algorithms("reduce"), ids=named)
def test_no_rank_order_is_claimed_for_another_root(each):
    """A renumbering turns the ranks: the root comes first."""
    tried = [program("reduce", each.name, 8, root=root) for root in range(1, 8)]
    assert all(check(made).ok for made in tried)
    assert not all(check(made).in_rank_order for made in tried)
    assert not any(made.claims.in_rank_order for made in tried)
