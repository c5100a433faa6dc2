"""When messages go direct, and when staged: what the MPI library says, and what the user does."""

from __future__ import annotations

import pytest

from late_stream import LateRuntime
from refcoll import ArgumentError
from refcoll_cupy.modes import Answer, _queried, chosen
from refcoll_cupy.placing import device_for, told

NO = [Answer("MPIX_Query_cuda_support", "says 0", False), Answer("kinds", "is not set", False)]
YES = [NO[0], Answer("kinds", "says 'system,cuda'", True)]


@pytest.mark.parametrize(
    ("mode", "cuda_aware", "said", "name", "why"),
    [
        ("auto", False, YES, "direct", "kinds says 'system,cuda'"),
        ("auto", False, NO, "staged", "does not say that it reads device memory"),
        ("auto", True, NO, "staged", "MPIX_Query_cuda_support says 0; kinds is not set"),
        ("staged", False, YES, "staged", "asked for"),
        ("direct", False, YES, "direct", "kinds says"),
        ("direct", True, NO, "direct", "asked for, with cuda_aware=True"),
    ],
)
def test_what_a_mode_means(mode, cuda_aware, said, name, why):
    found = chosen(mode, cuda_aware, said)
    assert found.name == name
    assert why in found.reason


def test_direct_needs_somebodys_word():
    with pytest.raises(ArgumentError) as caught:
        chosen("direct", False, NO)
    said = str(caught.value)
    assert "MPIX_Query_cuda_support says 0; kinds is not set" in said
    assert "mode='staged'" in said
    assert "gpu-probe" in said


def test_other_modes_are_refused():
    with pytest.raises(ArgumentError, match="mode='fast' must be one of auto, direct, staged"):
        chosen("fast", True, YES)


@pytest.mark.parametrize(("said", "answer"), [(1, True), (0, False), (-1, False)])
def test_only_one_is_yes(said, answer):
    assert _queried(lambda: said) == (f"says {said}", answer)


def test_a_query_that_is_not_there_is_no():
    assert _queried(None) == ("is not there", False)


def test_devices_are_taken_by_the_number_within_the_node():
    nodes = ((0, 2, 4), (1, 3))
    assert [device_for(LateRuntime(4), rank, nodes) for rank in range(5)] == [0, 0, 1, 1, 2]
    assert [device_for(LateRuntime(2), rank, nodes) for rank in range(5)] == [0, 0, 1, 1, 0]


def test_no_device_is_an_error():
    with pytest.raises(ArgumentError, match="there is no device"):
        device_for(LateRuntime(0), 0, ((0,),))


def test_who_shares_a_device_is_said():
    assert told([[0, 1], [2, 3]]).count("share one device") == 2
    assert told([]) == ""
