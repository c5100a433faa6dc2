"""ZeRO-2 and the parameter server: shards, padding, memory, and the same bits as unsharded."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import refcoll
from refcoll.dataparallel.memory import zero_nbytes
from refcoll.dataparallel.optimizers import Adam, Sgd
from refcoll.dataparallel.parallel import DataParallel
from refcoll.dataparallel.replicas import differing
from refcoll.dataparallel.sharded import ParameterServer, Zero2
from refcoll.dataparallel.sharding import OWNERSHIPS
from refcoll.errors import ArgumentError

TIMEOUT = 20
SHAPES = {"w1": (7, 5), "b1": (5,), "w2": (5, 3), "b2": (3,), "scale": ()}
BUCKETS = [["scale", "b2", "w2"], ["b1", "w1"]]  # 19 and 40 elements
OPTIMIZERS = {
    "sgd": lambda: Sgd(0.1),
    "momentum": lambda: Sgd(0.1, momentum=0.9, weight_decay=0.01),
    "adam": lambda: Adam(0.01, weight_decay=0.1),
}


def start(dtype):
    generator = np.random.default_rng(3)
    return {name: generator.standard_normal(shape).astype(dtype) for name, shape in SHAPES.items()}


def gradients(rank, step, dtype):
    generator = np.random.default_rng((rank, step))
    return {
        name: np.asarray(generator.standard_normal(shape), dtype)
        for name, shape in reversed(SHAPES.items())
    }


def fed(replica, rank, step, dtype):
    with replica.backward(rank + 1) as ready:
        for name, gradient in gradients(rank, step, dtype).items():
            ready(name, gradient)


def unsharded(comm, make, dtype=np.float32, **options):
    values, optimizer = start(dtype), make()
    with DataParallel(comm, values, buckets=BUCKETS, **options) as replica:
        for step in range(3):
            fed(replica, comm.rank, step, dtype)
            optimizer.step(values, replica.wait())
    return values


def sharded(comm, make, kind=Zero2, dtype=np.float32, **options):
    values = start(dtype)
    with kind(comm, values, make(), buckets=BUCKETS, **options) as replica:
        for step in range(3):
            fed(replica, comm.rank, step, dtype)
            replica.step()
    assert differing(comm, values) == {}
    return values


def require_same_bits(size, one, other):
    pairs = refcoll.spawn(size, lambda comm: (one(comm), other(comm)), timeout=TIMEOUT)
    for first, second in pairs:
        for name in SHAPES:
            assert first[name].tobytes() == second[name].tobytes(), name


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_parameters_equal_the_unsharded_run_to_the_bit(size, optimizer):
    """The ring's reduce-scatter is the first half of its all-reduce, and merges alike."""
    make = OPTIMIZERS[optimizer]
    require_same_bits(
        size,
        lambda comm: unsharded(comm, make, algorithm="ring"),
        lambda comm: sharded(comm, make, algorithm="ring"),
    )


@pytest.mark.parametrize("size", [2, 3, 5, 8])
@pytest.mark.parametrize("ownership", ["balanced", "padded"])
def test_with_one_tree_for_all_elements_padding_does_not_matter_either(size, ownership):
    require_same_bits(
        size,
        lambda comm: unsharded(comm, OPTIMIZERS["adam"], deterministic=True),
        lambda comm: sharded(comm, OPTIMIZERS["adam"], ownership=ownership, deterministic=True),
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_with_master_parameters(dtype):
    import ml_dtypes

    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    require_same_bits(
        3,
        lambda comm: unsharded(comm, OPTIMIZERS["adam"], kind, deterministic=True),
        lambda comm: sharded(comm, OPTIMIZERS["adam"], dtype=kind, deterministic=True),
    )


@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_parameter_server_trains_alike(size):
    require_same_bits(
        size,
        lambda comm: unsharded(comm, OPTIMIZERS["momentum"], deterministic=True),
        lambda comm: sharded(comm, OPTIMIZERS["momentum"], ParameterServer, deterministic=True),
    )


@settings(deadline=None)
@given(count=st.integers(0, 200), size=st.integers(1, 17), name=st.sampled_from([*OWNERSHIPS]))
def test_shards_cover_a_bucket_exactly(count, size, name):
    counts = OWNERSHIPS[name](count, size)
    assert len(counts) == size
    padding = sum(counts) - count
    assert padding == ((-count) % size if name == "padded" else 0)
    if name == "balanced":
        assert max(counts) - min(counts) <= 1
    if name == "padded":
        assert len(set(counts)) == 1


def test_each_bucket_is_padded_not_only_the_whole():
    """Megatron-LM#561: buckets of 10 and 6 on 4 ranks: shards of 3 and of 2."""
    assert OWNERSHIPS["padded"](10, 4) == (3, 3, 3, 3)
    assert OWNERSHIPS["padded"](6, 4) == (2, 2, 2, 2)

    def run(comm):
        values = {"a": np.zeros(10), "b": np.zeros(6)}
        with Zero2(comm, values, Sgd(1.0), ownership="padded", buckets=[["a"], ["b"]]) as replica:
            with replica.backward(1) as ready:
                ready("a", np.arange(10.0))
                ready("b", np.arange(10.0, 16.0))
            replica.step()
            return values, [each.tolist() for each in replica.shards]

    results = refcoll.spawn(4, run, timeout=TIMEOUT)
    for values, _ in results:
        assert (-np.concatenate([values["a"], values["b"]])).tolist() == [*range(16)]
    assert results[3][1] == [[9, 0, 0], [0, 0]]
    assert results[2][1] == [[6, 7, 8], [14, 15]]


@settings(max_examples=25, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    size=st.integers(1, 5),
    ownership=st.sampled_from(["balanced", "padded"]),
)
def test_gathered_shards_are_the_mean_for_any_lengths(lengths, size, ownership):
    """deepspeed#3832: padding from memory that was never written must not reach a result."""

    def run(comm):
        values = {f"p{i}": np.zeros(length) for i, length in enumerate(lengths)}
        with Zero2(comm, values, Sgd(1.0), ownership=ownership, buckets="single") as replica:
            with replica.backward(1) as ready:
                for name in reversed(values):
                    ready(name, np.full_like(values[name], comm.rank + 1))
            replica.step()
        return values

    for values in refcoll.spawn(size, run, timeout=TIMEOUT):
        for value in values.values():
            assert (value == -(size + 1) / 2).all()


def test_accumulation_and_joining_with_shards():
    def run(comm):
        values = {"p": np.zeros(5)}
        with Zero2(comm, values, Sgd(1.0), uneven=True) as replica:
            with replica.no_sync(), replica.backward(1) as ready:
                ready("p", np.full(5, 2.0))
            with replica.backward(3) as ready:
                ready("p", np.full(5, 6.0))
            replica.step()  # (2 + 18) / 4 = 5
            if comm.rank == 1:
                with replica.backward(1) as ready:
                    ready("p", np.full(5, 1.0))
                replica.step()
            for _ in replica.join():
                replica.step()
        return values["p"].tolist()

    assert refcoll.spawn(3, run, timeout=TIMEOUT) == [[-6.0] * 5] * 3


# ---- memory ------------------------------------------------------------------------------


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.88)])
def test_the_paper_s_figure(stage, gigabytes):
    """Rajbhandari et al. 2020, figure 1: 7.5 billion parameters, 64 ranks, K = 12."""
    assert float(zero_nbytes(7_500_000_000, 64, stage)) / 1e9 == pytest.approx(gigabytes, rel=5e-3)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_bytes_that_a_rank_holds_are_those_of_the_formula(size):
    """Counted on the arrays themselves: gradients and Adam's states in mixed precision."""
    elements = 4 * 30

    def run(comm):
        values = {"a": np.zeros(40, np.float16), "b": np.zeros(80, np.float16)}
        optimizer = Adam()
        with Zero2(comm, values, optimizer, buckets="single") as replica:
            with replica.backward(1) as ready:
                for name in "ba":
                    ready(name, np.ones_like(values[name]))
            replica.step()
            held = sum(each.nbytes for each in values.values()) + optimizer.nbytes
            return held + sum(each.nbytes for each in replica.shards)

    assert refcoll.spawn(size, run, timeout=TIMEOUT) == [zero_nbytes(elements, size, 2)] * size


def test_the_stage_is_checked():
    with pytest.raises(ArgumentError, match="stage=4 must be 0, 1, 2 or 3"):
        zero_nbytes(10, 2, 4)


def test_a_whole_bucket_is_there_only_while_its_gradients_come():
    """Weak references to what gradients are collected in: gone once a bucket is reduced, while
    backward still goes on."""
    import gc
    import weakref

    from refcoll.dataparallel import sharding

    seen, kept = [], sharding._Scattered.memory

    def run(comm):
        values = {"a": np.zeros(8), "b": np.zeros(8)}
        with Zero2(comm, values, Sgd(1.0), buckets=[["a"], ["b"]]) as replica:
            with replica.backward(1) as ready:
                ready("a", np.ones(8))
                replica.comm.submit(lambda: None).wait()  # behind the reduction of a
                gc.collect()
                alive = sum(each() is not None for rank, each in seen if rank == comm.rank)
                ready("b", np.ones(8))
            replica.step()
        return alive

    def noted(self):
        flat = kept(self)
        seen.append((self._comm.rank, weakref.ref(flat.base)))
        return flat

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sharding._Scattered, "memory", noted)
        assert refcoll.spawn(3, run, timeout=TIMEOUT) == [0] * 3


def test_the_user_s_own_arrays_are_updated():
    def run(comm):
        values = {"p": np.zeros(5)}
        mine = values["p"]
        with Zero2(comm, values, Sgd(1.0)) as replica:
            with replica.backward(1) as ready:
                ready("p", np.ones(5))
            replica.step()
        return mine.tolist()

    assert refcoll.spawn(2, run, timeout=TIMEOUT) == [[-1.0] * 5] * 2


def test_an_optimizer_that_serves_two_replicas_keeps_their_states_apart():
    def run(comm):
        optimizer, ends = Sgd(1.0, momentum=0.9), []
        for _ in range(2):
            values = {"p": np.zeros(3)}
            with Zero2(comm, values, optimizer) as replica:
                with replica.backward(1) as ready:
                    ready("p", np.ones(3))
                replica.step()
            ends.append(values["p"].tolist())
        return ends

    assert refcoll.spawn(2, run, timeout=TIMEOUT) == [[[-1.0] * 3] * 2] * 2


@pytest.mark.parametrize("other", [{"gather": "ring"}, {"optimizer": Sgd(2.0)}])
def test_what_ranks_update_by_must_be_the_same(other):
    def run(comm):
        given = {"optimizer": Sgd(1.0), **(other if comm.rank == 1 else {})}
        Zero2(comm, {"p": np.zeros(3)}, **given)

    with pytest.raises(refcoll.DisagreementError, match=f"rank 1: .*{next(iter(other))}="):
        refcoll.spawn(2, run, timeout=TIMEOUT)
