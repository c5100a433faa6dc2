"""refcoll buckets: its tables, its JSON, and bad usage."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "dataparallel.md"
KEYS = {
    "shapes", "rule", "ranks", "parameters", "nbytes", "warm_up_steps", "rebuilds", "initial",
    "settled",
}  # fmt: skip
ROW_KEYS = {
    "index", "tensors", "count", "dtype", "nbytes", "cap_bytes", "closed", "ring_sent_bytes",
}  # fmt: skip


@pytest.fixture
def buckets(run_refcoll):
    """Exit status, standard output and error of `refcoll buckets ARGUMENTS`."""
    return lambda *arguments: run_refcoll("buckets", *arguments)


@pytest.fixture
def found(as_json):
    """What it writes as JSON."""
    return lambda *arguments: as_json("buckets", *arguments)


def sizes(rows):
    return [row["nbytes"] for row in rows]


def test_json_of_resnet18_by_ddp_on_8_ranks(found):
    """pytorch/pytorch#48880; 2 (7/8) S is what a ring sends."""
    content = found("--shapes", "resnet18", "-n", "8")
    assert content.keys() == KEYS
    assert all(row.keys() == ROW_KEYS for row in content["initial"] + content["settled"])
    assert sizes(content["initial"]) == [content["nbytes"]] == [4 * 11_689_512]
    assert sizes(content["settled"]) == [2_052_000, 28_852_224, 15_853_824]
    for row in content["settled"]:
        assert row["ring_sent_bytes"] == pytest.approx(2 * 7 / 8 * row["nbytes"])
    assert (content["rebuilds"], content["warm_up_steps"]) == (True, 1)


def test_caps_and_their_units(found):
    by_ddp = found("--shapes", "resnet18", "--cap", "35MiB", "--first", "1MiB")
    assert sizes(by_ddp["settled"]) == [2_052_000, 38_297_600, 6_408_448]
    several = found("--shapes", "resnet18", "--cap", "1MiB,5MiB", "--find-unused")
    assert not several["rebuilds"]
    assert {row["cap_bytes"] for row in several["settled"]} == {1 << 20, 5 << 20}
    by_zero = found("--shapes", "gpt2", "--rule", "deepspeed", "--cap", "4e7", "--dtype", "float16")
    assert {row["cap_bytes"] for row in by_zero["settled"]} == {2 * 40_000_000}
    assert max(row["count"] for row in by_zero["settled"]) <= 40_000_000


def test_arrival(found, tmp_path):
    forward = found("--shapes", "resnet18", "--arrival", "forward", "--static-graph")["settled"]
    assert forward[0]["tensors"][0] == "conv1.weight"
    shapes, order = tmp_path / "shapes", tmp_path / "order"
    shapes.write_text("a 3\nb 4\nc 5\n")
    order.write_text("b\nc\na\n")
    content = found("--shapes", str(shapes), "--rule", "single", "--arrival", str(order))
    assert [row["tensors"] for row in content["settled"]] == [["b"], ["c"], ["a"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "step 0: 1 bucket "),
        ((), "from step 1 on, by the order of arrival: 3 buckets"),
        (("--static-graph",), "steps 0 to 1: 1 bucket "),
        (("--find-unused",), "in every step: 3 buckets"),
        (("--rule", "whole", "-n", "4"), "a ring of 4 sends"),
        (("--rule", "horovod", "--cap", "1MiB"), "Horovod takes the first gradient"),
        (("--rule", "deepspeed_fallback", "--cap", "1M"), "cap exceeded"),
    ],
)
def test_tables(arguments, said, buckets):
    status, out, _ = buckets("--shapes", "resnet18", *arguments)
    assert status == 0
    assert said in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing option '--shapes'"),
        (("--shapes", "resnet19"), "shapes='resnet19' is no file"),
        (("--shapes", "gpt2", "--rule", "zero"), "rule='zero' is not known"),
        (("--shapes", "gpt2", "--cap", "25"), None),
        (("--shapes", "gpt2", "--cap", "lots"), "cap='lots' is not a number"),
        (("--shapes", "gpt2", "--rule", "deepspeed", "--cap", "25MB"), "counts elements"),
        (("--shapes", "gpt2", "--rule", "horovod", "--first", "1MB"), "first_bytes=1000000 is no"),
        (("--shapes", "gpt2", "--arrival", "sideways"), "arrival='sideways' is neither"),
        (("--shapes", "gpt2", "--dtype", "int8"), "the dtype 'int8' must be a float's"),
    ],
)
def test_bad_usage_exits_with_2_and_says_what(arguments, said, buckets):
    status, out, err = buckets(*arguments)
    assert status == (2 if said else 0)
    assert (said or "") in err
    assert (out == "") == bool(said)


def test_the_output_on_the_page_is_what_comes():
    blocks = re.findall(r"```console\n\$ (refcoll buckets .*)\n((?:.*\n)*?)```", PAGE.read_text())
    assert blocks
    for command, output in blocks:
        run = subprocess.run(
            [sys.executable, "-m", *command.split()], capture_output=True, text=True, check=True,
            timeout=60,
        )  # fmt: skip
        assert [line.rstrip() for line in run.stdout.splitlines()] == output.splitlines()


def test_the_keys_are_documented():
    page = (PAGE.parent / "json.md").read_text()
    (said,) = re.findall(r"\*\*`refcoll buckets`\*\*((?:.+\n)+)", page)
    assert set(re.findall(r"`(\w+)`", said)) >= KEYS | ROW_KEYS
