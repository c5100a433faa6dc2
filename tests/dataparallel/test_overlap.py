"""Buckets are reduced while backward goes on, in the same order on every rank."""

import json
import threading
import time

import numpy as np
import pytest

import refcoll
from refcoll.dataparallel.optimizers import Sgd
from refcoll.dataparallel.parallel import DataParallel
from refcoll.dataparallel.reductions import AllReduce
from refcoll.dataparallel.sharded import Zero2
from refcoll.dataparallel.timeline import BucketTimes, Timeline, chrome_trace, drawn, gather, rows

TIMEOUT = 20


class Noting:
    """An all-reduce that notes which buckets it has reduced."""

    keeps_state = False

    def __init__(self):
        self.reduced = []
        self.changed = threading.Condition()

    def bind(self, comm, bucket):
        inner, note = AllReduce().bind(comm, bucket), self._note

        class Noted:
            memory = staticmethod(inner.memory)

            def run(self, divisor):
                result = inner.run(divisor)
                note(bucket.index)
                return result

        return Noted()

    def _note(self, index):
        with self.changed:
            self.reduced.append(index)
            self.changed.notify_all()

    def await_bucket(self, index):
        with self.changed:
            assert self.changed.wait_for(lambda: index in self.reduced, TIMEOUT)


NAMES = ["a", "b", "c"]


def steps(comm, orders, await_in=()):
    """Three parameters, a bucket each; the means, and the order in which buckets went."""
    noting = Noting()
    with DataParallel(
        comm, {name: np.zeros(4) for name in NAMES}, average="ranks",
        buckets=[["c"], ["b"], ["a"]], reduction=noting,
    ) as replica:  # fmt: skip
        with replica.backward() as ready:
            for name in orders[comm.rank]:
                ready(name, np.full(4, 10.0 * NAMES.index(name) + comm.rank))
                for index in await_in:
                    if name == ["c", "b", "a"][index]:
                        noting.await_bucket(index)
        means = {name: each[0] for name, each in replica.wait().items()}
    return means, noting.reduced


RIGHT = {"c": 21.0, "b": 11.0, "a": 1.0}


def test_a_full_bucket_is_reduced_before_backward_ends():
    """Each rank's backward waits for the reduction: it would hang if that waited for backward."""
    for means, order in refcoll.spawn(
        3, lambda comm: steps(comm, ["cba"] * 3, await_in=(0, 1)), timeout=TIMEOUT
    ):
        assert (means, order) == (RIGHT, [0, 1, 2])


def test_buckets_go_in_the_order_of_their_indices_in_whatever_order_gradients_come():
    """deepspeed#2343: bucketed by arrival, one parameter's gradient is added to another's."""
    for means, order in refcoll.spawn(
        3, lambda comm: steps(comm, ["abc", "cba", "bca"]), timeout=TIMEOUT
    ):
        assert (means, order) == (RIGHT, [0, 1, 2])


def test_without_overlap_nothing_is_reduced_before_backward_ends():
    def run(comm):
        with replica_of(comm, overlap=False) as replica:
            for _ in range(2):  # before and after buckets are built anew
                whole_backward(replica)
                replica.wait()
                timeline = replica.timeline
                assert all(each.ready >= timeline.backward_end for each in timeline.buckets)
            return len(timeline.buckets)

    assert refcoll.spawn(2, run, timeout=TIMEOUT) == [3, 3]


def test_rebuilt_buckets_follow_the_arrival_on_rank_0():
    def run(comm):
        values = {name: np.zeros(200_000, np.float32) for name in NAMES}  # 0.8 MB each
        with DataParallel(comm, values, average="ranks") as replica:
            seen = []
            for _ in range(2):
                with replica.backward() as ready:
                    for name in "bac" if comm.rank == 0 else "cab":
                        ready(name, np.full(200_000, 1.0, np.float32))
                assert all((mean == 1).all() for mean in replica.wait().values())
                seen.append([[t.name for t in b.tensors] for b in replica.buckets_reduced])
            return seen

    # Of the default caps 1 and 25 MiB, the first closes after two of 0.8 MB.
    wanted = [[["a", "b", "c"]], [["b", "a"], ["c"]]]
    for seen in refcoll.spawn(3, run, timeout=TIMEOUT):
        assert [sorted(seen[0][0]), *seen[1]] == [wanted[0][0], *wanted[1]]


def test_the_timeline_of_a_real_step_is_in_order():
    def run(comm):
        values = {name: np.zeros(1000) for name in NAMES}
        with DataParallel(comm, values, average="ranks", buckets="single") as replica:
            with replica.backward() as ready:
                for name in "cba":
                    ready(name, np.ones(1000))
                time.sleep(0.02)
            replica.wait()
            return gather(replica.comm, replica.timeline)

    everyone = refcoll.spawn(3, run, timeout=TIMEOUT)
    assert everyone[0] == everyone[1] == everyone[2]
    for rank, timeline in enumerate(everyone[0]):
        assert (timeline.rank, [each.index for each in timeline.buckets]) == (rank, [0, 1, 2])
        assert [each.nbytes for each in timeline.buckets] == [8000] * 3
        before = timeline.begin
        for each in timeline.buckets:
            assert timeline.begin <= each.ready <= each.start <= each.end
            assert before <= each.start  # one after another
            before = each.end
        assert timeline.backward_end - timeline.begin >= 0.02
        assert timeline.backward_end <= timeline.wait_begin <= timeline.wait_end


STEP = Timeline(
    1, 10.0, 14.0, 14.5, 17.0,
    (BucketTimes(0, 100, 11.0, 11.0, 13.0), BucketTimes(1, 50, 12.0, 13.0, 15.0),
     BucketTimes(2, 10, 14.0, 15.0, 17.0)),
)  # fmt: skip


def test_what_is_exposed_is_what_ends_after_backward():
    assert [STEP.exposed(each) for each in STEP.buckets] == [0, 1, 2]
    assert (STEP.communication, STEP.total_exposed, STEP.hidden) == (6, 3, 0.5)


def test_a_step_that_nothing_hides_and_one_without_buckets():
    late = Timeline(0, 0.0, 1.0, 1.0, 3.0, (BucketTimes(0, 8, 1.0, 1.5, 2.5),))
    assert (late.hidden, late.total_exposed) == (0.0, 1.5)  # the delay before it counts as well
    none = Timeline(0, 0.0, 1.0, 1.0, 1.0, ())
    assert (none.hidden, none.total_exposed) == (1.0, 0.0)


def test_the_picture():
    assert drawn(STEP, width=14) == "\n".join(
        [
            "backward |========      |",
            "bucket 0 |  ====        |",
            "bucket 1 |    ..==##    |",
            "bucket 2 |        ..####|",
        ]
    )


def test_the_picture_shows_what_is_exposed_however_short():
    short = Timeline(0, 0.0, 1.0, 1.0, 1.001, (BucketTimes(0, 8, 1.0, 1.0, 1.001),))
    assert drawn(short, width=4).splitlines()[1] == "bucket 0 |   #|"


def test_the_table():
    assert rows(STEP)[1] == ["1", "50", "2000.000", "3000.000", "5000.000", "1000.000"]


def test_the_trace_has_a_track_for_compute_communication_and_waiting():
    trace = json.loads(json.dumps(chrome_trace([STEP, STEP.shifted(1.0)])))
    events = [each for each in trace["traceEvents"] if each["ph"] == "X"]
    names = {
        (each["pid"], each["tid"]): each["args"]["name"]
        for each in trace["traceEvents"]
        if each["name"] == "thread_name"
    }
    tracks = {names[each["pid"], each["tid"]]: set() for each in events}
    for each in events:
        tracks[names[each["pid"], each["tid"]]].add(each["name"])
    assert tracks == {
        "compute": {"backward"},
        "communication": {"bucket 0", "bucket 1", "bucket 2"},
        "waiting": {"wait"},
    }
    waits = [(each["ts"], each["dur"]) for each in events if each["name"] == "wait"]
    assert waits == [(4.5e6, 2.5e6), (5.5e6, 2.5e6)]
    first = next(each for each in events if each["name"] == "bucket 1")
    assert (first["ts"], first["dur"], first["args"]["exposed"]) == (3e6, 2e6, 1e6)


@pytest.mark.parametrize("rank", [0, 2])
def test_an_error_in_one_rank_s_backward_ends_the_step_on_all(rank):
    def run(comm):
        with DataParallel(comm, {name: np.zeros(4) for name in NAMES}, average="ranks") as replica:
            with replica.backward() as ready:
                for name in NAMES:
                    if comm.rank == rank:
                        raise RuntimeError("out of memory")
                    ready(name, np.zeros(4))
            replica.wait()

    began = time.monotonic()
    heard = []

    def noted(comm):
        try:
            run(comm)
        except BaseException as error:
            heard.append(str(error))
            raise

    with pytest.raises(RuntimeError, match="out of memory"):
        refcoll.spawn(3, noted, timeout=60)
    assert time.monotonic() - began < 30
    assert len(heard) == 3
    assert all("out of memory" in each for each in heard)


# ---- after a failure ---------------------------------------------------------------------


def replica_of(comm, **options):
    values = {name: np.zeros(4) for name in NAMES}
    return DataParallel(comm, values, average="ranks", buckets="single", **options)


def whole_backward(replica, value=1.0):
    with replica.backward() as ready:
        for name in NAMES:
            ready(name, np.full(4, value))


def broken_backward(replica):
    with replica.backward() as ready:
        ready("c", np.full(4, 1.0))
        raise ValueError("midway")


@pytest.mark.parametrize("size", [1, 2])
def test_a_replica_that_failed_is_not_used_again(size):
    """An exception midway, caught by the user: the half-filled step must not leak into another."""

    def run(comm):
        replica = replica_of(comm)
        with pytest.raises(ValueError, match="midway"):
            broken_backward(replica)
        with pytest.raises(refcoll.PoisonedError, match="midway"):
            whole_backward(replica)
        replica.close()

    refcoll.spawn(size, run, timeout=TIMEOUT)


def test_a_reduction_that_refuses_on_one_rank_is_told_to_all_at_once():
    """ArgumentError is no transport's error, and no comparison has told of it."""

    class Refusing(Noting):
        def bind(self, comm, bucket):
            bound = super().bind(comm, bucket)

            class Refused:
                memory = staticmethod(bound.memory)

                def run(self, divisor):
                    if comm.rank == 1:
                        raise refcoll.ArgumentError("no such luck")
                    return bound.run(divisor)

            return Refused()

    heard = []

    def run(comm):
        with replica_of(comm, reduction=Refusing()) as replica:
            try:
                whole_backward(replica)
                replica.wait()
            except refcoll.RefcollError as error:
                heard.append((isinstance(error, refcoll.ArgumentError), str(error)))
                raise

    began = time.monotonic()
    with pytest.raises(refcoll.RefcollError, match="no such luck"):
        refcoll.spawn(3, run, timeout=60)
    assert time.monotonic() - began < 30
    assert sorted(own for own, _ in heard) == [False, False, True]
    assert all("no such luck" in said for _, said in heard)


def test_a_backward_within_a_backward_is_refused():
    def run(comm):
        with replica_of(comm) as replica, replica.backward() as ready:
            ready("a", np.zeros(4))
            whole_backward(replica)

    with pytest.raises(refcoll.ArgumentError, match="a backward\\(\\) is under way"):
        refcoll.spawn(2, run, timeout=TIMEOUT)


def test_a_step_of_join_that_is_not_ended_is_refused():
    def run(comm):
        with replica_of(comm, uneven=True) as replica:
            for _ in range(comm.rank):
                whole_backward(replica)
                replica.wait()
            for _ in replica.join():
                pass

    with pytest.raises(refcoll.RefcollError, match="was never waited for"):
        refcoll.spawn(3, run, timeout=TIMEOUT)


def test_waiting_begins_when_the_rank_waits_and_not_when_parameters_are_counted():
    """Rank 0 begins once the others have ended backward, and before they can have waited."""
    ended = threading.Barrier(3)

    def run(comm):
        with replica_of(comm, unused="find") as replica:
            if comm.rank == 0:
                ended.wait(TIMEOUT)
                time.sleep(0.1)
                whole_backward(replica)
            else:
                whole_backward(replica)
                ended.wait(TIMEOUT)
            replica.wait()
            return replica.timeline

    for each in refcoll.spawn(3, run, timeout=TIMEOUT)[1:]:
        assert each.backward_end < each.wait_begin < each.buckets[0].start  # after the roll call
        assert each.wait_end > each.buckets[-1].end


@pytest.mark.parametrize("options", [{}, {"unused": "find"}, {"buckets": "single"}])
def test_replicas_may_be_waited_for_in_any_order(options):
    """Two of them, also in the step after which buckets are built anew."""

    def run(comm):
        kind = {"average": "ranks", **options}
        replicas = [DataParallel(comm, {"p": np.zeros(3)}, **kind) for _ in range(2)]
        seen = []
        for _ in range(2):
            for place, replica in enumerate(replicas):
                with replica.backward() as ready:
                    ready("p", np.full(3, 10.0 * place + comm.rank))
            order = replicas if comm.rank == 0 else replicas[::-1]
            for replica in order:
                seen.append((replicas.index(replica), replica.wait()["p"][0]))
        return sorted(seen)

    right = [(0, 0.5), (0, 0.5), (1, 10.5), (1, 10.5)]
    assert refcoll.spawn(2, run, timeout=TIMEOUT) == [right] * 2


def test_steps_of_shards_that_come_in_another_order_name_the_remedy():
    """They gather parameters, for which the other ranks must come."""

    def run(comm):
        replicas = [Zero2(comm, {"p": np.zeros(3)}, Sgd(1.0)) for _ in range(2)]
        for replica in replicas:
            with replica.backward(weight=1) as ready:
                ready("p", np.ones(3))
        for replica in replicas if comm.rank == 0 else replicas[::-1]:
            replica.step()

    with pytest.raises(refcoll.DeadlineError, match="of several communicators in the same order"):
        refcoll.spawn(2, run, timeout=3)


def test_steps_of_shards_that_are_started_may_come_in_any_order():
    def run(comm):
        values = [{"p": np.zeros(3)} for _ in range(2)]
        replicas = [Zero2(comm, each, Sgd(1.0)) for each in values]
        for _ in range(2):
            for place, replica in enumerate(replicas):
                with replica.backward(weight=1) as ready:
                    ready("p", np.full(3, place + 1.0))
            ordered = replicas if comm.rank == 0 else replicas[::-1]
            handles = [replica.start_step() for replica in ordered]
            for handle in handles[:: -1 if comm.rank == 1 else 1]:
                handle.wait()
        return [each["p"].tolist() for each in values]

    assert refcoll.spawn(3, run, timeout=TIMEOUT) == [[[-2.0] * 3, [-4.0] * 3]] * 3


def test_clocks_are_compared_with_the_right_sign(monkeypatch):
    """Rank 1's clock shows 100 s more than rank 0's: its times are as much less on rank 0's."""
    import refcoll.dataparallel.timeline as module

    monkeypatch.setattr(module, "offsets", lambda comm: ([0.0, 100.0], 0.0))
    early, shifted = refcoll.spawn(
        2, lambda comm: gather(comm, STEP.shifted(100.0 * comm.rank)), timeout=TIMEOUT
    )[0]
    assert early == shifted == STEP


def test_first_steps_are_exact_where_buckets_are_built_anew():
    """A reduction that keeps an error begins once buckets are final."""

    def run(comm):
        values = {name: np.zeros(4) for name in NAMES}
        with DataParallel(comm, values, average="ranks", reduction="onebit") as replica:
            found = []
            for _ in range(2):
                with replica.backward() as ready:
                    for place, name in enumerate(NAMES):
                        ready(name, np.arange(4.0) + place + comm.rank)
                found.append(replica.wait()["b"].tolist())
            return found

    for first, second in refcoll.spawn(2, run, timeout=TIMEOUT):
        assert first == [1.5, 2.5, 3.5, 4.5]
        assert second != first


def test_unused_parameters_that_are_to_be_found_change_the_buckets_as_in_ddp():
    """No rebuilding then: the caps hold from the first step on, in the model's order."""

    def run(comm):
        values = {name: np.zeros(200_000, np.float32) for name in NAMES}
        with DataParallel(comm, values, average="ranks", unused="find") as replica:
            before = [[t.name for t in b.tensors] for b in replica.buckets]
            with replica.backward() as ready:
                for name in "cba":
                    ready(name, np.zeros(200_000, np.float32))
            replica.wait()
            return before, [[t.name for t in b.tensors] for b in replica.buckets]

    before, after = refcoll.spawn(2, run, timeout=TIMEOUT)[0]
    assert before == after == [["c"], ["a", "b"]]
