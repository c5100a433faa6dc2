"""A job has one command line: what is wrong with it is said by one rank, and ends all alike."""

from __future__ import annotations

import pytest

from refcoll import connecting

WRONG = [
    (["bench", "all_sorts"], "collective='all_sorts'"),
    (["bench", "--sizes", "wide"], "sizes='wide'"),
    (["bench", "-a", "magic"], "algorithm='magic'"),
    (["bench", "--peer", "nonesuch"], "peer='nonesuch': there is gloo"),
    (["calibrate", "--time", "soon"], "time='soon'"),
    (["calibrate", "-c", "scan"], "collective='scan'"),
    (["reveal", "mpi", "-c", "magic"], "collective='magic'"),
    (["soak", "--ranks", "3"], "ranks=3"),
    (["train", "--rate", "fast"], "rate='fast'"),
    (["train", "--straggler", "3:1ms"], "there is no rank 3 of 3"),
    (["train", "--epochs", "few"], "--epochs"),
    (["verify", "-a", "magic"], "algorithm='magic'"),
    (["fly"], "fly"),
]


@pytest.fixture
def on_rank(run_refcoll, monkeypatch, tmp_path):
    """What `refcoll ARGUMENTS` comes to on a rank of a job of 3, before it starts MPI."""

    def started(*_):
        raise AssertionError("the command line was not looked at first")

    def run(rank, *arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(connecting, "plug_in", started)
        monkeypatch.setenv("PMI_SIZE", "3")
        monkeypatch.setenv("PMI_RANK", rank)
        return run_refcoll(*arguments)

    return run


@pytest.mark.parametrize(("arguments", "said"), WRONG, ids=[" ".join(each) for each, _ in WRONG])
def test_rank_0_says_what_is_wrong_and_all_end_alike(on_rank, arguments, said):
    status, out, err = on_rank("0", *arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert on_rank("2", *arguments) == (2, "", "")


def test_without_knowing_its_rank_every_process_says_it(on_rank):
    status, _, err = on_rank("unknown", "bench", "--sizes", "wide")
    assert status == 2
    assert "sizes='wide'" in err


def test_what_is_wrong_with_a_file_is_said_where_it_is(on_rank):
    """It may be there on rank 0's machine."""
    status, _, err = on_rank("2", "train", "--trace", "/no/such/folder/trace.json")
    assert status == 2
    assert "trace='/no/such/folder/trace.json' cannot be written" in err
