"""Parts of check.py: its arithmetic, and what the stand-in for a device can be asked."""

from __future__ import annotations

import pytest

import checking_right as right
from checking_bounds import below, crossing, held, moved, ring
from checking_speed import in_process
from late_stream import LateRuntime
from refcoll_cupy.arrays import DeviceArrays

RUNTIME = LateRuntime()


def on_stand_in(rank):
    return DeviceArrays(RUNTIME, 0)


# ---- arithmetic --------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_a_rings_bytes_are_those_of_the_closed_forms(ranks):
    """5 (N-1) S where data is merged where it lies, 7 (N-1) S where it lands first, and
    2 (N-1) S sent: N ranks, N-1 steps of each phase, S/N bytes a step."""
    nbytes = 4 * 8 * 1000
    made, layout = ring(ranks, nbytes)
    assert moved(made, layout, 4, lands=False) == 5 * (ranks - 1) * nbytes
    assert moved(made, layout, 4, lands=True) == 7 * (ranks - 1) * nbytes
    assert crossing(made, layout, 4) == 2 * (ranks - 1) * nbytes


def test_a_share_is_the_least_time_over_the_time():
    found = held({"ranks": 2, "seconds": 0.5}, 4_000, 10_000.0)
    assert (found["bound_seconds"], found["share"]) == (0.4, 0.8)
    unknown = held({"ranks": 4, "seconds": 0.5}, 4_000, None)
    assert (unknown["bound_seconds"], unknown["share"]) == (None, None)
    assert below([found, unknown]) == []
    assert below([held({"ranks": 8, "seconds": 1.0}, 4_000, 10_000.0)]) == ["8 ranks 40%"]


# ---- its parts, on the stand-in ----------------------------------------------------------


def test_random_data_on_the_stand_in():
    found = right.random_data(on_stand_in, size=2, counts=(1, 99), seed=3)
    assert found == {"seed": 3, "ran": 10, "wrong": [], "right": True}


def test_random_data_sees_what_is_wrong(monkeypatch):
    """An output that nobody has written."""
    real = right.reduced

    def unwritten(comm, inputs, op):
        found = real(comm, inputs, op)
        return found if comm.transport.arrays.name == "numpy" else found * 0 + right.POISON

    monkeypatch.setattr(right, "reduced", unwritten)
    found = right.random_data(on_stand_in, size=2, counts=(9,))
    assert not found["right"]
    assert "sum of 9" in found["wrong"]


def test_the_race_is_right_and_its_control_is_caught():
    found = right.race(on_stand_in, size=2, rounds=3, slow=lambda: None)
    assert (found["right"], found["wrong"]) == (True, 0)
    assert found["wrong_without_waiting"] > 0


def test_a_race_whose_control_sees_nothing_is_not_right(monkeypatch):
    monkeypatch.setattr(right, "Careless", right.Slow)
    found = right.race(on_stand_in, size=2, rounds=1, slow=lambda: None)
    assert (found["right"], found["wrong"]) == (False, 0)


def test_speeds_stand_beside_their_bounds():
    ceiling = {"memory_bytes_per_second": 1e9}
    found = in_process(ceiling, on_stand_in, sizes=(8, 4096), vector=4096, ranks=(2,))
    assert [(each["nbytes"], each["moved"]) for each in found["point_to_point"]] == [
        (8, 16), (4096, 8192)]  # fmt: skip
    (ring_found,) = found["ring"]
    assert (ring_found["moved"], ring_found["bound_seconds"]) == (5 * 4096, 5 * 4096 / 1e9)
    assert ring_found["share"] == ring_found["bound_seconds"] / ring_found["seconds"]


@pytest.mark.long
def test_its_longer_parts_run():
    assert right.conformance(on_stand_in, sizes=(2,))["right"]
    assert right.algorithms(on_stand_in)["right"]
