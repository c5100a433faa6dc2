"""Ring and hierarchical all-reduce over slow links: measured beside predicted, as a table.

    python tests/hosts/measure.py [RATE [BYTES]]

Prints the Markdown table of docs/hosts.md, which says how the prediction is made.
"""

from __future__ import annotations

import json
import sys
from math import inf
from pathlib import Path

import refcoll
from refcoll.interpreters.cost import cost
from refcoll.interpreters.count import count
from refcoll.testing.hosts import Hosts

PROGRAM = Path(__file__).parent / "programs" / "times.py"
SHAPES = [(2, 2), (4, 2), (2, 4)]
ALGORITHMS = ["ring", "hierarchical_rails", "hierarchical_leaders"]
ITERATIONS = 7
CARRIED = 1448 / 1514
"""Of the bytes of a frame, those that MPI has sent."""


def predicted(algorithm, nodes, nbytes, bandwidth, alpha):
    """Seconds by the cost model, in which a rank has a link of its own: what a host's link
    carries is divided by the most of its ranks that send to other hosts."""
    size = sum(map(len, nodes))
    program = refcoll.program("all_reduce", algorithm, size, nodes=nodes)
    home = {rank: node for node in nodes for rank in node}
    far = {a for a, b in count(program, nbytes).links if home[a] != home[b]}
    share = bandwidth * CARRIED / max(len(far & {*node}) for node in nodes)
    links = {"between nodes": (alpha, share)}
    return cost(program, nbytes, latency=alpha, bandwidth=inf, links=links)


def rows(hosts, shape, placement, nbytes):
    command = [sys.executable, str(PROGRAM), str(nbytes // 4), str(ITERATIONS), *ALGORITHMS]
    run = hosts.mpirun(*command, placement=placement, timeout=600)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    nodes = tuple(map(tuple, told["nodes"]))
    model = {
        each: predicted(each, nodes, nbytes, hosts.bandwidth, told["alpha"]) for each in ALGORITHMS
    }
    for each in ALGORITHMS:
        ratios = told["ring"] / told[each], model["ring"] / model[each]
        yield [
            shape, placement, each, f"{told[each] * 1e3:.0f} ms", f"{model[each] * 1e3:.0f} ms",
            *(f"{ratio:.2f}" for ratio in ratios),
        ]  # fmt: skip


def main(rate="100mbit", nbytes="2000000"):
    header = ["hosts", "placement", "algorithm", "measured", "predicted", "ring / this, measured",
              "ring / this, predicted"]  # fmt: skip
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for shape in SHAPES:
        with Hosts(*shape, rate=rate) as hosts:
            for placement in ("block", "interleaved"):
                for row in rows(hosts, "x".join(map(str, shape)), placement, int(nbytes)):
                    print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
