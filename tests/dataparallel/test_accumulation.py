"""Micro-batches that are added up, parameters that are not always used, ranks that run out."""

import numpy as np
import pytest

import exact_problem as exact
import refcoll
from refcoll.dataparallel.parallel import DataParallel

TIMEOUT = 20
SCALARS = {"p1": np.zeros(()), "p2": np.zeros(())}


def spawn(size, function):
    return refcoll.spawn(size, function, timeout=TIMEOUT)


def scalars():
    return {name: value.copy() for name, value in SCALARS.items()}


def backward(replica, weight=None, **gradients):
    with replica.backward(weight) as ready:
        for name, value in gradients.items():
            ready(name, np.array(float(value)))


def floats(means):
    return {name: float(value) for name, value in means.items()}


def test_only_the_last_micro_batch_synchronises_and_all_of_them_count():
    """pytorch and FunASR#3472: 1, 3 and then 2, 5 on two ranks are (1 + 2 + 3 + 5) / 2 = 5.5."""
    given = [[1, 2], [3, 5]]

    def run(comm):
        with DataParallel(comm, {"p": np.zeros(())}, average="ranks") as replica:
            with replica.no_sync():
                backward(replica, p=given[comm.rank][0])
            assert replica.timeline is None  # nothing was sent
            backward(replica, p=given[comm.rank][1])
            return floats(replica.wait())

    assert spawn(2, run) == [{"p": 5.5}] * 2


def test_no_sync_within_no_sync_does_not_end_it():
    def run(comm):
        with DataParallel(comm, {"p": np.zeros(())}, average="ranks") as replica:
            with replica.no_sync():
                with replica.no_sync():
                    backward(replica, p=1)
                backward(replica, p=2)
            assert replica.timeline is None
            backward(replica, p=4)
            return floats(replica.wait())

    assert spawn(2, run) == [{"p": 7.0}] * 2


@pytest.mark.parametrize("unused", ["error", "find"])
def test_what_any_micro_batch_touched_is_synchronised(unused):
    """pytorch#69031: p1 is used in the first micro-batch only, p2 in the second only."""
    first, second = [1, 3], [10, 30]

    def run(comm):
        with DataParallel(comm, scalars(), average="ranks", unused=unused) as replica:
            for _ in range(2):  # before and after buckets are rebuilt
                with replica.no_sync():
                    backward(replica, p1=first[comm.rank])
                backward(replica, p2=second[comm.rank])
                means = floats(replica.wait())
            return means

    assert spawn(2, run) == [{"p1": 2.0, "p2": 20.0}] * 2


def test_accumulating_equals_one_large_batch_to_the_bit_where_nothing_rounds():
    batches = [[exact.batch(4, (rank, k)) for k in range(4)] for rank in range(2)]

    def run(comm):
        values = exact.parameters()
        with DataParallel(comm, values, gradients="sum") as replica:
            for k, mine in enumerate(batches[comm.rank]):
                sums = exact.gradient_sums(values, mine)
                if k < 3:
                    with replica.no_sync(), replica.backward(len(mine)) as ready:
                        [ready(name, each) for name, each in sums.items()]
                else:
                    with replica.backward(len(mine)) as ready:
                        [ready(name, each) for name, each in sums.items()]
            return {name: each.copy() for name, each in replica.wait().items()}

    union = np.concatenate([batch for of_rank in batches for batch in of_rank])
    sums = exact.gradient_sums(exact.parameters(), union)
    for means in spawn(2, run):
        exact.same(dict(sorted(means.items())), {n: sums[n] / 32 for n in sorted(sums)})


def test_a_parameter_that_no_rank_used_has_no_gradient():
    """So that an optimizer with momentum leaves it alone, as PyTorch's does."""

    def run(comm):
        with DataParallel(comm, scalars(), average="ranks", unused="find") as replica:
            backward(replica, p2=4)
            none_used = floats(replica.wait())
            backward(replica, **({"p1": 3, "p2": 1} if comm.rank == 1 else {"p2": 1}))
            return none_used, floats(replica.wait())

    assert spawn(3, run) == [({"p2": 4.0}, {"p1": 1.0, "p2": 1.0})] * 3


def test_an_unused_parameter_is_an_error_that_names_it_and_the_remedy():
    def run(comm):
        with DataParallel(comm, scalars(), average="ranks") as replica:
            backward(replica, **({"p1": 1} if comm.rank == 1 else {"p1": 1, "p2": 1}))
            replica.wait()

    with pytest.raises(refcoll.ArgumentError, match=r"no gradient has come for p2; .*find"):
        spawn(2, run)


def trained_until_all_have_run_out(comm, steps, **options):
    """Every rank has ``steps[rank]`` batches of gradient 1; the means that it saw."""
    with DataParallel(comm, {"p": np.zeros(())}, uneven=True, **options) as replica:
        seen = []
        for _ in range(steps[comm.rank]):
            backward(replica, 1, p=1)
            seen.append(float(replica.wait()["p"]))
        for _ in replica.join():
            seen.append(float(replica.wait()["p"]))
        return seen


@pytest.mark.parametrize(
    ("options", "alone"),
    [
        ({"average": "ranks", "divide_by": "active"}, 1.0),  # pytorch#42577
        ({"average": "ranks", "divide_by": "initial"}, 0.75),
        ({"average": "samples"}, 1.0),
    ],
)
def test_a_rank_that_runs_out_takes_part_until_all_have(options, alone):
    steps = [3, 2, 3, 3]
    results = spawn(4, lambda comm: trained_until_all_have_run_out(comm, steps, **options))
    assert results == [[1.0, 1.0, alone]] * 4


def test_ranks_may_run_out_at_any_time_and_rank_0_before_its_first_batch():
    results = spawn(3, lambda c: trained_until_all_have_run_out(c, [0, 4, 2], average="samples"))
    assert results == [[1.0] * 4] * 3


def test_what_was_accumulated_before_a_rank_ran_out_is_not_lost():
    def run(comm):
        with DataParallel(comm, {"p": np.zeros(())}, uneven=True) as replica:
            if comm.rank == 0:
                with replica.no_sync():
                    backward(replica, 1, p=8)  # and then there is no more
            else:
                backward(replica, 3, p=4)
                replica.wait()
                return [float(replica.wait()["p"]) for _ in replica.join()]
            return [float(replica.wait()["p"]) for _ in replica.join()]

    assert spawn(2, run) == [[(8 * 1 + 4 * 3) / 4], []]


def test_joining_needs_uneven():
    def run(comm):
        with DataParallel(comm, {"p": np.zeros(())}) as replica:
            for _ in replica.join():
                pass

    with pytest.raises(refcoll.ArgumentError, match="pass uneven=True when making it"):
        spawn(2, run)


def test_weight_left_over_from_a_join_does_not_count_in_the_next_epoch():
    """A micro-batch in which no parameter got a gradient, then join, then another epoch."""

    def run(comm):
        with DataParallel(comm, scalars(), uneven=True, unused="find") as replica:
            if comm.rank == 1:
                with replica.no_sync():
                    backward(replica, 2)
            else:
                backward(replica, 2, p1=4, p2=4)
                replica.wait()
            for _ in replica.join():
                replica.wait()
            backward(replica, 2, p1=4, p2=4)
            return floats(replica.wait())

    assert spawn(2, run) == [{"p1": 4.0, "p2": 4.0}] * 2


def test_an_empty_micro_batch_before_a_rank_runs_out():
    def run(comm):
        with DataParallel(comm, {"p": np.zeros(())}, uneven=True) as replica:
            if comm.rank == 1:
                with replica.no_sync():
                    backward(replica, 0, p=np.nan)
            for _ in range(2 * (comm.rank == 0)):
                backward(replica, 3, p=5)
                assert float(replica.wait()["p"]) == 5
            return [float(replica.wait()["p"]) for _ in replica.join()]

    assert spawn(2, run) == [[], [5.0, 5.0]]
