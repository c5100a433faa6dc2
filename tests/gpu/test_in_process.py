"""Ranks as threads with device arrays, ordered by events, with a stand-in for the device."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from late_stream import LateArray, LateRuntime
from refcoll import ArgumentError, spawn, user_operator
from refcoll.testing.cases import cases
from refcoll.testing.conformance import CHECKS, SPARE_CHECKS
from refcoll.testing.verification import verify
from refcoll_cupy.arrays import DeviceArrays

LONG = pytest.mark.long


def on(runtime, kind=DeviceArrays):
    """What makes each rank's arrays; several ranks may share a device."""
    return lambda rank: kind(runtime, rank % runtime.devices())


@pytest.mark.parametrize("check", [*CHECKS, *SPARE_CHECKS], ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    ("size", "devices", "eagerness"),
    [(3, 2, 0.0), *(pytest.param(n, 1, e, marks=LONG) for n in (1, 2, 4) for e in (0.0, 0.5, 1.0))],
)
def test_it_keeps_the_contract(check, size, devices, eagerness):
    runtime = LateRuntime(devices, eagerness)

    def run(comm):
        with runtime.stream():
            check(comm.transport)

    spawn(size, run, arrays=on(runtime))


@pytest.mark.parametrize("eagerness", [0.0, pytest.param(0.5, marks=LONG)])
def test_algorithms_are_right_to_the_bit_and_move_what_they_claim(eagerness):
    """All dtypes and operators of the all-reduce by one algorithm, all algorithms by one sum."""
    chosen = [case for case in cases(3) if case.count <= 1000]
    every = [c for c in chosen if c.collective == "all_reduce" and c.algorithm == "ring"]
    one = [c for c in chosen if c.count == 4]
    runtime = LateRuntime(2, eagerness)
    rows = spawn(3, lambda comm: list(verify(comm.transport, every + one, 30)), arrays=on(runtime))
    assert len(rows[0]) > 100
    assert [row.problems for row in rows[0] if not row.ok] == []


def test_results_are_the_hosts_to_the_bit():
    """Of values that show the order of merging, and of NaNs, infinities and zeros."""
    chance = np.random.default_rng(5)
    inputs = (chance.normal(size=(4, 999)) * 10.0 ** chance.integers(-8, 8, (4, 999))).astype("f4")
    inputs[:, :40] = chance.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], (4, 40))

    def run(comm):
        x = comm.transport.arrays.from_host(inputs[comm.rank])
        return [comm.transport.arrays.to_host(comm.all_reduce(x, op)) for op in OPS]

    OPS = ("sum", "prod", "min", "max", "avg")  # noqa: N806
    on_host, on_device = spawn(4, run), spawn(4, run, arrays=on(LateRuntime()))
    for mine, theirs in zip(on_host, on_device, strict=True):
        for one, other in zip(mine, theirs, strict=True):
            same = one.view("u4") == other.view("u4")
            assert (same | (np.isnan(one) & np.isnan(other))).all()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_short_floats_may_be_merged_in_float(dtype):
    """Of eight ranks' 2049, 2050, ... a float16 holds the even ones only, and no sum."""
    inputs = [np.array([2049.0 + rank, 1.0, 1e-3]).astype(dtype) for rank in range(8)]

    def run(comm):
        arrays = comm.transport.arrays
        x = arrays.from_host(inputs[comm.rank])
        return arrays.to_host(comm.all_reduce(x, "avg", accumulate="float32"))

    wanted = np.mean(np.stack(inputs).astype(np.float64), axis=0).astype(dtype)
    for each in (None, on(LateRuntime())):
        for found in spawn(8, run, arrays=each):
            assert found.dtype == dtype
            assert (found == wanted).all()


def test_a_plan_that_runs_a_second_time_allocates_nothing(monkeypatch):
    """Also where a step sends what it merges into; nor is the arrays' own ``copy`` called, for
    which a library may have a kernel to compile."""
    runtime = LateRuntime()

    def refuse(*_):
        raise AssertionError("no plan is to do this when it runs")

    def run(comm):
        x = comm.transport.arrays.from_host(np.full(6, 1.0 + comm.rank))
        plan = comm.plan("all_reduce", x, out=x, algorithm="recursive_doubling")
        plan.run()
        comm.barrier()
        monkeypatch.setattr(LateArray, "copy", refuse)
        monkeypatch.setattr(runtime, "empty", refuse)
        return runtime.peek(plan.run())

    for found in spawn(2, run, arrays=on(runtime)):
        assert (found == 6).all()


def test_memory_of_the_communicator_and_a_users_operator():
    runtime = LateRuntime()

    def larger(left, right):
        merged = left.copy()
        runtime.merging("max", left.dtype)(left, right, merged)
        return merged

    def larger_merge(left, right, out):
        runtime.copy(out, larger(left, right))

    op = user_operator(larger, "larger", commutative=True)
    object.__setattr__(op, "merge", larger_merge)  # the stand-in has no out[...] = merged

    def run(comm):
        x = comm.empty((2, 3))
        comm.transport.arrays.copy(x, comm.transport.arrays.from_host(np.full((2, 3), comm.rank)))
        return runtime.peek(comm.all_reduce(x, op))

    for found in spawn(3, run, arrays=on(runtime)):
        assert (found == 2).all()


def test_a_ranks_device_is_its_threads():
    """What a rank makes lies where its communicator is."""
    runtime = LateRuntime(devices=2)
    made = spawn(3, lambda comm: runtime.empty(1).device, arrays=on(runtime))
    assert made == [0, 1, 0]


def test_ranks_that_come_late_are_told():
    def run(comm):
        x = comm.transport.arrays.from_host(np.ones(4))
        with comm.watch() as seen:
            comm.all_reduce(x)
        return len(seen.report().calls)

    nodes = ((0,), (1,))
    assert spawn(2, run, arrays=on(LateRuntime()), nodes=nodes) == [1, 1]


def test_what_is_no_source_of_arrays_is_refused():
    with pytest.raises(ArgumentError, match="arrays='numba' does not exist; there are cupy"):
        spawn(2, lambda comm: None, arrays="numba")
    with pytest.raises(ArgumentError, match="arrays=3 must be a name, or a function of a rank"):
        spawn(2, lambda comm: None, arrays=3)
    with pytest.raises(ArgumentError, match="checksums=True is for host memory"):
        spawn(2, lambda comm: None, arrays=on(LateRuntime()), checksums=True)
