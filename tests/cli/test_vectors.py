"""refcoll vectors: what it writes and says, and its exit statuses."""

import json
import subprocess
import sys

import pytest


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "refcoll", "vectors", *arguments],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_the_first_line_says_what_is_written(tmp_path):
    done = run("-o", str(tmp_path / "new"), "-n", "2,3", "-c", "broadcast", "-c", "scan")
    assert done.returncode == 0, done.stderr
    first, header, *rows = done.stdout.splitlines()
    written = sum(file.stat().st_size for file in (tmp_path / "new").iterdir())
    files = 2 + 2 * (1 + 2) + 2 * (1 + 3)  # of each collective for N ranks, one and N
    assert len(list((tmp_path / "new").iterdir())) == files
    assert f"vectors in {files} files, {written / 1e3:.4g} kB" in first
    assert header.split() == ["collective", "ranks", "vectors", "flags"]
    assert [row.split()[:2] for row in rows] == [
        ["broadcast", "2"], ["broadcast", "3"], ["scan", "2"], ["scan", "3"],
    ]  # fmt: skip


def test_json_is_the_index(tmp_path):
    done = run("-o", str(tmp_path), "-n", "2", "-c", "gather", "--json", "-")
    assert json.loads(done.stdout) == json.loads((tmp_path / "index.json").read_text())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--output"),
        (("-o", "{}", "-n", "two"), "ranks='two' must be numbers, as in 2,3,4"),
        (("-o", "{}", "-n", "0"), "ranks=0"),
        (("-o", "{}", "-c", "nonsense"), "collective='nonsense' has no vectors"),
        (("-o", "{}/file"), "cannot be written"),
    ],
)
def test_bad_usage(tmp_path, arguments, said):
    (tmp_path / "file").write_text("")
    done = run(*(each.format(tmp_path) for each in arguments))
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
