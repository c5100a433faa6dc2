"""The conformance kit holds for our transports, and finds what is wrong with broken ones."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pytest

from broken_exchanges import Broken, BrokenExchanges
from broken_transports import BROKEN
from refcoll import RefcollError, spawn
from refcoll.testing import conformance
from refcoll.testing.conformance import CHECKS, SPARE_CHECKS
from refcoll.testing.counting import Counting
from refcoll.testing.faults import Faulty

SOUND = {
    "in-process": lambda end: end,
    "counting": Counting,
    "faulty, without faults": lambda end: Faulty(end, []),
}


PLACES = [
    pytest.param(wrap, size, id=f"{name}-{size}", marks=() if quick else pytest.mark.long)
    for name, wrap in SOUND.items()
    for size in (1, 2, 3, 5)
    for quick in [size in (1, 2, 5) if name == "in-process" else size == 2]
]
"""A wrapper passes everything on alike on any number of ranks: two will do for every day."""


@pytest.mark.parametrize("check", [*CHECKS, *SPARE_CHECKS], ids=lambda check: check.__name__)
@pytest.mark.parametrize(("wrap", "size"), PLACES)
def test_sound_transports_keep_every_promise(wrap, size, check):
    spawn(size, lambda comm: check(wrap(comm.transport)))


KIT = {check.__name__: check for check in (*CHECKS, *SPARE_CHECKS)}


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize(("broken", "check"), BROKEN)
def test_broken_transports_are_found(broken, check, size, monkeypatch):
    monkeypatch.setattr(conformance.talking, "PATIENCE", 1.0)
    size = 3 if check == "takes_what_it_is_not_waiting_for" else size  # it takes three
    with pytest.raises((AssertionError, RefcollError)):
        spawn(size, lambda comm: KIT[check](broken(comm.transport)))


@pytest.mark.parametrize("name", KIT)
def test_the_wrapper_itself_breaks_nothing(name):
    for wrap in (Broken, BrokenExchanges):
        spawn(3, lambda comm, wrap=wrap: KIT[name](wrap(comm.transport)))


def test_a_wait_without_an_end_is_told_on_standard_error(monkeypatch, capfd):
    """It cannot be ended, but who looks on learns what hangs."""
    monkeypatch.setattr(conformance.talking, "PATIENCE", 0.05)
    assert conformance.talking.raised(lambda: time.sleep(0.4), "a wait of 0.2 s") is None
    said = capfd.readouterr().err
    assert said == "a wait of 0.2 s is not over after 0.1 s: the transport ignores timeouts\n"


def test_what_came_changed_is_told_with_the_first_byte():
    def check(comm):
        came = conformance.talking.message(1 - comm.rank, comm.rank, 3, 10)
        came[7:] ^= 1
        conformance.talking.require_message(comm.transport, came, 1 - comm.rank, 3, 10)

    words = "message 3 of 10 bytes from rank . to rank . came with 3 other bytes, .* byte 7"
    with pytest.raises(AssertionError, match=words):
        spawn(2, check)


def test_the_kit_does_not_stand_on_assert_statements():
    """They are gone under ``python -O``, and every transport would pass."""
    for each in Path(conformance.__file__).parent.glob("*.py"):
        nodes = ast.walk(ast.parse(each.read_text()))
        assert not any(isinstance(node, ast.Assert) for node in nodes)


def test_every_check_finds_something():
    assert {check for _, check in BROKEN} == set(KIT)
