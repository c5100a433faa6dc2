"""N replicas with their micro-batches = one device with all of it."""

from fractions import Fraction

import numpy as np
import pytest

import exact_problem as exact
import refcoll
from refcoll.dataparallel import DataParallel, Sgd, Zero2
from refcoll.dataparallel.replicas import differing

TIMEOUT = 20
RATE = 2.0**-12


def one_device(batches, steps, divide):
    """Plain training, each step on the union of the ranks' batches."""
    values = exact.parameters()
    for step in range(steps):
        union = np.concatenate([batch[step] for batch in batches])
        for name, sums in exact.gradient_sums(values, union).items():
            values[name] -= RATE * (sums / divide(len(union)))
    return values


def train(comm, batches, steps, **options):
    values = exact.parameters(seed=comm.rank)  # rank 0's are to be taken
    with DataParallel(comm, values, gradients="sum", **options) as replica:
        for step in range(steps):
            mine = batches[comm.rank][step]
            with replica.backward(len(mine)) as ready:
                for name, sums in exact.gradient_sums(values, mine).items():
                    ready(name, sums)
            for name, mean in replica.wait().items():
                values[name] -= RATE * mean
        assert differing(comm, values) == {}
    return values


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("algorithm", ["auto", "ring", "recursive_doubling"])
def test_training_equals_one_device_to_the_bit_where_nothing_rounds(size, algorithm):
    # Powers of two samples in all, so that the division does not round either.
    counts = [1] * (size - 1) + [16 - (size - 1)]
    batches = [
        [exact.batch(count, (rank, step)) for step in range(2)] for rank, count in enumerate(counts)
    ]
    results = refcoll.spawn(
        size, lambda comm: train(comm, batches, 2, algorithm=algorithm), timeout=TIMEOUT
    )
    wanted = one_device(batches, 2, lambda samples: samples)
    for result in results:
        exact.same(result, wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_otherwise_it_is_within_the_bound_of_any_order(dtype):
    """N products, N - 1 sums and a quotient, each within u: Higham, Accuracy and Stability,
    section 4.2: at most (1 + u)^(N + 1) - 1 times the sum of the absolute values."""
    size, length = 5, 50
    generator = np.random.default_rng(7)
    weights = [3, 1, 4, 1, 5]
    gradients = generator.standard_normal((size, length)).astype(dtype)

    def step(comm):
        with DataParallel(comm, {"w": np.zeros(length, dtype)}) as replica:
            with replica.backward(weights[comm.rank]) as ready:
                ready("w", gradients[comm.rank])
            return replica.wait()["w"].copy()

    results = refcoll.spawn(size, step, timeout=TIMEOUT)
    assert len({result.tobytes() for result in results}) == 1
    unit = Fraction(float(np.finfo(dtype).eps)) / 2
    for place in range(length):
        terms = [w * Fraction(float(g[place])) for w, g in zip(weights, gradients, strict=True)]
        true, size_of = sum(terms) / sum(weights), sum(map(abs, terms)) / sum(weights)
        error = abs(Fraction(float(results[0][place])) - true)
        assert error <= ((1 + unit) ** (size + 1) - 1) * size_of


def mean_of(over, of, given, weights, **options):
    """The mean gradient of one scalar parameter, on every rank."""

    def step(comm):
        with DataParallel(comm, {"w": np.zeros(())}, average=over, gradients=of, **options) as r:
            with r.backward(weights[comm.rank]) as ready:
                ready("w", np.array(float(given[comm.rank])))
            return float(r.wait()["w"])

    return refcoll.spawn(len(given), step, timeout=TIMEOUT)


# Five tokens of gradient 1, and one of gradient 7 (huggingface/transformers#34242).
@pytest.mark.parametrize(
    ("over", "of", "given", "right"),
    [
        ("samples", "mean", [1, 7], 2.0),
        ("samples", "sum", [5, 7], 2.0),
        ("ranks", "mean", [1, 7], 4.0),  # the mean of means
        ("ranks", "sum", [5, 7], 4.0),
    ],
)
def test_the_mean_over_samples_and_the_mean_of_means(over, of, given, right):
    assert mean_of(over, of, given, [5, 1]) == [right, right]


def test_a_micro_batch_of_no_samples_counts_for_nothing_whatever_its_mean():
    assert mean_of("samples", "mean", [3, np.nan], [2, 0]) == [3.0, 3.0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shards", [False, True])
def test_neither_weights_nor_the_sum_overflow_in_half_precision(dtype, shards):
    """4096 samples of gradient 20, and 20000 on four ranks: 65504 is the greatest float16."""
    import ml_dtypes

    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))

    def run(comm):
        values = {"w": np.zeros(2, kind)}
        made = Zero2(comm, values, Sgd(1.0)) if shards else DataParallel(comm, values)
        with made as replica:
            with replica.backward(4096) as ready:
                ready("w", np.array([20, 20000], kind))
            if shards:
                replica.step()
                return (-values["w"].astype(float)).tolist()
            return replica.wait()["w"].astype(float).tolist()

    wanted = np.array([20, 20000], kind).astype(float).tolist()
    assert refcoll.spawn(4, run, timeout=TIMEOUT) == [wanted] * 4


def test_a_step_without_any_sample_is_refused_on_all_ranks():
    with pytest.raises(refcoll.ArgumentError, match="no rank has a sample in this step"):
        mean_of("samples", "mean", [3, 4], [0, 0])


def test_nan_reaches_all_replicas_alike():
    for result in mean_of("samples", "mean", [1, np.nan], [1, 1]):
        assert np.isnan(result)


def test_replicas_that_differ_are_named():
    def run(comm):
        values = exact.parameters()
        if comm.rank == 2:
            values["b1"][1] = np.nextafter(values["b1"][1], 9)
        return differing(comm, values)

    assert refcoll.spawn(3, run, timeout=TIMEOUT) == [{"b1": [2]}] * 3


def test_the_communicator_given_may_be_called_at_another_moment_on_every_rank():
    """The replica has one of its own: its calls and these are never taken for each other."""

    def run(comm):
        parameters = {name: np.zeros(4) for name in "ab"}
        with DataParallel(comm, parameters, average="ranks", buckets="single") as replica:
            with replica.backward() as ready:
                ready("b", np.full(4, 2.0))
                early = comm.all_reduce(np.ones(4)) if comm.rank == 0 else None
                ready("a", np.full(4, 2.0))
            late = comm.all_reduce(np.ones(4)) if comm.rank else early
            means = replica.wait()
        assert all((each == 2).all() for each in means.values())
        return late.tolist(), comm.all_reduce(np.ones(1)).tolist()

    assert refcoll.spawn(2, run, timeout=TIMEOUT) == [([2.0] * 4, [2.0])] * 2
