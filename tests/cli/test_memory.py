"""What has no room is refused before it runs, by all ranks, with what is needed and there."""

from __future__ import annotations

import os
import threading

import pytest

from on_threads import spawn
from refcoll import ArgumentError
from refcoll.cli import memory


def refusals(monkeypatch, free, nbytes, nodes):
    """What ``require_memory`` raises on ranks that see so much free memory, and if it poisons."""
    here = threading.local()
    monkeypatch.setattr(memory, "free_memory", lambda: here.free)

    def body(comm):
        here.free = free[comm.rank]
        try:
            return memory.require_memory(comm, nbytes)
        except ArgumentError as error:
            return str(error), error.poisons

    return spawn(3, body, nodes=nodes)


def test_all_ranks_of_a_node_share_its_memory(monkeypatch):
    """8 vectors of 1000 bytes on each of 2 ranks are 16000 bytes."""
    nodes = ((0,), (1, 2))
    assert refusals(monkeypatch, [8000, 16_000, 16_000], 1000, nodes) == [None] * 3
    said = (
        "sizes=1 kB: each rank needs at least 8 vectors, those on the node of rank 1 16 kB in all, "
        "and it has 15 kB free: use smaller sizes, or fewer ranks on a node"
    )
    assert refusals(monkeypatch, [8000, 16_000, 15_000], 1000, nodes) == [(said, False)] * 3
    for told, _ in refusals(monkeypatch, [7000, 10**9, 10**9], 1000, nodes):
        assert "on the node of rank 0 8 kB in all, and it has 7 kB free" in told


def test_no_more_is_free_than_the_machine_has():
    assert 0 < memory.free_memory() <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(("limit", "free"), [("1000\n", 1000), ("max\n", None), (None, None)])
def test_a_container_may_take_less(monkeypatch, tmp_path, limit, free):
    path = tmp_path / "memory.max"
    if limit is not None:
        path.write_text(limit)
    monkeypatch.setattr(memory, "_LIMITS", [str(path)])
    monkeypatch.setattr(memory, "_available", lambda: 5000)
    assert memory.free_memory() == (free or 5000)
