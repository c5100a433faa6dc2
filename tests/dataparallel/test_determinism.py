"""deterministic=True: which bits depend on what, and which on nothing."""

import numpy as np
import pytest

import refcoll
from refcoll.dataparallel.parallel import DataParallel
from refcoll.dataparallel.reductions import DETERMINISTIC, DETERMINISTIC_SCATTER
from refcoll.errors import ArgumentError

TIMEOUT = 20
LENGTHS = {"a": 13, "b": 50, "c": 7, "d": 31}
MIB = 1 / 2**20


def balanced_sum(values):
    """Neighbours added in pairs, then those: of 2^k values.  The order of the claim."""
    while len(values) > 1:
        values = [a + b for a, b in zip(values[::2], values[1::2], strict=True)]
    return values[0]


def folded_sum(values):
    """Of other numbers: the first 2x values are added in pairs until 2^k are left."""
    extra = len(values) - (1 << len(values).bit_length() - 1)
    pairs = [a + b for a, b in zip(values[: 2 * extra : 2], values[1 : 2 * extra : 2], strict=True)]
    return balanced_sum([*pairs, *values[2 * extra :]])


def rough(size, seed=0):
    """Numbers whose sum depends on the order."""
    generator = np.random.default_rng(seed)
    scales = 10.0 ** generator.integers(-4, 5, (size, 64))
    return (generator.standard_normal((size, 64)) * scales).astype(np.float32)


@pytest.mark.parametrize(
    ("collective", "name"),
    [("all_reduce", DETERMINISTIC), ("reduce_scatter", DETERMINISTIC_SCATTER)],
)
@pytest.mark.parametrize("size", [*range(1, 18), 24, 32, 33, 64])
def test_every_element_is_merged_by_the_same_tree(collective, name, size):
    made = refcoll.program(collective, name, size)
    inputs = rough(size)
    results = refcoll.simulate(made, [np.tile(each, made.chunks) for each in inputs])
    wanted = folded_sum([*inputs])
    for rank, result in enumerate(results):
        chunks = result.reshape(made.chunks, -1)
        own = chunks if collective == "all_reduce" else chunks[rank : rank + 1]
        for chunk in own:
            assert chunk.tobytes() == wanted.tobytes()


def means(comm, seed=0, order="dcba", **options):
    """After two steps, so that buckets are rebuilt."""
    values = {name: np.zeros(length, np.float32) for name, length in LENGTHS.items()}
    with DataParallel(comm, values, **options) as replica:
        for _ in range(2):
            with replica.backward(comm.rank + 1) as ready:
                for name in order:
                    one = np.random.default_rng((seed, comm.rank, ord(name)))
                    scale = 10.0 ** one.integers(-4, 5, LENGTHS[name])
                    gradient = one.standard_normal(LENGTHS[name]) * scale
                    ready(name, gradient.astype(np.float32))
            found = {name: each.tobytes() for name, each in replica.wait().items()}
    return tuple(found[name] for name in LENGTHS)


def found(size, **options):
    """What all ranks found, which must be the same."""
    results = set(refcoll.spawn(size, lambda comm: means(comm, **options), timeout=TIMEOUT))
    assert len(results) == 1
    return results.pop()


VARIANTS = [
    {"bucket_cap_mb": 100 * MIB},
    {"bucket_cap_mb": 250 * MIB},
    {"buckets": "whole"},
    {"buckets": "single"},
    {"buckets": [["a", "c"], ["d", "b"]]},
    {"order": "badc"},
    {"order": "cadb", "bucket_cap_mb": 150 * MIB},
]


@pytest.mark.parametrize("size", [3, 4, 6, 8])
def test_results_depend_neither_on_buckets_nor_on_arrival(size):
    """pytorch#30509: another bucket cap gave another checksum."""
    reference = found(size, deterministic=True)
    for variant in VARIANTS:
        assert found(size, deterministic=True, **variant) == reference, variant


def test_with_a_ring_they_do():
    assert len({found(4, algorithm="ring", **variant) for variant in VARIANTS}) > 1


@pytest.mark.parametrize("algorithm", ["auto", "ring", "recursive_doubling"])
def test_a_run_repeats_itself_to_the_bit_with_any_algorithm(algorithm):
    """nccl#1497: the same inputs gave other bits in another call."""
    assert len({found(4, algorithm=algorithm) for _ in range(5)}) == 1


class AsTheyCome:
    """Adds up what ranks send in the order in which it comes: ``first`` is there first."""

    keeps_state = False

    def __init__(self, first):
        self.first = first

    def bind(self, comm, bucket):
        flat, first = np.empty(bucket.count, bucket.dtype), self.first

        class Bound:
            memory = staticmethod(lambda: flat)

            def run(self, divisor):
                everyone = comm.all_gather(flat).reshape(comm.size, -1)
                return np.add.accumulate(np.roll(everyone, -first, axis=0))[-1] / flat.dtype.type(
                    divisor
                )

        return Bound()


def test_one_that_merges_as_messages_come_does_not():
    """That report's fault, as in a switch: ranks agree, and only another call shows it."""
    assert len({found(4, reduction=AsTheyCome(first)) for first in range(4)}) > 1


def test_what_still_depends_on_the_number_of_ranks_and_micro_batches():
    """One rank with all, two with half each, and two halves accumulated: other trees."""
    samples = rough(8, seed=3)

    def run(comm, parts):
        own = np.array_split(samples, comm.size)[comm.rank]
        values = {"w": np.zeros(64, np.float32)}
        with DataParallel(comm, values, gradients="sum", deterministic=True) as replica:
            *first, last = np.array_split(own, parts)
            for batch in first:
                with replica.no_sync(), replica.backward(len(batch)) as ready:
                    ready("w", np.add.accumulate(batch)[-1])
            with replica.backward(len(last)) as ready:
                ready("w", np.add.accumulate(last)[-1])
            return replica.wait()["w"].tobytes()

    def total(size, parts):
        return set(refcoll.spawn(size, lambda comm: run(comm, parts), timeout=TIMEOUT))

    results = [total(1, 1), total(2, 1), total(4, 1), total(1, 4)]
    assert all(len(each) == 1 for each in results)
    assert len(set().union(*results)) == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"algorithm": "ring"}, "algorithm='ring' with deterministic=True"),
        ({"reduction": "onebit"}, "deterministic=True with reduction='onebit'"),
        ({"reduction": "powersgd"}, "deterministic=True with reduction='powersgd'"),
    ],
)
def test_what_cannot_be_deterministic_is_refused(options, said):
    with pytest.raises(ArgumentError, match=said):
        found(2, deterministic=True, **options)
