"""The conformance kit holds for our transports, and finds what is wrong with broken ones."""

from __future__ import annotations

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


def test_every_check_finds_something():
    assert {check for _, check in BROKEN} == set(KIT)
