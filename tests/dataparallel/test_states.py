"""Optimizer states saved and loaded: a run goes on as if it had not been interrupted."""

import pickle
import re

import ml_dtypes
import numpy as np
import pytest

import refcoll
from refcoll.dataparallel import Adam, DataParallel, ParameterServer, Sgd, Zero2, differing
from refcoll.errors import ArgumentError, DisagreementError, RefcollError

TIMEOUT = 20
SHAPES = {"w1": (7, 5), "b1": (5,), "w2": (5, 3), "scale": (), "none": (0, 2)}
OPTIMIZERS = {
    "sgd": lambda lr=0.1: Sgd(lr),
    "momentum": lambda lr=0.1: Sgd(lr, momentum=0.9, weight_decay=0.01),
    "adam": lambda lr=0.01: Adam(lr, betas=(0.8, 0.99), weight_decay=0.1),
}


def start(dtype=np.float32):
    generator = np.random.default_rng(3)
    return {n: np.asarray(generator.standard_normal(s), dtype) for n, s in SHAPES.items()}


def gradients_of(step, dtype):
    """Small integers, alike on all ranks: means are exact, whatever the number of ranks."""
    generator = np.random.default_rng(step)
    return {n: np.asarray(generator.integers(-4, 5, s), dtype) for n, s in SHAPES.items()}


def bits(values):
    return {name: each.tobytes() for name, each in values.items()}


def steps(replica, values, optimizer, which):
    dtype = values["w1"].dtype
    for step in which:
        with replica.backward(1) as ready:
            for name, gradient in gradients_of(step, dtype).items():
                ready(name, gradient)
        if isinstance(replica, DataParallel):
            optimizer.step(values, replica.wait())
        else:
            replica.step()


def begun(comm, values, optimizer, kind=Zero2, **options):
    if kind is DataParallel:
        return DataParallel(comm, values, **options)
    return kind(comm, values, optimizer, **options)


def spawned(size, function, *arguments, **options):
    return refcoll.spawn(size, lambda comm: function(comm, *arguments, **options), timeout=TIMEOUT)


def saved(comm, make, which, dtype=np.float32, **how):
    """Parameters and optimizer after some steps, in bytes as on a disk."""
    values, optimizer = start(dtype), make()
    with begun(comm, values, optimizer, **how) as replica:
        steps(replica, values, optimizer, which)
        if isinstance(replica, DataParallel):
            return pickle.dumps((values, optimizer.state_dict(values)))
        return pickle.dumps((values, replica.state_dict()))


def resumed(comm, file, make, which, **how):
    values, state_dict = pickle.loads(file)
    optimizer = make(0.5)  # its options are loaded, too
    with begun(comm, values, optimizer, **how) as replica:
        if isinstance(replica, DataParallel):
            optimizer.load_state_dict(state_dict, values)
        else:
            replica.load_state_dict(state_dict)
        steps(replica, values, optimizer, which)
    return bits(values)


WAYS = [
    (3, {}), (3, {"ownership": "padded", "buckets": "single"}), (1, {}),
    (2, {"kind": DataParallel}), (4, {"buckets": [["scale", "w1"], ["b1", "none"], ["w2"]]}),
    (2, {"kind": ParameterServer}),
]  # fmt: skip


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_resumed_run_equals_the_uninterrupted_one_with_any_ranks_buckets_and_owners(name):
    make = OPTIMIZERS[name]
    wanted = bits(pickle.loads(spawned(3, saved, make, range(4))[0])[0])
    for size, how in WAYS:
        files = spawned(size, saved, make, range(2), **how)
        assert len(set(files)) == 1  # the same on all ranks
        for other, anyhow in WAYS:
            found = spawned(other, resumed, files[0], make, range(2, 4), **anyhow)
            assert found == [wanted] * other, (how, anyhow)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64], ids=str)
def test_other_dtypes_and_their_master_copies(dtype):
    make = OPTIMIZERS["adam"]
    wanted = bits(pickle.loads(spawned(2, saved, make, range(4), dtype)[0])[0])
    file = spawned(2, saved, make, range(2), dtype, ownership="padded")[0]
    assert spawned(3, resumed, file, make, range(2, 4)) == [wanted] * 3
    assert spawned(1, resumed, file, make, range(2, 4), kind=DataParallel) == [wanted]


def test_without_exact_means_the_same_ranks_go_on_to_the_bit():
    """deterministic=True: gradients that differ between ranks, other buckets after the break."""

    def run(comm, interrupted):
        generator = np.random.default_rng(comm.rank)
        values, optimizer, saved = {"a": np.zeros(9), "b": np.zeros(4)}, Adam(), None
        for part in ((0, 1), (2, 3)) if interrupted else ((0, 1, 2, 3),):
            optimizer = Adam()
            buckets = "whole" if saved else "single"
            with Zero2(comm, values, optimizer, buckets=buckets, deterministic=True) as replica:
                if saved:
                    replica.load_state_dict(saved)
                for _ in part:
                    with replica.backward(comm.rank + 1) as ready:
                        for name in "ba":
                            ready(name, generator.standard_normal(values[name].shape))
                    replica.step()
                saved = replica.state_dict()
        return bits(values)

    assert spawned(3, run, True) == spawned(3, run, False)


def test_what_is_saved_is_whole_and_by_name():
    """Adam's averages after one step are (1 - beta) g and (1 - beta^2) g^2.  (Kingma and Ba)"""
    options = {"lr": 0.01, "betas": (0.75, 0.5), "eps": 1e-8, "weight_decay": 0.0}
    make = lambda: Adam(**options)  # noqa: E731
    for file in spawned(3, saved, make, range(1), np.float64, ownership="padded"):
        _, found = pickle.loads(file)
        assert found["optimizer"] == {"kind": "Adam", **options}
        gradients = gradients_of(0, np.float64)
        assert [*found["state"]] == [*SHAPES]
        for name, state in found["state"].items():
            assert set(state) == {"step", "mean", "square"}
            assert state["step"] == 1
            assert np.array_equal(state["mean"], 0.25 * gradients[name])
            assert np.array_equal(state["square"], 0.5 * gradients[name] ** 2)


def test_before_the_first_step_there_is_nothing_but_the_options():
    def run(comm):
        with Zero2(comm, start(), Sgd(0.5, momentum=0.9)) as replica:
            found = replica.state_dict()
            replica.load_state_dict(found)
            return found

    nothing = {name: {} for name in SHAPES}
    options = {"kind": "Sgd", "lr": 0.5, "momentum": 0.9, "weight_decay": 0.0}
    assert spawned(2, run) == [{"optimizer": options, "state": nothing}] * 2
    assert Sgd(0.5, 0.9).state_dict(start()) == {"optimizer": options, "state": nothing}


def test_to_load_the_beginning_is_to_begin_again():
    def run(comm):
        values, optimizer = start(), Sgd(0.5, momentum=0.9)
        with Zero2(comm, values, optimizer) as replica:
            found = replica.state_dict()
            steps(replica, values, optimizer, range(1))
            replica.load_state_dict(found)
            return optimizer.states

    assert spawned(2, run) == [{}] * 2


def test_one_rank_alone_may_gather_them():
    def run(comm):
        values, optimizer = start(), Adam()
        with Zero2(comm, values, optimizer) as replica:
            steps(replica, values, optimizer, range(1))
            return replica.state_dict(root=np.int64(1)), replica.state_dict()

    (empty, _), (one, everyone), _ = spawned(3, run)
    assert empty == {}
    assert pickle.dumps(one) == pickle.dumps(everyone)


def test_what_was_saved_is_a_copy():
    optimizer, values = Sgd(1.0, momentum=0.5), {"p": np.zeros(2)}
    optimizer.step(values, {"p": np.ones(2)})
    found = optimizer.state_dict(values)
    optimizer.step(values, {"p": np.ones(2)})
    assert found["state"]["p"]["momentum"].tolist() == [1, 1]
    optimizer.load_state_dict(found, values)
    optimizer.step(values, {"p": np.ones(2)})
    assert found["state"]["p"]["momentum"].tolist() == [1, 1]


@pytest.mark.parametrize("gradient", [np.ones(2), np.ones(2, np.float16)], ids=lambda g: g.dtype)
def test_states_are_of_the_parameter_s_dtype_whatever_the_gradient_s(gradient):
    for optimizer in (Sgd(np.float32(0.5), momentum=0.5), Adam(np.float32(0.5))):
        values = {"p": np.zeros(2, np.float32)}
        optimizer.step(values, {"p": gradient})
        found = optimizer.state_dict(values)
        optimizer.load_state_dict(found, values)
        arrays = [each for each in optimizer.states["p"].values() if isinstance(each, np.ndarray)]
        assert {each.dtype for each in arrays} == {np.dtype(np.float32)}


def test_an_optimizer_of_two_replicas_keeps_their_states_apart():
    def run(comm):
        optimizer, values = Sgd(1.0, momentum=0.5), [{"p": np.zeros(3)}, {"p": np.zeros(3)}]
        with Zero2(comm, values[0], optimizer) as one, Zero2(comm, values[1], optimizer) as other:
            for replica, times in ((one, 1), (other, 2)):
                for _ in range(times):
                    with replica.backward(1) as ready:
                        ready("p", np.ones(3))
                    replica.step()
            other.load_state_dict(one.state_dict())
            found = [each.state_dict()["state"]["p"]["momentum"].tolist() for each in (one, other)]
            with pytest.raises(ArgumentError, match="states of others than these parameters"):
                optimizer.state_dict(values[0])
            return found

    assert spawned(2, run) == [[[1.0] * 3] * 2] * 2


# ---- what is wrong -----------------------------------------------------------------------


def model():
    return {"a": np.zeros((2, 3)), "b": np.zeros(4, np.float16), "c": np.zeros(2)}


def right():
    """A state dict of Adam after one step of the model."""
    optimizer, values = Adam(), model()
    optimizer.step(values, {name: np.ones_like(each) for name, each in values.items()})
    return optimizer.state_dict(values)


def changed(place, value=None):
    """One with something missing, or otherwise."""
    found = right()
    inner = found
    for each in place[:-1]:
        inner = inner[each]
    if value is None:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return found


class Unaskable(dict):
    """Fails with an error of its own."""

    def __iter__(self):
        raise ZeroDivisionError("asked")


WRONG = {
    "no dict": ([], r"state_dict=\[\] must be a dict of \"optimizer\" and \"state\""),
    "of another rank": ({}, "state_dict={} must be a dict"),
    "no states": (changed(["state"]), 'must be a dict of "optimizer" and "state"'),
    "states are none": (changed(["state"], value=3), r'state_dict\["state"\]=3 must be a dict of'),
    "of another optimizer": (
        Sgd(0.1).state_dict(model()),
        "state_dict is of the optimizer 'Sgd', and this one is Adam: make the same kind",
    ),
    "an option too few": (
        changed(["optimizer", "eps"]),
        "wants betas, eps, kind, lr, weight_decay",
    ),
    "an option too many": (changed(["optimizer", "foo"], value=1), "has betas, eps, foo, kind"),
    "a wrong option": (changed(["optimizer", "lr"], value=-1), r"\]: lr=-1 must be a number"),
    "a name missing": (changed(["state", "b"]), "state_dict has no state of b here"),
    "a name too many": (changed(["state", "d"], value={}), "has states of d, which are no param"),
    "an entry missing": (
        changed(["state", "a", "mean"]),
        "the state of 'a' has square, step; Adam",
    ),
    "no master": (changed(["state", "b", "master"]), "keeps master, mean, square, step of a param"),
    "a master too many": (changed(["state", "a", "master"], value=1), "'a' has master, mean, sq"),
    "a shape": (
        changed(["state", "a", "mean"], value=np.zeros((3, 2))),
        r"'mean' of 'a' must be an array of shape \(2, 3\) and dtype float64; got shape \(3, 2\)",
    ),
    "a dtype": (
        changed(["state", "b", "mean"], value=np.zeros(4, np.float16)),
        "'mean' of 'b' must be an array of .* dtype float32; got .* dtype float16",
    ),
    "no array": (changed(["state", "b", "mean"], value=[0.0] * 4), "dtype float32; got a list"),
    "no integer": (
        changed(["state", "a", "step"], value=1.5),
        "'step' of 'a'=1.5 is not an integer",
    ),
    "never updated": (
        changed(["state", "a", "step"], value=0),
        "'step' of 'a'=0 must be at least 1",
    ),
    "not to be asked": (Unaskable(right()), r"cannot be used: ZeroDivisionError\('asked'\)"),
    "of other steps": (
        changed(["state", "a", "step"], value=5),
        'parameters of bucket 0 were not updated equally often: .*pass buckets="single"',
    ),
}


def loading(given):
    """What each of two ranks hears that loads ``given(rank)``, and whether anything changed."""

    def run(comm):
        values, optimizer = model(), Adam(0.5)
        replica = Zero2(comm, values, optimizer, buckets=[["a", "c"], ["b"]])
        before = repr((optimizer, optimizer.states, bits(values)))
        kind, said = None, ""
        try:
            replica.load_state_dict(given(comm.rank))
        except RefcollError as error:
            kind, said = type(error), str(error)
        return kind, said, before == repr((optimizer, optimizer.states, bits(values)))

    return spawned(2, run)


def test_a_right_one_is_loaded():
    assert loading(lambda rank: right()) == [(None, "", False)] * 2


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_one_is_an_error_on_every_rank_and_nothing_changes(name):
    wrong, said = WRONG[name]
    for kind, words, kept in loading(lambda rank: wrong):
        assert (kind, kept) == (ArgumentError, True)
        assert re.search(said, words), words
    found = loading(lambda rank: wrong if rank else right())
    assert [kind for kind, _, _ in found] == [DisagreementError, ArgumentError]
    assert all(kept and re.search(said, words) for _, words, kept in found)


@pytest.mark.parametrize(
    "name", [n for n in WRONG if n not in ("of other steps", "not to be asked")]
)
def test_unsharded_optimizers_refuse_the_same(name):
    wrong, said = WRONG[name]
    optimizer = Adam(0.5)
    with pytest.raises(ArgumentError, match=said):
        optimizer.load_state_dict(wrong, model())
    assert (repr(optimizer), optimizer.states) == (repr(Adam(0.5)), {})


def test_parameters_updated_unequally_often_go_on_in_buckets_of_their_own():
    wrong = WRONG["of other steps"][0]

    def run(comm):
        with Zero2(comm, model(), Adam(), buckets="single") as replica:
            replica.load_state_dict(wrong)
            found = replica.state_dict()
        return {name: state["step"] for name, state in found["state"].items()}

    assert spawned(2, run) == [{"a": 5, "b": 1, "c": 1}] * 2


def test_ranks_that_load_different_ones_hear_of_it():
    later = changed(["state", "c", "mean"], value=np.ones(2))
    for kind, said, kept in loading(lambda rank: later if rank else right()):
        assert (kind, kept) == (DisagreementError, True)
        assert "collective=load_state_dict, state_dict=" in said


def test_ranks_that_save_different_options_hear_of_it():
    def run(comm):
        replica = Zero2(comm, model(), Adam(0.5))
        replica.optimizer.lr *= 1 + comm.rank
        with pytest.raises(DisagreementError) as error:
            replica.state_dict()
        return str(error.value)

    for said in spawned(2, run):
        assert "rank 1: collective=state_dict, optimizer=Adam(lr=1.0, " in said


@pytest.mark.parametrize("use", ["state_dict", "load_state_dict"])
def test_within_a_step_is_too_early(use):
    def run(comm, ends):
        with Zero2(comm, {"p": np.zeros(3)}, Sgd(1.0)) as replica:
            with replica.no_sync(), replica.backward(1) as ready:
                ready("p", np.ones(3))
            if not ends:
                with replica.backward(1) as ready:
                    ready("p", np.ones(3))
            getattr(replica, use)(*([{}] if use == "load_state_dict" else []))

    with pytest.raises(ArgumentError, match="accumulated in no_sync"):
        spawned(2, run, True)
    with pytest.raises(ArgumentError, match="the last backward\\(\\) was never waited for"):
        spawned(2, run, False)


@pytest.mark.parametrize(
    ("root", "said"), [(2, "root=2 must be a rank from 0 to 1, or None"), ("0", "root='0' is not")]
)
def test_a_wrong_root(root, said):
    def run(comm):
        Zero2(comm, model(), Adam()).state_dict(root)

    with pytest.raises(ArgumentError, match=said):
        spawned(2, run)


# ---- options that change between steps -----------------------------------------------------


def scheduled(comm, kind, rates, late=0.0):
    """Steps by those rates; rank 1's last one is off by ``late``."""
    values, optimizer = start(), Adam(0.0)
    with begun(comm, values, optimizer, kind, deterministic=True) as replica:
        for step, rate in enumerate(rates):
            optimizer.lr = rate + late * (comm.rank == 1 and step == len(rates) - 1)
            steps(replica, values, optimizer, [step])
    return bits(values)


def test_the_learning_rate_may_change_between_steps():
    (wanted,) = spawned(1, scheduled, DataParallel, [0.1, 0.05, 0.2])
    for kind in (DataParallel, Zero2, ParameterServer):
        assert spawned(3, scheduled, kind, [0.1, 0.05, 0.2]) == [wanted] * 3


@pytest.mark.parametrize("kind", [Zero2, ParameterServer])
def test_ranks_that_stepped_by_different_rates_hear_of_it(kind):
    """Replicas would stay alike, and be wrong: each shard by its owner's rate."""

    def run(comm):
        try:
            scheduled(comm, kind, [0.1, 0.1], late=0.01)
        except DisagreementError as error:
            return str(error)
        return "nothing"

    for said in spawned(3, run):
        assert "ranks 0, 2: collective=the last step, optimizer=Adam(lr=0.1," in said
        assert "rank 1: collective=the last step, optimizer=Adam(lr=0.11," in said


def test_with_unsharded_optimizers_replicas_part_and_differing_finds_it():
    def run(comm):
        values, optimizer = {"p": np.zeros(3)}, Sgd(0.1 + comm.rank)
        with DataParallel(comm, values) as replica:
            with replica.backward(1) as ready:
                ready("p", np.ones(3))
            optimizer.step(values, replica.wait())
        return differing(comm, values)

    assert spawned(3, run) == [{"p": [1, 2]}] * 3
