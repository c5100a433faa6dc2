"""The rule "ddp" against PyTorch itself: its function, and what its reducer launches."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refcoll.dataparallel.assignment import by_size
from refcoll.dataparallel.buckets import bucket_rule
from refcoll.dataparallel.tensors import Tensor

torch = pytest.importorskip(
    "torch",
    minversion="2.13",
    reason="needs torch: pip install torch==2.13.0 (a CPU build) and run pytest "
    "tests/dataparallel/torch",
)
dist = torch.distributed

import ddp_watched  # noqa: E402  (it needs torch)

MIB = 1 << 20
DTYPES = {
    np.dtype(np.float32): torch.float32,
    np.dtype(np.float16): torch.float16,
    np.dtype(ml_dtypes.bfloat16): torch.bfloat16,
    np.dtype(np.float64): torch.float64,
    np.dtype(ml_dtypes.float8_e4m3fn): torch.float8_e4m3fn,
    np.dtype(ml_dtypes.float8_e5m2): torch.float8_e5m2,
}


# ---- torch.distributed._compute_bucket_assignment_by_size ----------------------------------

ROWS = st.lists(
    st.tuples(st.lists(st.integers(0, 6), max_size=3), st.sampled_from(list(DTYPES))),
    min_size=1, max_size=40,
)  # fmt: skip
CAPS = st.lists(st.integers(0, 500), min_size=1, max_size=4)


def assigned_by_torch(tensors, caps, order):
    """Indices and limits; with no ``order`` torch sorts the buckets by their first index."""
    made = [torch.empty(each.shape, dtype=DTYPES[each.dtype]) for each in tensors]
    shown = made if order is None else [made[index] for index in order]
    return dist._compute_bucket_assignment_by_size(shown, caps, [], order or [])


@settings(max_examples=1000, deadline=None)
@given(ROWS, CAPS, st.randoms(use_true_random=False))
def test_by_size_in_order_of_arrival_is_torchs(rows, caps, shuffled):
    tensors = [Tensor(str(i), tuple(shape), dtype) for i, (shape, dtype) in enumerate(rows)]
    order = list(range(len(tensors)))
    shuffled.shuffle(order)
    indices, limits = assigned_by_torch(tensors, caps, order)
    ours = by_size([tensors[index] for index in order], caps)
    assert [[int(each.name) for each in bucket.tensors] for bucket in ours] == indices
    assert [bucket.limit for bucket in ours] == limits


@settings(max_examples=1000, deadline=None)
@given(ROWS, CAPS)
def test_initial_buckets_are_torchs_turned_round(rows, caps):
    tensors = [Tensor(str(i), tuple(shape), dtype) for i, (shape, dtype) in enumerate(rows)]
    indices, limits = assigned_by_torch(tensors, caps, None)
    ours = bucket_rule("ddp", cap_bytes=tuple(caps)).initial(tensors)
    assert [[int(each.name) for each in bucket.tensors] for bucket in ours] == indices[::-1]
    assert [bucket.limit for bucket in ours] == limits[::-1]


def test_the_first_cap_is_torchs():
    assert dist._DEFAULT_FIRST_BUCKET_BYTES == MIB


# ---- DistributedDataParallel -----------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def world(tmp_path_factory):
    """A world of one process, which makes the buckets that a larger one makes."""
    ddp_watched.join(tmp_path_factory.mktemp("gloo") / "store", rank=0, size=1)
    yield
    dist.destroy_process_group()


def expected(tensors, arrival, **options):
    """Of our rule: the buckets of each step."""
    rule = bucket_rule("ddp", **options)
    rebuilt = rule.rebuilt(tensors, arrival)
    settled = rule.initial(tensors) if rebuilt is None else rebuilt
    late = ddp_watched.STEPS - rule.warm_up_steps
    return [rule.initial(tensors)] * rule.warm_up_steps + [settled] * late


def require_the_same(tensors, uses, torchs, ours):
    shapes = [(each.name, each.shape, DTYPES[each.dtype]) for each in tensors]
    steps, logged = ddp_watched.watched(ddp_watched.Chain(shapes, uses), **torchs)
    arrival = steps[-1][1]
    unused = [each.name for each in tensors if each.name not in arrival]
    mine = expected(tensors, arrival + unused, **ours)
    for (launched, _), buckets in zip(steps, mine, strict=True):
        assert launched == [[each.name for each in bucket.tensors] for bucket in buckets]
    assert sizes(logged["bucket_sizes"]) == [bucket.nbytes for bucket in mine[0]]
    if logged["has_rebuilt_buckets"]:
        assert sizes(logged["rebuilt_bucket_sizes"]) == [bucket.nbytes for bucket in mine[-1]]
    else:
        assert mine[0] == mine[-1]


def sizes(said):
    return [int(each) for each in said.split(", ")]


def model(seed, dtypes=("float32",)):
    """12 parameters of up to 9 MB, used in an order of their own."""
    draw = random.Random(seed)
    tensors = [
        Tensor(f"p{i}", (int(10 ** draw.uniform(1, 6.35)),), np.dtype(draw.choice(dtypes)))
        for i in range(12)
    ]
    uses = [each.name for each in tensors]
    draw.shuffle(uses)
    return tensors, uses


CASES = {
    "the defaults": ({}, {}),
    "a cap of 3 MiB": ({"bucket_cap_mb": 3}, {"cap_bytes": 3 * MIB}),
    "the default cap, said": ({"bucket_cap_mb": 25}, {"cap_bytes": 25 * MIB}),
    "unused parameters": ({"find_unused_parameters": True}, {"find_unused": True}),
    "unused parameters and a cap": (
        {"find_unused_parameters": True, "bucket_cap_mb": 2},
        {"find_unused": True, "cap_bytes": 2 * MIB},
    ),
    "a static graph": ({"static_graph": True}, {"static_graph": True}),
    "a list of caps": ({"bucket_cap_mb_list": [1, 5, 2]}, {"cap_bytes": (MIB, 5 * MIB, 2 * MIB)}),
    "a list of caps and unused parameters": (
        {"bucket_cap_mb_list": [1, 5], "find_unused_parameters": True},
        {"cap_bytes": (MIB, 5 * MIB), "find_unused": True},
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [1, 2])
def test_ddp_launches_our_buckets(case, seed):
    torchs, ours = CASES[case]
    require_the_same(*model(seed), torchs, ours)


@pytest.mark.parametrize("case", ["the defaults", "a cap of 3 MiB", "unused parameters"])
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_ddp_launches_our_buckets_of_several_dtypes(case, seed):
    torchs, ours = CASES[case]
    require_the_same(*model(seed, ("float32", "float16", "float64")), torchs, ours)


@pytest.mark.parametrize("case", ["unused parameters", "a static graph"])
def test_parameters_that_are_never_used_come_last_where_ddp_rebuilds(case):
    torchs, ours = CASES[case]
    tensors, uses = model(6)
    require_the_same(tensors, uses[:-3], torchs, ours)


@pytest.mark.filterwarnings("ignore:You passed find_unused_parameters=true:UserWarning")
def test_a_static_graph_rebuilds_though_unused_parameters_are_found():
    tensors, uses = model(7)
    torchs = {"find_unused_parameters": True, "static_graph": True}
    require_the_same(tensors, uses[:-2], torchs, {"find_unused": True, "static_graph": True})


def test_all_ranks_take_rank_0s_order_of_arrival(tmp_path):
    """On rank 1 the gradients come the other way round."""
    program, store = ddp_watched.__file__, str(tmp_path / "store")
    ranks = [
        subprocess.Popen([sys.executable, program, store, str(rank)], stdout=subprocess.PIPE)
        for rank in range(2)
    ]
    said = [json.loads(each.communicate(timeout=120)[0]) for each in ranks]
    tensors = [Tensor(name, tuple(shape)) for name, shape in said[0]["shapes"]]
    arrivals = [each["steps"][0][1] for each in said]
    assert arrivals[0] == arrivals[1][::-1]
    rebuilt = expected(tensors, arrivals[0])[-1]
    assert len(rebuilt) == 2
    for each in said:
        launched, _ = each["steps"][-1]
        assert launched == [[tensor.name for tensor in bucket.tensors] for bucket in rebuilt]
