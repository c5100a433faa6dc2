"""Contributions that are left out where they are small."""

import numpy as np
import pytest

from oracle_evidence import SIZE, in_full, said
from refcoll.oracle.calls import Call


def above(share, given):
    """The sum of what is not below that share of the rank's largest."""
    return np.sum([np.where(abs(x) < share * abs(x).max(), 0, x) for x in given], axis=0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_small_contributions_are_left_out(dtype):
    share = {"float16": 0.2, "bfloat16": 0.2}.get(dtype, 0.01)
    words = said(
        Call("all_reduce", 131, dtype), lambda r, right, given: above(share, given), again=in_full
    )
    assert ": small contributions are left out, as of sparse vectors: those up to 0." in words
    assert float(words.split("up to ")[1].split()[0]) <= share
    if share == 0.01:  # of few digits sums are soon those of others, too
        assert words.endswith("times the rank's largest and none above")


def test_few_elements_without_a_threshold_are_chance():
    """The smallest input of an element is lost, but smaller ones elsewhere are not."""

    def change(rank, right, given):
        order = np.argsort(np.abs(given), axis=0)
        lost = np.take_along_axis(np.array(given), order, axis=0)[0]
        place = int(np.argmax(np.abs(lost)))
        right[place] -= lost[place]
        return right

    assert "small contributions" not in said(Call("all_reduce", 131), change, again=in_full)


def test_a_rank_that_is_missing_everywhere_is_not_called_small():
    without = lambda given: np.sum(given[:3], axis=0)  # noqa: E731
    words = said(
        Call("all_reduce", 131), lambda r, x, given: without(given),
        again=lambda given: [without(given)] * SIZE,
    )  # fmt: skip
    assert words.startswith("on all ranks: rank 3 missing in ")
