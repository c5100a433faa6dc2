"""What was measured decides for "auto", where it was measured; elsewhere the model does."""

from __future__ import annotations

import json

import numpy as np
import pytest

from refcoll import ArgumentError, explain, spawn, user_operator
from refcoll.tuning import Best, Placement, Tuning, read, tuning

TWO = Placement("all_reduce", (2,))
MEASURED = Tuning({TWO: (Best(1000, "ring", 1e-5), Best(1_000_000, "binomial", 1e-3))}, "here")


def test_it_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "tuning.json"
    more = MEASURED.with_more({Placement("broadcast", (4, 4)): (Best(8, "linear", 1e-6),)})
    more.write(path)
    assert read(path).measured == more.measured
    assert read(path).source == str(path)


@pytest.mark.parametrize(("nbytes", "algorithm"), [
    (63, "ring"), (1000, "ring"), (15_999, "ring"), (62_501, "binomial"), (15_900_000, "binomial"),
])  # fmt: skip
def test_the_nearer_size_by_its_logarithm_decides(nbytes, algorithm):
    """And none of those that are more than 16 times as long or as short."""
    assert MEASURED.best(TWO, nbytes).algorithm == algorithm
    for far in (0, 62, 20_000, 50_000, 16_000_001):
        assert MEASURED.best(TWO, far) is None
    assert MEASURED.best(Placement("all_reduce", (1, 1)), nbytes) is None


@pytest.mark.parametrize("content", [
    "", "[]", "{}", '{"version": 2, "measured": []}', '{"version": 1, "measured": [{}]}',
    '{"version": 1, "measured": [{"collective": "x", "ranks_on_nodes": [1], "best": [1]}]}',
])  # fmt: skip
def test_files_of_other_kinds_are_refused(content, tmp_path):
    path = tmp_path / "tuning.json"
    path.write_text(content)
    with pytest.raises(ArgumentError, match="no file that `refcoll calibrate` has written"):
        read(path)
    with pytest.raises(ArgumentError, match="cannot be read"):
        tuning(tmp_path / "missing")
    with pytest.raises(ArgumentError, match="cannot be written"):
        MEASURED.write(tmp_path / "no" / "file")


def test_the_environment_names_a_file(tmp_path, monkeypatch):
    assert tuning(None) is None
    MEASURED.write(tmp_path / "tuning.json")
    monkeypatch.setenv("REFCOLL_TUNING", str(tmp_path / "tuning.json"))
    assert tuning(None).measured == MEASURED.measured
    monkeypatch.setenv("REFCOLL_TUNING", "missing")
    with pytest.raises(ArgumentError, match=r"\$REFCOLL_TUNING: tuning='missing' cannot be read"):
        tuning(None)


def test_measurements_are_added_and_the_same_size_is_replaced():
    more = MEASURED.with_more({TWO: (Best(1000, "binomial", 1e-6), Best(30, "ring", 1e-6))})
    assert [(each.nbytes, each.algorithm) for each in more.measured[TWO]] == [
        (30, "ring"), (1000, "binomial"), (1_000_000, "binomial"),
    ]  # fmt: skip


def plans(comm, *calls, measured=MEASURED):
    comm = type(comm)(comm.transport, 5, measured)
    return [comm.plan(*call, **options) for call, options in calls]


def test_auto_takes_what_was_measured_and_tells_why():
    short, long = np.zeros(10, np.float64), np.zeros(10**5)  # 80 and 800,000 bytes

    def body(comm):
        calls = [
            (("all_reduce", short), {}),
            (("all_reduce", long), {}),
            (("all_reduce", long), {"algorithm": "ring"}),
            (("broadcast", long), {}),
        ]
        return [(plan.algorithm, plan.reason) for plan in plans(comm, *calls)]

    for found in spawn(2, body):
        assert found[0] == ("ring", "measured best: 10 us for 1000 bytes (here)")
        assert found[1] == ("binomial", "measured best: 1000 us for 1000000 bytes (here)")
        assert found[2] == ("ring", "asked for")
        assert found[3][1].startswith("least predicted time")


def test_what_cannot_run_is_not_taken():
    """A ring does not keep rank order; three ranks were not measured; nor is there a "pony"."""
    alone = user_operator(np.add, "mine")
    pony = Tuning({TWO: (Best(8, "pony", 1e-9),)})

    def body(comm):
        x = np.zeros(10)
        (ordered,) = plans(comm, (("all_reduce", x, alone), {}))
        (unknown,) = plans(comm, (("all_reduce", x), {}), measured=pony)
        return ordered.reason, unknown.reason, ordered.algorithm

    for *reasons, _ in spawn(2, body):
        assert all(reason.startswith("least predicted") for reason in reasons)
    expected = explain("all_reduce", 3, 128)[0].algorithm
    (plan, *_) = [each[0] for each in spawn(3, lambda comm: plans(
        comm, (("all_reduce", np.zeros(10)), {})))]  # fmt: skip
    assert plan.algorithm == expected


def test_one_off_calls_and_groups_follow_it_too():
    def body(comm):
        comm = type(comm)(comm.transport, 5, MEASURED)
        group = comm.split(0)
        comm.all_reduce(np.zeros(10))
        return group.tuning is MEASURED, comm._one_off._calls

    for inherited, calls in spawn(2, body):
        assert inherited
        assert [known.call.program.name for known in calls.values()] == ["ring"]


def test_json_is_what_the_docs_say(tmp_path):
    MEASURED.write(tmp_path / "tuning.json")
    content = json.loads((tmp_path / "tuning.json").read_text())
    assert content["measured"][0]["ranks_on_nodes"] == [2]
    assert content["measured"][0]["best"][0] == {
        "nbytes": 1000, "algorithm": "ring", "seconds": 1e-5,
    }  # fmt: skip
