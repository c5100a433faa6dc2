"""Machines: what they refuse, presets and their sources, files."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources import files

import pytest

import refcoll.planning
from refcoll import ArgumentError
from refcoll.planning.files import as_toml, read_machine, write_machine
from refcoll.planning.machine import NETWORK, NODE, SPINE, Link, Machine
from refcoll.planning.presets import presets
from refcoll.planning.published import KINDS, published

NEAR, FAR = Link(latency=2e-6, bandwidth=450e9, achieved=0.8), Link(latency=4e-6, bandwidth=50e9)
PLAIN = {"name": "m", "links": {NODE: NEAR, NETWORK: FAR}, "nodes": 4, "rails": 8}


def test_a_link_reaches_a_fraction_of_its_bandwidth():
    assert NEAR.rate == pytest.approx(360e9)
    assert FAR.rate == 50e9


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ({"latency": -1e-6}, "latency=-1e-06 must be seconds, 0 or more"),
        ({"latency": float("nan")}, "latency=nan must be seconds"),
        ({"bandwidth": 0}, "bandwidth=0 must be bytes per second, above 0"),
        ({"bandwidth": "50 GB/s"}, "bandwidth='50 GB/s' must be bytes per second"),
        ({"achieved": 1.01}, "achieved=1.01 must be above 0 and at most 1"),
        ({"achieved": True}, "achieved=True must be above 0"),
        ({"gap": -1}, "gap=-1 must be seconds"),
        ({"latency": 10**400}, "must be seconds, 0 or more, and finite"),
        (
            {"bandwidth": 1e-300},
            "bandwidth=1e-300 times achieved=0.8 must be 0.001 bytes per second",
        ),
    ],
)
def test_a_link_that_cannot_be(figures, said):
    with pytest.raises(ArgumentError, match=re.escape(said)):
        replace(NEAR, **figures)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"nodes": 0}, "nodes=0 must be at least 1"),
        ({"ranks_per_node": 1.5}, "ranks_per_node=1.5 is not an integer"),
        ({"rails": -1}, "rails=-1 must be at least 1"),
        ({"striped": 1}, "striped=1 must be True or False"),
        ({"overhead": -1.0}, "overhead=-1.0 must be seconds, 0 or more"),
        ({"reduce_bandwidth": 0}, "reduce_bandwidth=0 must be bytes per second"),
        ({"nodes_per_switch": 3}, "nodes_per_switch=3 must divide nodes=4, or hold them all"),
        ({"in_network": {SPINE: FAR}}, "in_network: 'between switches' must be one of within a"),
        ({"nodes_per_switch": 4, "uplinks": 0}, "uplinks=0 must be at least 1"),
        ({"nodes_per_switch": 2}, "lacks 'between switches', which ranks use"),
        ({"links": {NODE: NEAR}}, "lacks 'between nodes', which ranks use"),
        ({"links": {NETWORK: FAR}}, "lacks 'within a node', which ranks use"),
    ],
)
def test_a_machine_that_cannot_be(changes, said):
    with pytest.raises(ArgumentError, match=re.escape(said)):
        Machine(**PLAIN | changes)


def test_its_ranks_stand_where_it_says():
    machine = Machine(**PLAIN | {"nodes_per_switch": 2, "links": {**PLAIN["links"], SPINE: FAR}})
    where = machine.topology()
    assert machine.ranks == 32
    assert where.nodes[1] == tuple(range(8, 16))
    assert where.switches == ((0, 1), (2, 3))
    assert where.link(7, 8) == NETWORK
    assert where.link(15, 16) == SPINE
    assert machine.title == (
        "m: 4 nodes of 8 ranks, 8 rails of 50 GB/s a node, 2 nodes a switch, 50 GB/s a rail beyond"
    )
    assert machine.shaped(uplinks=8).title.endswith("2 nodes a switch, 8 uplinks of 50 GB/s")
    assert machine.shaped(nodes=1, ranks_per_node=1, nodes_per_switch=1).title == (
        "m: 1 node of 1 rank"
    )


def test_a_switch_may_hold_more_nodes_than_there_are():
    """So that a machine of 8 nodes, 4 a switch, can be asked for 1 and for 2."""
    many = Machine(**PLAIN | {"nodes_per_switch": 8})
    assert many.topology() == Machine(**PLAIN).topology()
    assert (many.on_switch, many.title) == (4, Machine(**PLAIN).title)
    assert Machine(**PLAIN | {"nodes_per_switch": 4}).topology() == many.topology()


def test_what_the_package_offers():
    for name in refcoll.planning.__all__:
        assert getattr(refcoll.planning, name).__module__.startswith("refcoll.planning.")
    assert refcoll.planning.preset("h100-node") == presets()["h100-node"]
    with pytest.raises(ArgumentError, match=r"name='h100': there are p3\.16xlarge, "):
        refcoll.planning.preset("h100")


def test_another_shape_loses_the_source_of_what_is_changed_alone():
    machine = Machine(**PLAIN, sources={"rails": "data sheet", "overhead": "measured"})
    assert machine.shaped(rails=1).sources == {"overhead": "measured"}
    assert machine.shaped(rails=8, nodes=None) == machine
    assert hash(machine.shaped(rails=8)) == hash(machine)
    with pytest.raises(ArgumentError, match="nics: a machine has in_network, links"):
        machine.shaped(nics=8)


# ---- presets and published figures -------------------------------------------------------


def test_every_figure_says_where_it_is_from():
    rows = published()
    assert len(rows) > 150
    for row in rows:
        assert row.source, row
        assert row.kind in KINDS, row
        assert row.value > 0, row
        assert (
            row.unit
            or row.quantity in ("within_a_node.achieved", "speedup", "slowdown")
            or (row.quantity.endswith("achieved"))
        ), row


def test_the_table_has_a_cell_for_every_column():
    lines = files("refcoll.planning").joinpath("published.tsv").read_text("utf-8").splitlines()
    assert {line.count("\t") for line in lines} == {11}


@pytest.mark.parametrize("name", presets())
def test_a_preset_has_a_source_for_every_figure(name):
    machine = presets()[name]
    keys = {"ranks_per_node", "rails", "overhead"}
    for prefix, links in (("", machine.links), ("in_network.", machine.in_network)):
        for link, figures in links.items():
            given = {"latency", "bandwidth", "achieved"} | ({"gap"} if figures.gap else set())
            keys |= {f"{prefix}{link.replace(' ', '_')}.{figure}" for figure in given}
    assert keys == set(machine.sources)


@pytest.mark.parametrize(
    ("name", "wire", "nic", "rails"),
    [  # data sheets: NVLink 2, 3, 4, 5 one way; EC2's 25 Gb/s; ConnectX-6 and -7
        ("p3.16xlarge", 150e9, 25e9 / 8, 1),
        ("a100-node", 300e9, 200e9 / 8, 8),
        ("h100-node", 450e9, 400e9 / 8, 8),
        ("h200-node", 450e9, 400e9 / 8, 8),
        ("b200-node", 900e9, 400e9 / 8, 8),
    ],
)
def test_presets_are_the_machines_of_the_data_sheets(name, wire, nic, rails):
    node, cluster = presets()[name], presets()[f"{name.removesuffix('-node')}-cluster"]
    assert (node.nodes, node.ranks_per_node, cluster.nodes) == (1, 8, 4)
    assert (node.links[NODE].bandwidth, node.links[NETWORK].bandwidth) == (wire, nic)
    assert node.rails == cluster.rails == rails


def test_a_table_of_a_preset_is_what_was_published():
    """nccl-tests on 8 A100: 16 GiB in 127,997 us; 32 B200 reach a busbw of 381.80 GB/s."""
    (a100,) = presets()["a100-node"].tables
    assert (a100.collective, a100.algorithm, a100.ranks, a100.nodes) == ("all_reduce", "NCCL", 8, 1)
    assert a100.seconds(1 << 34) == pytest.approx(0.127997)
    wide = next(each for each in presets()["b200-cluster"].tables if each.ranks == 32)
    assert wide.nodes == 4
    assert 2**34 / wide.seconds(2**34) * 2 * 31 / 32 == pytest.approx(381.80e9)


# ---- files -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", presets())
def test_a_machine_is_read_as_it_was_written(name, tmp_path):
    machine = presets()[name]
    write_machine(machine, tmp_path / "m.toml")
    assert read_machine(tmp_path / "m.toml") == machine


def test_all_that_a_file_can_say_is_written(tmp_path):
    machine = Machine(
        **PLAIN | {"nodes_per_switch": 2, "links": {**PLAIN["links"], SPINE: FAR}}, uplinks=3,
        striped=False, overhead=1e-5, reduce_bandwidth=1e12, in_network={NODE: NEAR},
        tables=presets()["a100-node"].tables, sources={"rails": 'counted, "by hand"'},
    )  # fmt: skip
    (tmp_path / "m.toml").write_text(as_toml(machine))
    assert read_machine(tmp_path / "m.toml") == machine


SHORT = """
[within_a_node]
latency = 2e-6
bandwidth = 450e9
"""


def test_a_short_file_is_enough(tmp_path):
    (tmp_path / "mine.toml").write_text(SHORT)
    machine = read_machine(tmp_path / "mine.toml")
    assert machine == Machine(name="mine", links={NODE: Link(latency=2e-6, bandwidth=450e9)})


TABLE = """
[[tables]]
collective = "all_reduce"
algorithm = "ring"
ranks = 8
nodes = 1
bytes = [1, 2]
seconds = [1e-6, 2e-6]
"""
WRONG = {
    "no TOML": ("nodes = ", "is no TOML: Invalid value"),
    "an unknown key": ("node = 4", "node: there is no such key; use name, nodes, ranks_per_node"),
    "an unknown figure": (SHORT + "speed = 1", "within_a_node.speed: there is no such key; use"),
    "a missing figure": ("[within_a_node]\nlatency = 1e-6", "within_a_node.bandwidth is missing"),
    "text for a number": (SHORT.replace("450e9", "'450GB/s'"),
                          "within_a_node.bandwidth='450GB/s' must be a number"),
    "a fraction of ranks": ("nodes = 1.5", "nodes=1.5 must be a whole number"),
    "true for a number": ("overhead = true", "overhead=True must be a number"),
    "a link that cannot be": (SHORT.replace("2e-6", "-1.0"),
                              "within_a_node.latency=-1.0 must be seconds, 0 or more"),
    "a link that is no table": ("within_a_node = 3", "within_a_node=3 must be a table"),
    "links missing": ("nodes = 4" + SHORT, "lacks 'between nodes', which ranks use"),
    "no list of tables": (SHORT + "[tables]\n", "tables={} must be written as [[tables]]"),
    "a table without times": (SHORT + "[[tables]]\ncollective = 'all_reduce'\n",
                              "tables[0].algorithm is missing"),
    "times and sizes that do not fit": (
        SHORT + "[[tables]]\ncollective = 'all_reduce'\nalgorithm = 'ring'\nranks = 8\nnodes = 1\n"
        "bytes = [1, 2]\nseconds = [1e-6]\n",
        "tables[0].bytes and tables[0].seconds must be lists of one length"),
    "sizes that do not ascend": (
        SHORT + "[[tables]]\ncollective = 'all_reduce'\nalgorithm = 'ring'\nranks = 8\nnodes = 1\n"
        "bytes = [2, 1]\nseconds = [1e-6, 1e-6]\n",
        "bytes=[2, 1] of the all_reduce table must be positive and ascend"),
    "a number beyond all floats": (f"overhead = 1{'0' * 400}" + SHORT,
                                   "must be seconds, 0 or more, and finite"),
    "switches between switches that add": (
        SHORT + SHORT.replace("within_a_node", "in_network.between_switches"),
        "in_network.between_switches: there is no such key; use within_a_node, between_nodes"),
    "a table of a misspelt collective": (
        SHORT + TABLE.replace("all_reduce", "allreduce"),
        "tables[0].collective='allreduce' does not exist; there are all_reduce"),
    "a table of no ranks": (SHORT + TABLE.replace("ranks = 8", "ranks = 0"),
                            "tables[0].ranks=0 must be at least 1"),
    "a table of nodes without ranks": (SHORT + TABLE.replace("nodes = 1", "nodes = 9"),
                                       "tables[0].nodes=9 must not be more than ranks=8"),
    "a source that is no text": (SHORT + "[sources]\nrails = 8\n", "sources.rails=8 must be text"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_file_is_said_with_its_name(name, tmp_path):
    text, said = WRONG[name]
    path = tmp_path / "m.toml"
    path.write_text(text)
    with pytest.raises(ArgumentError) as caught:
        read_machine(path)
    assert str(caught.value).startswith(f"machine={str(path)!r}")
    assert said in str(caught.value)


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(ArgumentError, match="cannot be read"):
        read_machine(tmp_path / "none.toml")
    with pytest.raises(ArgumentError, match="cannot be written"):
        write_machine(Machine(**PLAIN), tmp_path / "none" / "m.toml")
