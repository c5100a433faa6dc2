"""refcoll timeline and refcoll why: pages, JSON, pictures, traces, and bad usage."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"
BLOCKS = re.findall(
    r"```console\n\$ refcoll (.*?)\n(.*?)```", (DOCS / "timeline.md").read_text(), re.DOTALL
)
STEP = {
    "seconds", "per_micro_batch", "compute", "efficiency", "communication", "backward_end",
    "exposed", "hidden", "gather",
}  # fmt: skip
KEYS = STEP | {"ranks", "machine", "played_seconds", "buckets"}
BUCKET = {"index", "nbytes", "ready", "start", "end", "exposed", "algorithm", "basis"}
SWEEP = {"sweep", "unit", "machine", "best", "within_1_percent", "points"}
WHY = {
    "nodes", "machine", "scaling", "measured", "waterfall", "gains", "scaling_changed",
    "waterfall_changed",
}  # fmt: skip
CAUSE = {"cause", "one_node", "all_nodes", "scaling"}
GAIN = {"change", "scaling", "in_turn", "alone", "mean"}
SMALL = ("--model", "resnet18", "--backward", "20ms", "-m", "p3.16xlarge", "--nodes", "2")


@pytest.mark.parametrize(("command", "output"), BLOCKS)
def test_the_page_shows_what_comes(run_refcoll, command, output):
    status, out, _ = run_refcoll(*command.split())
    assert status == 0
    assert [line.rstrip() for line in out.splitlines()] == output.splitlines()


def test_json_of_a_step(as_json):
    content = as_json("timeline", *SMALL, "--straggler", "1ms", "--interference", "1.1")
    assert content.keys() == KEYS
    assert all(each.keys() == BUCKET for each in content["buckets"])
    assert content["ranks"] == 16
    last = content["buckets"][-1]["end"]
    assert content["exposed"] == pytest.approx(last - content["backward_end"])
    assert content["seconds"] == pytest.approx(0.010 + last)
    ends = [0.0, *(each["end"] for each in content["buckets"])]
    for each, before in zip(content["buckets"], ends, strict=False):
        assert each["start"] >= max(each["ready"], before)


def test_json_of_a_sweep(as_json):
    content = as_json("timeline", *SMALL, "--sweep", "compress")
    assert content.keys() == SWEEP
    assert all(each.keys() == STEP | {"value", "buckets"} for each in content["points"])
    best = min(content["points"], key=lambda each: each["per_micro_batch"])
    assert content["best"] == best["value"]


def test_caps_that_make_the_same_buckets_are_best_together(run_refcoll):
    """Most of its gradients are so large that each closes a bucket under any of these caps."""
    big = ("timeline", "--model", "gpt-7b", "--backward", "200ms", "--nodes", "4")
    first, *rows = run_refcoll(*big, "--sweep", "bucket")[1].splitlines()
    assert first.endswith(": best with 0.25 to 20 MiB, 304.5 ms a micro-batch")
    assert [row.split()[0] for row in rows if row.rstrip().endswith("<--")] == [
        "0.25", "0.5", "1", "2", "5", "10", "20"
    ]  # fmt: skip
    assert any(row.lstrip().startswith("20,000 ") for row in rows)


def test_json_of_why(as_json):
    content = as_json(
        "why", *SMALL, "--then", "accumulate=2", "--then", "rails=4", "--measured", "1"
    )
    assert content.keys() == WHY
    for waterfall in (content["waterfall"], content["waterfall_changed"]):
        assert all(each.keys() == CAUSE for each in waterfall)
    assert all(each.keys() == GAIN for each in content["gains"])
    assert content["gains"][-1]["scaling"] == content["scaling_changed"]
    assert (content["nodes"], content["measured"]) == (2, 1.0)


def test_every_key_is_on_its_page():
    page = (DOCS / "json.md").read_text()
    for name, keys in (("timeline", KEYS | BUCKET | SWEEP), ("why", WHY | CAUSE | GAIN)):
        said = page.partition(f"**`refcoll {name}`**")[2].partition("\n\n")[0]
        assert set(re.findall(r"`(\w+)`", said)) >= keys


def test_what_is_said_of_a_step(run_refcoll):
    many = ("--accumulate", "4", "--zero", "2", "--straggler", "1ms", "--interference", "1.2")
    out = run_refcoll("timeline", *SMALL, *many, "-a", "ring")[1]
    assert "4 micro-batches, the last reduced, forward 10 ms, backward 20 ms" in out
    assert "parameters gathered after it: " in out
    assert "the last rank begins 1 ms late, and all wait for it" in out
    assert "longer beside reductions" in out


def test_of_many_buckets_some_are_shown(run_refcoll):
    out = run_refcoll("timeline", *SMALL, "--buckets", "single")[1]
    assert "... and 38 between; --json has them all" in out  # of 62
    assert out.count("\nbucket ") == 25  # one is the header


def test_what_measured_leaves_unexplained(run_refcoll):
    out = run_refcoll("why", "--example", "--measured", "2.0")[1]
    # 4 x 96.3 ms (1/2 - 1/2.307) = 25.6 ms
    assert re.search(r"measured 2\.00: -0\.31, or \+2[56]\.\d+ ms, that the inputs do not", out)


def test_traces_and_pictures(run_refcoll, tmp_path):
    trace, step = tmp_path / "trace.json", tmp_path / "step.svg"
    late = ("--straggler", "5ms", "--trace", str(trace), "--plot", str(step))
    assert run_refcoll("timeline", *SMALL, *late)[0] == 0
    events = json.loads(trace.read_text())["traceEvents"]
    begins = {each["pid"]: each["ts"] for each in events if each["name"] == "backward"}
    assert begins == {0: 0.0, 1: pytest.approx(5000)}  # microseconds
    curve, bars, fall = (tmp_path / f"{name}.svg" for name in ("curve", "bars", "fall"))
    run_refcoll("timeline", *SMALL, "--sweep", "accumulate", "--plot", str(curve))
    run_refcoll("timeline", *SMALL, "--sweep", "algorithm", "--plot", str(bars))
    run_refcoll("why", *SMALL, "--then", "compress=2", "--plot", str(fall))
    for each in (step, curve, bars, fall):
        assert "</svg>" in each.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("timeline", *SMALL, "--sweep", "x"), "sweep='x' is not known: use one of bucket"),
        (("timeline", *SMALL, "--zero", "1"), "use 0 or 2"),
        (("timeline", *SMALL, "-a", "rings"), "algorithm='rings'"),
        (("timeline", *SMALL, "--buckets", "whole", "--bucket-mb", "1"), "is no option of a rule"),
        (("timeline", *SMALL, "--straggler", "1"), "straggler='1': use ns, us, ms or s"),
        (("timeline", *SMALL, "--sweep", "rails", "--trace", "t.json"), "leave out --sweep"),
        (("timeline", *SMALL, "--plot", "t.xyz"), "plot='t.xyz' must end in one of"),
        (("why", *SMALL, "--nodes", "1"), "nodes=1 must be at least 2"),
        (("why", *SMALL, "--then", "rails"), "then='rails'"),
        (("why", *SMALL, "--then", "color=red"), "then='color=red' must be one of bucket-mb"),
        (("why", *SMALL, "--then", "bucket-mb=x"), "must give a number, as in bucket-mb=2"),
        (("why", *SMALL, "--then", "bucket-mb=inf"), "must give a number, as in bucket-mb=2"),
        (("why", *SMALL, "--then", "rails=1.5"), "must give a whole number, as in rails=2"),
        (("why", *SMALL, "--measured", "0"), "measured=0.0 must be above 0"),
        (("why", *SMALL, "--measured", "nan"), "measured=nan must be above 0, and finite"),
    ],
)
def test_bad_usage(run_refcoll, arguments, said):
    status, out, error = run_refcoll(*arguments)
    assert (status, out) == (2, "")
    assert said in error
