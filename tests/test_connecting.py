"""Transports are found by name, through their entry points."""

from __future__ import annotations

import importlib.metadata
from importlib.metadata import EntryPoint

import pytest

import refcoll
from refcoll import ArgumentError, connecting
from refcoll.testing.inprocess import InProcess, World


def lone(nodes=((0,),)):
    """A transport that a plug-in might offer: one rank, alone."""
    return InProcess(World(1, nodes), 0)


def broken():
    raise RuntimeError("no such device")


@pytest.fixture
def plugins(monkeypatch):
    """Entry points as given: a name, and where its function is found."""

    def offer(**where):
        def entry_points(*, group):
            assert group == "refcoll.transports"
            return [EntryPoint(name, value, group) for name, value in where.items()]

        monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)

    return offer


def test_a_plug_in_is_found_and_given_its_options(plugins, monkeypatch):
    made = []
    monkeypatch.setattr(World, "pigeon", lambda **options: (made.append(options), lone())[1], False)
    plugins(mpi="nowhere:connect", pigeon="refcoll.testing.inprocess:World.pigeon")
    comm = refcoll.connect("pigeon", timeout=7, speed="fast")
    assert made == [{"speed": "fast"}]
    assert (comm.rank, comm.size, comm.timeout) == (0, 1, 7)


def test_only_the_transport_asked_for_is_loaded(plugins):
    plugins(other="a_module_that_does_not_exist:connect", mpi="refcoll.testing.inprocess:World")
    assert connecting.transport("mpi") is World


def test_an_unknown_name_is_told_which_there_are(plugins):
    plugins(mpi="x:y", cupy="x:y")
    with pytest.raises(ArgumentError, match=r"transport='pigeon' .* there are cupy, mpi"):
        refcoll.connect("pigeon")


def test_where_there_are_none_refcoll_is_not_installed_right(plugins):
    plugins()
    with pytest.raises(ArgumentError, match=r"transport='mpi' does not exist.*reinstall refcoll"):
        refcoll.connect()


def test_a_missing_driver_is_named_with_what_brings_it(plugins):
    plugins(mpi="a_module_that_does_not_exist:connect")
    with pytest.raises(ArgumentError) as caught:
        refcoll.connect()
    assert "transport='mpi' cannot be used" in str(caught.value)
    assert "a_module_that_does_not_exist" in str(caught.value)
    assert "pip install 'refcoll[mpi]'" in str(caught.value)


def test_what_a_transport_raises_is_not_hidden(plugins, monkeypatch):
    monkeypatch.setattr(World, "broken", staticmethod(broken), False)
    plugins(mpi="refcoll.testing.inprocess:World.broken")
    with pytest.raises(RuntimeError, match="no such device"):
        refcoll.connect()


def test_the_default_is_mpi_and_it_is_installed():
    assert connecting.transport("mpi").__module__.startswith("refcoll_mpi")
