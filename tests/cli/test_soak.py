"""refcoll soak: what it reports, what it exits with, and what it refuses."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from refcoll import checksums
from refcoll.cli.app import app
from refcoll.testing.faults import KINDS
from refcoll.testing.soaking import operation


def command(*arguments):
    return CliRunner().invoke(app, ["soak", *arguments])


def test_the_command_reports():
    run = command("--operations", "60", "--seed", "2", "--ranks", "3")
    assert run.exit_code == 0, run.stdout
    first, *_, last = run.stdout.splitlines()
    assert first == last
    assert first.startswith("holds: 60 operations, ")
    assert "0 hangs, 0 wrong results let through with checksums" in first
    assert "with checksums" in run.stdout


def test_the_command_tells_of_few_operations():
    run = command("--first", "651", "--operations", "2", "--ranks", "3")
    assert run.exit_code == 0, run.stdout
    for number in (651, 652):
        wanted = operation(0, number, 3, 0.2, 0.2).title(3)
        assert f"{wanted}: rank 0 " in run.stdout


def test_a_soak_under_mpirun_takes_its_ranks_from_there(monkeypatch):
    monkeypatch.setattr("refcoll.cli.soak.launched_size", lambda: 2)
    assert "mpirun -n sets them" in str(command("--ranks", "3").exception)
    monkeypatch.setattr("refcoll.cli.soak.launched_size", lambda: 1)
    assert "at least 2 ranks" in str(command().exception)


def test_the_command_as_json():
    run = command("--operations", "20", "--json", "-")
    told = json.loads(run.stdout)
    assert told["holds"]
    assert told["operations"] == 20
    assert set(told["faults"]["with_checksums"]) == set(KINDS)
    assert set(told["faults"]["without_checksums"]["drop"]) == {
        "detected", "harmless", "let_through",
    }  # fmt: skip


def test_the_command_fails_where_it_does_not_hold(monkeypatch):
    monkeypatch.setattr(checksums._Exchange, "_require_right", lambda self, came, index: None)
    run = command(
        "--operations", "150", "--ranks", "3", "--seed", "3", "--faults", "1", "--timeout", "0.1"
    )
    assert run.exit_code == 1
    assert run.stdout.startswith("FAILS: ")


@pytest.mark.parametrize("option", [("--timeout", "0"), ("--seconds", "-1"), ("--timeout", "nan")])
def test_nonsense_is_refused(option):
    run = command(*option)
    assert run.exit_code != 0
    assert "above 0" in str(run.exception)
