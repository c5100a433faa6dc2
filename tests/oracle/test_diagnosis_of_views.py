"""Where in memory, or in the whole vector, the values were taken from."""

import numpy as np
import pytest

from oracle_evidence import SIZE, said
from refcoll.oracle.calls import MISALIGNED, STRIDED, Call
from refcoll.oracle.guarded import gap


def test_strides_that_nobody_looked_at():
    def read(x):
        seen = np.resize(gap(x.dtype).view(x.dtype), x.size)
        seen[::2] = x[: (x.size + 1) // 2]
        return seen

    call = Call("all_reduce", 131, "int32", layout=STRIDED)
    words = said(call, lambda r, right, given: np.sum([read(x) for x in given], axis=0))
    assert "gaps of a strided view were taken for its elements" in words
    plain = Call("all_reduce", 131, "int32")
    words = said(plain, lambda r, right, given: np.sum([read(x) for x in given], axis=0))
    assert "strided" not in words


@pytest.mark.parametrize(("by", "words"), [(-1, "1 byte too early"), (3, "3 bytes too late")])
def test_bytes_that_lie_elsewhere(by, words):
    def change(rank, right, given):
        return np.frombuffer(np.roll(right.view(np.uint8), by).tobytes(), right.dtype)

    call = Call("scatter", 131, "float32", None, layout=MISALIGNED)
    assert f"right, but {words}: was the address rounded" in said(call, change, "bits")


def test_halves_and_whole_vectors_in_another_order():
    half = lambda r, right, given: np.roll(right, -65)  # noqa: E731
    assert "in halves that have changed places" in said(
        Call("broadcast", 131, op=None), half, "coded"
    )
    call = Call("reduce_scatter", 33)

    def across(rank, right, given):
        whole = np.sum(given, axis=0).reshape(-1, SIZE).T.ravel()
        return whole[rank * 33 : rank * 33 + 33]

    assert "the whole vector is in storage order of a 4-column transpose" in said(call, across)
