"""Collectives across hosts: where ranks are, right results, and the bytes that cross the links."""

from __future__ import annotations

import pytest

import refcoll
from refcoll.interpreters.count import count

SHAPES = [(2, 2, "block"), (2, 2, "interleaved"), (4, 2, "block"), (2, 4, "block"),
          (2, 4, "interleaved")]  # fmt: skip


def truth(hosts, per_host, placement):
    """Which ranks are on which host, by the definition of the placements."""
    ranks = range(hosts * per_host)
    if placement == "interleaved":
        return tuple(tuple(ranks[host::hosts]) for host in range(hosts))
    return tuple(tuple(ranks[host * per_host :][:per_host]) for host in range(hosts))


def test_the_truth_itself():
    assert truth(2, 4, "block") == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert truth(2, 4, "interleaved") == ((0, 2, 4, 6), (1, 3, 5, 7))


@pytest.mark.parametrize(
    ("hosts", "per_host", "placement"),
    [SHAPES[0], *(pytest.param(*each, marks=pytest.mark.long) for each in SHAPES[1:])],
)
def test_nodes_are_found_as_they_are(hosts, per_host, placement, built, program):
    """Were they taken for others where ranks alternate, hierarchical algorithms would send more
    across the links than claimed, which is measured below every day."""
    there = built(hosts, per_host)
    seen = program(there, "places.py", placement=placement)
    nodes = truth(hosts, per_host, placement)
    for rank, mine in enumerate(seen):
        (node,) = (k for k, ranks in enumerate(nodes) if rank in ranks)
        assert tuple(map(tuple, mine["nodes"])) == nodes
        assert mine["host"] == there.names[node]
        assert mine["shares"] == mine["receives"] == [r for r in nodes[node] if r != rank]


@pytest.mark.parametrize(
    ("hosts", "per_host", "placement", "arguments"),
    [
        (2, 2, "block", ("-a", "hierarchical_rails")),
        pytest.param(2, 2, "block", ("-c", "all_reduce"), marks=pytest.mark.long),
        pytest.param(2, 2, "block", (), marks=pytest.mark.long),  # every collective
        pytest.param(4, 2, "block", ("-a", "hierarchical_rails"), marks=pytest.mark.long),
        pytest.param(2, 4, "interleaved", ("-a", "hierarchical_leaders"), marks=pytest.mark.long),
    ],
)
def test_results_are_exact(hosts, per_host, placement, arguments, built):
    run = built(hosts, per_host).mpirun(
        "refcoll", "verify", *arguments, placement=placement, timeout=100
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    assert run.stdout.startswith("holds: ")


# ---- bytes on the wire ----------------------------------------------------------------------

HEADERS = 14 + 20 + 32
"""Bytes of Ethernet, IP and TCP (with timestamps) in every packet, acknowledgements included."""
SEGMENT = 1500 - 20 - 32
"""Bytes that a packet carries at most."""
MOST_OVERHEAD = 0.01
"""Of the payload: what MPI's own protocol says, and acknowledgements that list gaps."""
ELEMENTS = 500_000
RATE = "200mbit"
"""So slow that the cores keep up with the packets, even busy ones, and few are lost."""
ALGORITHMS = ("ring", "hierarchical_rails", "hierarchical_leaders")


def claimed(algorithm, nodes):
    """Bytes that each node sends to the others, and receives, as refcoll counts them."""
    size = sum(map(len, nodes))
    links = count(refcoll.program("all_reduce", algorithm, size, nodes=nodes), ELEMENTS).links
    far = {
        (a, b): n for (a, b), n in links.items() if not any({a, b} <= {*ranks} for ranks in nodes)
    }
    sent = [4 * sum(n for (a, _), n in far.items() if a in ranks) for ranks in nodes]
    received = [4 * sum(n for (_, b), n in far.items() if b in ranks) for ranks in nodes]
    return sent, received


def test_the_claims_are_the_closed_forms():
    """On two nodes of four, of S bytes: a ring crosses 2(N-1)/N S once from each node where
    ranks stand in blocks, and from each of a node's four ranks where they alternate; rails
    send 2(K-1)/K S/m from each of m ranks, and leaders 2(K-1)/K S."""
    whole = 4 * ELEMENTS
    block, alternating = truth(2, 4, "block"), truth(2, 4, "interleaved")
    assert claimed("ring", block) == ([7 * whole // 4] * 2,) * 2
    assert claimed("ring", alternating) == ([7 * whole] * 2,) * 2
    for nodes in (block, alternating):
        assert claimed("hierarchical_rails", nodes) == ([whole] * 2,) * 2
        assert claimed("hierarchical_leaders", nodes) == ([whole] * 2,) * 2


@pytest.mark.parametrize(
    ("hosts", "per_host", "placement"),
    [*(pytest.param(*each, marks=pytest.mark.long) for each in SHAPES[2:4]), SHAPES[4]],
)
def test_the_links_carry_what_is_claimed(hosts, per_host, placement, built, program):
    """Run with -rP, it says how much more than claimed."""
    there = built(hosts, per_host, RATE)
    before = there.traffic()
    told = program(there, "traffic.py", str(ELEMENTS), *ALGORITHMS, placement=placement)
    whole = [after - since for after, since in zip(there.traffic(), before, strict=True)]
    nodes = truth(hosts, per_host, placement)
    for algorithm, by_host in told.items():
        again = sum(host["sent_again"] for host in by_host)
        for way, claims in zip(("sent", "received"), claimed(algorithm, nodes), strict=True):
            for host, claim in enumerate(claims):
                frames, packets = by_host[host][f"{way}_bytes"], by_host[host][f"{way}_packets"]
                payload = frames - HEADERS * packets
                where = f"{algorithm}, host {host} {way}"
                more = f"payload {payload / claim - 1:+.3%}, frames {frames / claim - 1:+.3%}"
                print(f"{where}: {more}, {again} segments sent again")
                assert claim <= payload <= claim * (1 + MOST_OVERHEAD) + SEGMENT * again, where
                assert packets >= claim / SEGMENT, f"{where}: packets that no wire would carry"
                assert frames <= getattr(whole[host], f"{way}_bytes")


def test_links_are_limited_both_ways(built, program):
    """Linear all-reduce: rank 0 takes in S from each of three, then sends S to each.  Were only
    what a host sends limited, it would take S and 3 S; a bound from below holds under any load."""
    nbytes = 400_000
    hosts = built(4, 1, "20mbit")
    told = program(hosts, "times.py", str(nbytes // 4), "1", "linear")
    assert told["linear"] > 0.95 * 6 * nbytes / hosts.bandwidth
