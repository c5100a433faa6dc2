"""What is wrong, or differs, is an error on every rank, before anything has moved."""

import re
import time

import numpy as np
import pytest

import refcoll
from refcoll.dataparallel import DataParallel, ParameterServer, Sgd, Zero2
from refcoll.errors import ArgumentError, DisagreementError, PeerFailedError, RefcollError

TIMEOUT = 10
SIZE = 3


def parameters():
    return {"a": np.zeros((2, 3), np.float32), "b": np.zeros(4, np.float32)}


def heard(make):
    """What each rank hears: ``make(comm)`` makes a replica, and uses it."""

    def listen(comm):
        try:
            make(comm)
        except RefcollError as error:
            return type(error), str(error)
        return None

    return refcoll.spawn(SIZE, listen, timeout=TIMEOUT)


SHARED = np.zeros(5)
WRONG = [
    ({"parameters": []}, "parameters=.* must be a dict of numpy arrays by name"),
    ({"parameters": {}}, "parameters=.* must be a dict of numpy arrays by name, not empty"),
    ({"parameters": {1: np.zeros(2)}}, "the name 1 must be a string"),
    ({"parameters": {"a": [1.0]}}, r"parameters\['a'\]=.* must be a numpy array"),
    ({"parameters": {"a": np.broadcast_to(np.zeros(1), 3)}}, r"parameters\['a'\] is read-only"),
    ({"parameters": {"a": SHARED[:3], "b": SHARED[2:]}}, "'a' and 'b' share memory: name tied"),
    ({"parameters": {"a": np.zeros(2, int)}}, r"parameters\['a'\] has dtype=int64"),
    ({"buckets": "torch"}, "buckets='torch': rule='torch' is not known: use one of ddp"),
    ({"buckets": [["a"]]}, "'b'"),
    ({"buckets": [["a", "b"], ["b"]]}, "'b'"),
    ({"buckets": 3}, "rule=3 must be lists of names"),
    ({"buckets": lambda tensors: 1 / 0}, "cannot be used: ZeroDivisionError"),
    ({"buckets": lambda tensors: tensors.nothing}, "cannot be used: AttributeError"),
    ({"bucket_cap_mb": 0}, "bucket_cap_mb=0 must be above 0 MiB"),
    ({"bucket_cap_mb": "25"}, "bucket_cap_mb='25' must be above 0 MiB"),
    ({"bucket_cap_mb": float("nan")}, "bucket_cap_mb=nan must be above 0 MiB"),
    ({"bucket_cap_mb": 1, "buckets": "whole"}, "bucket_cap_mb=1: cap_bytes=.* is no option of"),
    ({"average": "tokens"}, 'average=\'tokens\' must be "samples" or "ranks"'),
    ({"gradients": "max"}, 'gradients=\'max\' must be "mean" or "sum"'),
    ({"divide_by": 3}, 'divide_by=3 must be "active" or "initial"'),
    ({"unused": "ignore"}, 'unused=\'ignore\' must be "error", or "find"'),
    ({"uneven": 1}, "uneven=1 must be True or False"),
    ({"overlap": None}, "overlap=None must be True or False"),
    ({"deterministic": "yes"}, "deterministic='yes' must be True or False"),
    ({"reduction": "int8"}, "reduction='int8' must be one of fp16, bf16"),
    ({"reduction": 5}, "reduction=5 must be one of none, fp16, .* or a Reduction"),
]


@pytest.mark.parametrize(("options", "said"), WRONG)
@pytest.mark.parametrize("everywhere", [True, False])
def test_a_wrong_option(options, said, everywhere):
    def make(comm):
        wrong = options if everywhere or comm.rank == 1 else {}
        given = {"parameters": parameters(), **wrong}
        DataParallel(comm, given.pop("parameters"), **given)

    found = heard(make)
    for rank, each in enumerate(found):
        assert each is not None, rank
        if everywhere or rank == 1:
            assert issubclass(each[0], ArgumentError)
        else:
            assert issubclass(each[0], DisagreementError)
        assert re.search(said, each[1]), each[1]


def test_an_algorithm_that_does_not_exist():
    found = heard(lambda comm: DataParallel(comm, parameters(), algorithm="rings"))
    assert all(kind is ArgumentError for kind, _ in found)
    assert all("algorithm='rings' does not exist for all_reduce" in said for _, said in found)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"optimizer": "adam"}, "optimizer='adam' must be an Optimizer: Sgd, Adam"),
        ({"algorithm": "rings"}, "algorithm='rings' does not exist for reduce_scatter"),
        ({"gather": "rings"}, "algorithm='rings' does not exist for all_gather"),
        (
            {"algorithm": "ring", "deterministic": True},
            "algorithm='ring' with deterministic=True, which takes butterfly; leave one of them",
        ),
        ({"ownership": "root"}, "ownership='root' must be one of balanced, padded"),
        ({"ownership": "thirds"}, "ownership='thirds' must be one of balanced, padded"),
    ],
)
def test_a_wrong_option_of_shards(options, said):
    def make(comm):
        given = {"optimizer": Sgd(0.1), **options}
        Zero2(comm, parameters(), **given)

    assert all(each[0] is ArgumentError and said in each[1] for each in heard(make))


DIFFERENT = [
    ({"b": np.zeros(5, np.float32)}, {}, "parameter 1=b [5] float32"),
    ({"b": np.zeros(4)}, {}, "parameter 1=b [4] float64"),
    ({"c": np.zeros(4, np.float32)}, {}, "parameter 2=c [4] float32"),
    ({}, {"average": "ranks"}, "average=ranks"),
    ({}, {"gradients": "sum"}, "gradients=sum"),
    ({}, {"buckets": [["b"], ["a"]]}, "buckets=Own(groups=[['b'], ['a']])"),
    ({}, {"buckets": lambda tensors: [["b"], ["a"]]}, "buckets=Own(groups=<function"),
    ({}, {"bucket_cap_mb": 5}, "cap_bytes=5242880"),
    ({}, {"reduction": "bf16"}, "reduction=Half"),
    ({}, {"algorithm": "ring"}, "reduction=AllReduce(accumulate=None, algorithm='ring')"),
    ({}, {"unused": "find"}, "unused=find"),
    ({}, {"uneven": True}, "uneven=True"),
    ({}, {"overlap": False}, "overlap=False"),
    ({}, {"divide_by": "initial"}, "divide_by=initial"),
]


@pytest.mark.parametrize(("other", "options", "said"), DIFFERENT)
def test_what_differs_on_one_rank_is_told_to_all_with_who_said_what(other, options, said):
    def make(comm):
        mine = comm.rank == 2
        DataParallel(comm, {**parameters(), **(other if mine else {})}, **(options if mine else {}))

    for kind, message in heard(make):
        assert kind is DisagreementError
        assert said in message, message
        assert "rank 2" in message


def test_parameters_in_another_order_are_noticed():
    def make(comm):
        DataParallel(comm, dict(reversed(parameters().items())) if comm.rank else parameters())

    assert all("parameter 0=b [4]" in message for _, message in heard(make))


STEPS = [
    (lambda r: r.backward(None).__enter__(), "weight=None must be the number of samples"),
    (lambda r: r.backward(-1).__enter__(), "weight=-1 must be 0, or from 1e-06 to 1e+15"),
    (lambda r: r.backward(float("inf")).__enter__(), "weight=inf must be 0, or from"),
    (lambda r: r.backward("8").__enter__(), "weight='8' must be the number of samples"),
    (
        lambda r: r.wait(),
        "wait() comes once, after a `with replica.backward(...)` outside of no_sync()",
    ),
    (lambda r: given(r, c=np.zeros(4, np.float32)), "name='c' is no parameter's; there are"),
    (lambda r: given(r, b=np.zeros(5, np.float32)), "must be a numpy array of shape (4,)"),
    (lambda r: given(r, b=np.zeros(4)), "dtype float32, as its parameter is; got shape (4,)"),
    (
        lambda r: given(r, b=[0.0] * 4),
        "gradient of 'b' must be a numpy array of shape (4,) and dtype float32, as its "
        "parameter is; got a list",
    ),
    (lambda r: afterwards(r), "gradients come within the `with` of a backward()"),
    (lambda r: unsynchronised(r), "wait() comes once"),
    (lambda r: twice(r), "name='b': its gradient came before in this backward"),
    (lambda r: given(r, a=parameters()["a"]), "no gradient has come for b"),
    (
        lambda r: [given(r, **parameters()), given(r, **parameters())],
        "was never waited for: wait() comes after it",
    ),
]


def given(replica, **gradients):
    with replica.backward(1) as ready:
        for name, gradient in gradients.items():
            ready(name, gradient)


def afterwards(replica):
    with replica.backward(1) as ready:
        for name, gradient in parameters().items():
            ready(name, gradient)
    ready("a", parameters()["a"])


def unsynchronised(replica):
    with replica.no_sync():
        given(replica, **parameters())


def twice(replica):
    with replica.backward(1) as ready:
        ready("b", parameters()["b"])
        ready("b", parameters()["b"])


@pytest.mark.parametrize(("use", "said"), STEPS)
def test_a_mistake_in_a_step_ends_it_on_all_ranks(use, said):
    """The rank that made it hears what was wrong; the others that it failed, and of what."""

    def make(comm):
        replica = DataParallel(comm, parameters())
        with replica:
            if comm.rank == 1:
                use(replica)
                replica.wait()
            else:
                given(replica, **parameters())
                replica.wait()
            replica.comm.barrier()

    found = heard(make)
    assert found[1][0] is ArgumentError
    assert said in found[1][1]
    for rank in (0, 2):
        assert found[rank] is not None
        assert found[rank][0] in (PeerFailedError, DisagreementError)
        assert said in found[rank][1], found[rank][1]


def test_a_parameter_server_is_owned_by_rank_0_and_cannot_be_told_otherwise():
    def run(comm):
        with ParameterServer(comm, parameters(), Sgd(0.1), ownership="padded") as replica:
            return replica.setup.reduction.ownership

    assert refcoll.spawn(SIZE, run, timeout=TIMEOUT) == ["root"] * SIZE


def test_a_closed_replica_refuses_at_once():
    def run(comm):
        replica = DataParallel(comm, parameters())
        replica.close()
        replica.close()
        given(replica, **parameters())

    assert all(kind is refcoll.PoisonedError for kind, _ in heard(run))


def test_functions_that_are_the_same_on_all_ranks_but_for_their_address():
    def run(comm):
        buckets = lambda tensors: [[t.name for t in tensors]]  # noqa: E731
        with DataParallel(comm, parameters(), buckets=buckets) as replica:
            given(replica, **parameters())
            replica.wait()
        return "held"

    assert refcoll.spawn(SIZE, run, timeout=TIMEOUT) == ["held"] * SIZE


def test_shards_have_no_gradients_to_wait_for():
    def run(comm):
        with Zero2(comm, parameters(), Sgd(0.1)) as replica:
            given(replica, **parameters())
            replica.wait()

    assert all("step() waits for them" in said for _, said in heard(run))


# ---- leaving -----------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"average": "ranks"}, {"uneven": True}])
def test_a_rank_that_leaves_while_others_go_on_is_named_on_all_at_once(options):
    """Rank 1 has one batch less, and does other work for as long as the time limit."""

    def make(comm):
        with DataParallel(comm, parameters(), **options) as replica:
            for _ in range(2 if comm.rank == 1 else 3):
                given(replica, **parameters())
                replica.wait()

    began = time.monotonic()
    for kind, said in heard(make):
        assert kind is DisagreementError
        assert "rank 1 left the replica, and the others began another step" in said
        assert "uneven=True and let ranks that have run out of batches call join()" in said
    assert time.monotonic() - began < TIMEOUT / 2


def test_leaving_without_having_waited():
    def make(comm):
        with DataParallel(comm, parameters()) as replica:
            given(replica, **parameters())

    assert all("was never waited for: wait() comes after it" in said for _, said in heard(make))


def test_leaving_with_gradients_that_were_accumulated():
    def make(comm):
        with DataParallel(comm, parameters()) as replica, replica.no_sync():
            given(replica, **parameters())

    assert all("accumulated in no_sync() since the last step" in said for _, said in heard(make))


def test_one_rank_that_has_not_waited():
    def make(comm):
        with DataParallel(comm, parameters()) as replica:
            given(replica, **parameters())
            if comm.rank != 1:
                replica.wait()

    found = heard(make)
    assert found[1][0] is ArgumentError
    assert all("was never waited for" in said for _, said in found)


@pytest.mark.parametrize("kind", [DataParallel, lambda *args: Zero2(*args, Sgd(0.1))])
def test_a_failure_that_was_caught_is_what_leaving_tells_of(kind):
    """And not the gradients that had come."""

    def fail(replica, rank):
        with replica.backward(1) as ready:
            ready("b", parameters()["b"])
            if rank == 1:
                raise ValueError("a bad batch")
            ready("a", parameters()["a"])
        replica.comm.barrier()

    def make(comm):
        caught = pytest.raises((ValueError, RefcollError), match="a bad batch")
        with kind(comm, parameters()) as replica, caught:
            fail(replica, comm.rank)

    for error, said in heard(make):
        assert error is refcoll.PoisonedError
        assert "a bad batch" in said


def test_what_is_frozen_is_to_be_left_out():
    found = heard(lambda comm: given(DataParallel(comm, parameters()), b=parameters()["b"]))
    assert all("leave frozen ones out of the replica's parameters" in said for _, said in found)
