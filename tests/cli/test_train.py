"""refcoll train: what it tells, its files, and bad usage."""

from __future__ import annotations

import json
import re
import sys

import pytest

KEYS = {
    "way", "ranks", "losses", "accuracies", "gap", "within", "differing", "nbytes", "sent",
    "least", "samples_per_second", "communication", "exposed", "hidden", "holds",
}  # fmt: skip
QUICK = ("--epochs", "1", "--hidden", "8", "--ranks", "2")


@pytest.fixture
def train(run_refcoll):
    """Exit status, standard output and error of `refcoll train ARGUMENTS`."""
    return lambda *arguments: run_refcoll("train", *arguments)


def test_it_tells_of_epochs_bytes_and_what_was_exposed(train):
    status, out, err = train("--epochs", "2", "--hidden", "8", "--ranks", "3")
    assert (status, err) == (0, "")
    assert re.search(r"epoch 1 of 2: loss \d\.\d{4}, accuracy \d+\.\d%, [\d,]+ samples/s", out)
    assert "holds: 3 replicas alike to the bit; the loss curve is within" in out
    elements = 64 * 8 + 8 + 8 * 10 + 10
    assert f"2(N-1)/N S = {4 * elements * 4 / 3:,.0f} B" in out
    assert re.search(
        r"reductions .* a step, \d+% of that hidden behind backward; after .* wait", out
    )
    assert "backward |" in out
    assert "bucket 0 |" in out


@pytest.mark.parametrize(
    "options",
    [
        ["--zero", "2"], ["--parameter-server"], ["--deterministic"], ["--no-overlap"],
        ["--accumulate", "3"], ["-a", "rabenseifner"], ["--bucket-mb", "0.001"],
        ["--buckets", "single"], ["--dtype", "float64"], ["--optimizer", "adam", "--lr", "0.01"],
        ["--batch", "7"], ["--hidden", "8,8"], ["--latency", "0.1ms", "--rate", "1GB/s"],
        ["--compress", "bf16"], ["--compress", "powersgd"], ["--compress", "onebit"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_every_option_ends_in_a_run_that_holds(train, options):
    status, out, err = train(*QUICK, *options)
    assert (status, err) == (0, ""), out
    assert "holds: 2 replicas alike to the bit" in out


def test_every_option_reaches_the_training(train, monkeypatch):
    import refcoll.cli.train as command

    seen, tried = [], command.trial

    def noted(comm, task, how, *arguments, **options):
        if comm.rank == 0:
            seen.append((comm.transport, task, how))
        return tried(comm, task, how, *arguments, **options)

    monkeypatch.setattr(command, "trial", noted)
    status, out, _ = train(
        "--epochs", "2", "--batch", "500", "--hidden", "8,4", "--optimizer", "adam", "--lr", "0.02",
        "--dtype", "float64", "--seed", "3", "--buckets", "horovod", "--bucket-mb", "2",
        "--accumulate", "3", "-a", "ring", "--no-overlap", "--latency", "1ms", "--rate", "9MB/s",
        "--ranks", "1",
    )  # fmt: skip
    assert status == 0, out
    ((transport, task, how),) = seen
    assert (task.epochs, task.batch, task.widths) == (2, 500, (64, 8, 4, 10))
    assert (task.optimizer, task.lr, task.seed, task.train.x.dtype.name) == (
        "adam", 0.02, 3, "float64",
    )  # fmt: skip
    assert how.accumulate == 3
    assert how.options == {
        "buckets": "horovod", "bucket_cap_mb": 2.0, "algorithm": "ring", "deterministic": False,
        "overlap": False, "reduction": None,
    }  # fmt: skip
    assert (transport.inner.latency, transport.inner.rate) == (0.001, 9e6)


@pytest.mark.parametrize(
    ("options", "ranks", "times"),
    [
        (["-a", "recursive_doubling"], 4, 2),  # log2 N S
        (["--deterministic"], 3, 2),  # the rank that folds another in: 1 S, and S back
        (["--parameter-server"], 4, 3),  # rank 0 sends (N-1) S
        (["-a", "ring"], 3, 4 / 3),
    ],
    ids=str,
)
def test_bytes_are_those_of_the_way(train, tmp_path, options, ranks, times):
    path = tmp_path / "train.json"
    assert train(*QUICK[:4], "--ranks", str(ranks), *options, "--json", str(path))[0] == 0
    (trial,) = json.loads(path.read_text())["trials"]
    assert trial["sent"] / trial["nbytes"] == pytest.approx(times, rel=0.03)  # the roll call too


def test_compare_puts_all_ways_in_one_table(train, tmp_path):
    path = tmp_path / "train.json"
    status, out, _ = train(*QUICK, "--compare", "--json", str(path))
    assert status == 0
    content = json.loads(path.read_text())
    assert content.keys() == {"holds", "trials"}
    ways = [each["way"] for each in content["trials"]]
    assert ways == [
        "all-reduce", "not overlapped", "ring", "deterministic", "ZeRO-2", "parameter server",
        "fp16", "bf16", "powersgd", "onebit",
    ]  # fmt: skip
    for each in content["trials"]:
        assert each.keys() == KEYS
        assert each["way"] in out
    exact = {each["losses"][0] for each in content["trials"][:6]}
    assert max(exact) - min(exact) < 1e-6
    sent = {each["way"]: each["sent"] for each in content["trials"]}
    assert sent["bf16"] < 0.55 * sent["ring"]
    assert sent["onebit"] < 0.1 * sent["ring"]


def test_what_was_asked_for_comes_first_and_once(train, tmp_path):
    path = tmp_path / "train.json"
    train(*QUICK, "--compare", "--zero", "2", "--json", str(path))
    ways = [each["way"] for each in json.loads(path.read_text())["trials"]]
    assert ways[0] == "ZeRO-2"
    assert ways.count("ZeRO-2") == 1


@pytest.mark.parametrize(
    ("options", "ways"),
    [
        (["--beside", "not overlapped, ring"], ["all-reduce", "not overlapped", "ring"]),
        (["-a", "ring", "--beside", "ring,ZeRO-2"], ["ring", "ZeRO-2"]),
        (
            ["--zero", "2", "--deterministic", "--no-overlap", "--beside", "bf16"],
            ["ZeRO-2, deterministic, not overlapped", "bf16"],
        ),
    ],
)
def test_some_ways_beside_this_one(train, tmp_path, options, ways):
    path = tmp_path / "train.json"
    status, out, err = train(*QUICK, *options, "--json", str(path))
    assert status == 0
    assert [each["way"] for each in json.loads(path.read_text())["trials"]] == ways
    assert out.startswith("holds: all replicas alike to the bit, loss curves right\n")
    assert err.splitlines() == [
        f"training: {way}, {place} of {len(ways)}" for place, way in enumerate(ways, 1)
    ]


def test_json_on_standard_output_is_all_there_is(train):
    status, out, _ = train(*QUICK, "--json", "-")
    assert status == 0
    assert json.loads(out)["trials"][0].keys() == KEYS


def test_files(train, tmp_path):
    trace, plot = tmp_path / "trace.json", tmp_path / "step.png"
    status, _, _ = train(*QUICK, "--trace", str(trace), "--plot", str(plot))
    assert status == 0
    events = json.loads(trace.read_text())["traceEvents"]
    assert {each["pid"] for each in events} == {0, 1}
    assert {"backward", "bucket 0", "wait"} <= {each["name"] for each in events}
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_the_straggler_is_told_of(train):
    status, out, _ = train(*QUICK, "--straggler", "1:5ms")
    assert status == 0
    assert "who was late, in the last epoch:" in out
    assert re.search(r"rank 1 entered last in \d+ of \d+ calls", out)


def test_a_training_that_diverges_does_not_hold(train):
    """Rounding alone moves its loss by several times as much as it is."""
    status, out, _ = train("--epochs", "2", "--ranks", "2", "--lr", "1000")
    assert status == 1
    assert "FAILS: the loss is not finite, or rounding alone" in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--zero", "3"], "zero=3: use 2 (gradients and states sharded)"),
        (["--zero", "2", "--compress", "bf16"], "--zero and --compress exclude each other"),
        (["--zero", "2", "--parameter-server"], "--zero and --parameter-server exclude"),
        (["--compress", "int8"], "compress='int8' must be one of fp16"),
        (["--optimizer", "lamb"], "optimizer='lamb': there are sgd, momentum, adam"),
        (["--dtype", "int32"], "dtype='int32': there are float32, float64"),
        (["--compare", "--beside", "ring"], "leave out one of the two"),
        (["--beside", "rings"], "beside='rings': there are all-reduce, not overlapped, ring,"),
        (["--hidden", "64,x"], "hidden='64,x': use widths such as 64 or 256,256"),
        (["--hidden", "0"], "hidden='0': use widths"),
        (["--buckets", "torch"], "rule='torch' is not known"),
        (["--bucket-mb", "-1"], "bucket_cap_mb=-1.0 must be above 0 MiB"),
        (["-a", "rings"], "algorithm='rings' does not exist"),
        (["-a", "ring", "--deterministic"], "algorithm='ring' with deterministic=True"),
        (["--straggler", "1"], "straggler='1': use rank:time, such as 2:20ms"),
        (["--straggler", "7:1ms"], "straggler: there is no rank 7 of 2"),
        (["--rate", "fast"], "rate='fast' is not a number"),
        (["--trace", "/nowhere/t.json"], "trace='/nowhere/t.json' cannot be written"),
        (["--plot", "step.xyz"], "plot='step.xyz' must end in one of"),
    ],
)
def test_bad_usage(train, options, said):
    status, _, err = train(*QUICK, *options)
    assert status == 2
    assert err.startswith("refcoll: ")
    assert said in err
    assert err.count("\n") == 1


def test_a_missing_data_set_says_what_to_install(train, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    status, _, err = train(*QUICK)
    assert status == 2
    assert "pip install 'refcoll[train]'" in err
