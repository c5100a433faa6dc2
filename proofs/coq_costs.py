"""What refcoll counts, as terms for Coq to compare with what Traffic.v and NodesTraffic.v count.

Chunks have unequal lengths, some of them none: 2, 0, 3, 1, 4 elements and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coq_terms import Instance, example, head, several
from refcoll import count
from refcoll.chunks import Layout
from refcoll.interpreters.count import Counts

_LENGTHS = "(fun chunk => (3 * chunk + 2) mod 5)"
_DEFINED = f"""
Definition costs (P : program) (N : Z) : list (list Z) :=
  map (fun r => [Z.of_nat (steps P r); Z.of_nat (messages_sent P r);
    Z.of_nat (messages_received P r); sent {_LENGTHS} P r; received {_LENGTHS} P r]) (ranks N).
Definition costs_by_nodes (nodes : list (list Z)) (P : program) (N : Z) : list (list Z) :=
  map (fun r => let node := node_of nodes r in
    match index_of r node with
    | None => []
    | Some place => flat_map (fun peers => [sent_where {_LENGTHS} peers (P r);
        received_where {_LENGTHS} peers (P r)]) [near node place; far node]
    end) (ranks N).
"""


def counted(each: Instance) -> Counts:
    """What refcoll counts."""
    made = each.program
    return count(made, Layout(tuple((3 * chunk + 2) % 5 for chunk in range(made.chunks))))


def costs(each: Instance) -> Iterator[list[int]]:
    """Per rank: steps, messages sent and received, elements sent and received."""
    for rank in counted(each).ranks:
        yield [rank.steps, rank.messages_sent, rank.messages_received, rank.sent, rank.received]


def costs_by_nodes(each: Instance) -> Iterator[list[int]]:
    """Per rank: elements sent and received within its node, and beyond."""
    links, home = counted(each).links, {r: node for node in each.nodes or () for r in node}
    for rank in range(each.size):
        near = set(home[rank]) - {rank}
        for_peers = []
        for peers in (near, home.keys() - {*home[rank]}):
            for_peers.append(sum(links[rank, peer] for peer in peers))
            for_peers.append(sum(links[peer, rank] for peer in peers))
        yield for_peers


def text(which: Sequence[Instance]) -> str:
    """That Coq counts the same."""
    used = sorted({"Traffic", "Groups", "Nodes", "NodesTraffic", *(e.bound.file for e in which)})
    said = [head(used), _DEFINED]
    for each in which:
        asked = f"{each.coq_program} {each.size}"
        said.append(_example(each.identifier, f"costs {asked}", costs(each)))
        if each.nodes:
            nodes = several(several(map(str, node)) for node in each.nodes)
            left = f"costs_by_nodes {nodes} {asked}"
            said.append(_example(f"{each.identifier}_by_nodes", left, costs_by_nodes(each)))
    return "".join(said)


def _example(name: str, left: str, rows: Iterator[list[int]]) -> str:
    right = several(several(map(str, row)) for row in rows)
    return example(name, left, "list (list Z)", right)
