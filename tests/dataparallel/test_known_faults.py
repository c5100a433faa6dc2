"""Faults of well-known libraries: the check finds a faulty variant, and finds ours right.

Each check is given an implementation, and says whether it gets the small case of the bug
report right; each is tried on the fault, written down in a few lines, and on refcoll.
"""

import numpy as np
import pytest

import refcoll
from refcoll.dataparallel.halves import Half
from refcoll.dataparallel.optimizers import Sgd
from refcoll.dataparallel.parallel import DataParallel
from refcoll.dataparallel.replicas import differing
from refcoll.dataparallel.sharded import Zero2

TIMEOUT = 20


def spawn(size, function):
    return refcoll.spawn(size, function, timeout=TIMEOUT)


def average(comm, value):
    """A plain all-reduce, for the variants."""
    return comm.all_reduce(np.asarray(value, float), "avg")


class Accumulation:
    """pytorch#69031, FunASR#3472: micro-batches given as (synchronise?, gradients by name)."""

    def p1_then_p2(self, implementation):
        trace = [
            [(False, {"p1": first}), (True, {"p2": second})] for first, second in ((1, 10), (3, 30))
        ]
        return self._run(implementation, trace, {"p1": 2.0, "p2": 20.0})

    def one_parameter(self, implementation):
        trace = [[(False, {"p1": a}), (True, {"p1": b})] for a, b in ((1, 2), (3, 5))]
        return self._run(implementation, trace, {"p1": 5.5})

    def _run(self, implementation, trace, right):
        return spawn(2, lambda comm: implementation(comm, trace[comm.rank])) == [right] * 2


def ours(comm, trace):
    names = {name for _, gradients in trace for name in gradients}
    values = {name: np.zeros(()) for name in sorted(names)}
    with DataParallel(comm, values, average="ranks", unused="find") as replica:
        for synchronise, gradients in trace:
            if synchronise:
                with replica.backward() as ready:
                    [ready(name, np.array(float(g))) for name, g in gradients.items()]
            else:
                with replica.no_sync(), replica.backward() as ready:
                    [ready(name, np.array(float(g))) for name, g in gradients.items()]
        return {name: float(mean) for name, mean in replica.wait().items()}


def used_last_only(comm, trace):
    """Synchronises what the last micro-batch used, and leaves the rest as it is here."""
    local = {}
    for _, gradients in trace:
        for name, value in gradients.items():
            local[name] = local.get(name, 0.0) + value
    last = trace[-1][1]
    return {n: float(average(comm, v)) if n in last else float(v) for n, v in local.items()}


def off_by_one(comm, trace):
    """Synchronises the first micro-batch and not the last: index % k == 0."""
    local = {}
    for index, (_, gradients) in enumerate(trace):
        for name, value in gradients.items():
            local[name] = local.get(name, 0.0) + value
            if index % len(trace) == 0:
                local[name] = float(average(comm, local[name]))
    return local


@pytest.mark.parametrize(
    ("case", "faulty"), [("p1_then_p2", used_last_only), ("one_parameter", off_by_one)]
)
def test_accumulation(case, faulty):
    check = getattr(Accumulation(), case)
    assert check(ours)
    assert not check(faulty)


def joined(comm, active, divide_by):
    """pytorch#42577: the mean of 1, 1, 1 where the fourth rank has run out."""
    values = {"p": np.zeros(())}
    with DataParallel(comm, values, average="ranks", uneven=True, divide_by=divide_by) as replica:
        if active:
            with replica.backward() as ready:
                ready("p", np.array(1.0))
            found = float(replica.wait()["p"])
        for _ in replica.join():
            found = float(replica.wait()["p"])
    return found


def joined_without_choice(comm, active, divide_by):
    """Always divides by the size at the start, whatever is asked for."""
    del divide_by
    return float(average(comm, 1.0 if active else 0.0))


@pytest.mark.parametrize(
    ("implementation", "right"), [(joined, True), (joined_without_choice, False)]
)
def test_uneven_inputs(implementation, right):
    wanted = {"active": 1.0, "initial": 0.75}
    found = {
        by: set(spawn(4, lambda comm, by=by: implementation(comm, comm.rank != 1, by)))
        for by in wanted
    }
    assert (found == {by: {mean} for by, mean in wanted.items()}) is right


def weighted(comm, gradient, tokens):
    with DataParallel(comm, {"p": np.zeros(())}) as replica:
        with replica.backward(tokens) as ready:
            ready("p", np.array(float(gradient)))
        return float(replica.wait()["p"])


@pytest.mark.parametrize(
    ("implementation", "right"),
    [(weighted, True), (lambda comm, gradient, tokens: float(average(comm, gradient)), False)],
)
def test_unequal_token_counts(implementation, right):
    """transformers#34242: five tokens of gradient 1 and one of 7 are 12 / 6."""
    given = [(1, 5), (7, 1)]
    assert (spawn(2, lambda comm: implementation(comm, *given[comm.rank])) == [2.0] * 2) is right


def bucketed(comm, arrival):
    values = {name: np.zeros(4) for name in arrival}
    values = {name: values[name] for name in sorted(values)}
    with DataParallel(comm, values, average="ranks", buckets="whole") as replica:
        with replica.backward() as ready:
            for name, value in arrival.items():
                ready(name, np.full(4, float(value)))
        return {name: mean.tolist() for name, mean in replica.wait().items()}


def bucketed_by_arrival(comm, arrival):
    """What comes first lies first in the bucket."""
    flat = average(comm, np.concatenate([np.full(4, float(v)) for v in arrival.values()]))
    return {name: flat[4 * i : 4 * i + 4].tolist() for i, name in enumerate(arrival)}


@pytest.mark.parametrize(
    ("implementation", "right"), [(bucketed, True), (bucketed_by_arrival, False)]
)
def test_arrival_orders_that_differ(implementation, right):
    """deepspeed#2343: g1 = 2 and g2 = 20; by position 15.5 and 6.5."""
    arrivals = [{"x1": 1, "x2": 10}, {"x2": 30, "x1": 3}]
    found = spawn(2, lambda comm: implementation(comm, arrivals[comm.rank]))
    assert all(each == {"x1": [2.0] * 4, "x2": [20.0] * 4} for each in found) is right


def sharded(comm, lengths, whole):
    """What each rank's shards are, gathered again: minus the mean gradients."""
    values = {f"p{i}": np.zeros(length) for i, length in enumerate(lengths)}
    options = {"ownership": "padded", "buckets": [[name] for name in values]}
    with Zero2(comm, values, Sgd(1.0), **options) as replica:
        with replica.backward(1) as ready:
            start = 0
            for name, value in values.items():
                ready(name, whole[start : start + value.size])
                start += value.size
        replica.step()
    return -np.concatenate([*values.values()])


def sharded_by_the_whole(comm, lengths, whole):
    """Pads the flat buffer only, but cuts each bucket: ranges and shards disagree."""
    found, start = np.full(whole.size, np.nan), 0
    for length in lengths:
        share = length // comm.size
        for rank in range(comm.size):
            own = slice(start + rank * share, start + (rank + 1) * share)
            found[own] = average(comm, whole[own])
        start += length
    return found


def sharded_with_garbage(comm, lengths, whole):
    """Reduces what fits into the bucket of the first length; padding was never written."""
    cap = lengths[0] - lengths[0] % comm.size
    scratch = np.full(whole.size, np.nan)
    scratch[:cap] = whole[:cap]
    return average(comm, scratch)


@pytest.mark.parametrize("faulty", [sharded_by_the_whole, sharded_with_garbage])
@pytest.mark.parametrize(
    ("lengths", "whole", "right"),
    [((10, 6), lambda rank: np.arange(16.0), np.arange(16.0)),  # Megatron-LM#561
     ((10,), lambda rank: np.full(10, rank + 1.0), np.full(10, 2.5))],  # deepspeed#3832
)  # fmt: skip
def test_shards_whose_length_the_ranks_do_not_divide(faulty, lengths, whole, right):
    def holds(implementation):
        results = spawn(4, lambda comm: implementation(comm, lengths, whole(comm.rank)))
        return all(np.array_equal(each, right) for each in results)

    assert holds(sharded)
    assert not holds(faulty)


@pytest.mark.parametrize("algorithm", ["ring", "hierarchical_rails", "hierarchical_leaders"])
def test_a_divisor_of_one_s_own_is_applied_once_whatever_the_levels(algorithm):
    """pytorch#155903: 300 on 8 ranks over 300 is 8, flat or on two nodes of four."""

    def run(comm):
        values = {"p": np.zeros(4)}
        with DataParallel(comm, values, gradients="sum", algorithm=algorithm) as replica:
            with replica.backward(300 / 8) as ready:
                ready("p", np.full(4, 300.0))
            return replica.wait()["p"].tolist()

    def averaged_per_level(comm):
        """The sum over 300 within a node, and an average of nodes on top."""
        node = comm.split(comm.rank // 4, comm.rank)
        return float(average(comm, node.all_reduce(np.array(300.0)) / 300))

    nodes = refcoll.node_shape((4, 4))
    assert refcoll.spawn(8, run, nodes=nodes, timeout=TIMEOUT) == [[8.0] * 4] * 8
    assert refcoll.spawn(8, averaged_per_level, nodes=nodes, timeout=TIMEOUT) != [8.0] * 8


def test_every_rank_merging_in_an_order_of_its_own():
    """ompi#12258: 1e8, 1, -1e8, 1, own value first, gives 1, 1, 2 and 0."""
    inputs = np.array([1e8, 1, -1e8, 1], np.float32)

    def own_first(comm):
        everything = comm.all_gather(inputs[comm.rank : comm.rank + 1])
        total = everything[comm.rank]
        for other in range(comm.size):
            total = total + everything[other] if other != comm.rank else total
        return {"p": np.array([total])}

    def right(comm):
        with DataParallel(comm, {"p": np.zeros(1, np.float32)}, average="ranks") as replica:
            with replica.backward() as ready:
                ready("p", inputs[comm.rank : comm.rank + 1])
            return dict(replica.wait())

    def checked(implementation):
        return spawn(4, lambda comm: differing(comm, implementation(comm)))[0]

    assert checked(right) == {}
    assert checked(own_first) == {"p": [2, 3]}  # 2 and 0, not 1


def test_half_precision_overflows_in_the_sum_or_vanishes_in_the_quotient():
    """pytorch#57410: 20000 and 6e-8 on four ranks.  Neither order is right for both."""
    given = np.array([20000, 6e-8], np.float32)

    def run(comm, divide):
        reduction = Half("float16", divide=divide)
        with DataParallel(comm, {"p": np.zeros(2, np.float32)}, average="ranks",
                          reduction=reduction) as replica:  # fmt: skip
            with replica.backward() as ready:
                ready("p", given)
            return replica.wait()["p"].tolist()

    (large, vanished), *others = spawn(4, lambda comm: run(comm, "first"))
    assert (large, vanished) == (20000, 0)
    assert others == [[20000, 0]] * 3
    overflown, small = spawn(4, lambda comm: run(comm, "last"))[0]
    assert (overflown, small) == (np.inf, float(np.float16(6e-8)))
    # Half of 6e-8 rounds to the least subnormal, 2^-24: four of those over two are 2^-23.
    assert spawn(4, lambda comm: run(comm, "split"))[0] == [20000, 2.0**-23]
