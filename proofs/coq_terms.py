"""refcoll's schedules as terms of the Coq development, and which definition each must equal.

    python proofs/coq_terms.py > /tmp/Python.v       what Python does, for N up to 24
    coqc -Q proofs Refcoll /tmp/Python.v             Coq's kernel compares, by computation

An example: what Python's ring does on two ranks, and what the definition in Ring.v computes:

    Definition python_ring_all_reduce_2 : list schedule :=
      [[[Send [1] 1; Reduce [0] 1 None]; [Send [0] 1; Copy [1] 1]];
       [[Send [0] 0; Reduce [1] 0 None]; [Send [1] 0; Copy [0] 0]]].
    Example ring_all_reduce_2 :
      everyone (fun rank => ring_all_reduce rank 2) 2 = python_ring_all_reduce_2.
    Proof. vm_cast_no_check (eq_refl python_ring_all_reduce_2). Qed.

(The tactic leaves the whole comparison to the kernel, at Qed, on its virtual machine.)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import coq
from refcoll import Copy, Program, Send, algorithms, node_shape, program
from refcoll.algorithms.declaration import Algorithm
from refcoll.schedule import Action, Reduce, Schedule, indices
from refcoll.topology import Nodes

SIZES = range(1, 25)
DAILY = (*range(1, 10), 12, 16)
"""Numbers of ranks that the kernel compares in every run of the tests."""


@dataclass(frozen=True)
class Bound:
    """A definition in Coq, and the algorithm that it is to be."""

    file: str
    schedule: str
    """Coq's schedule of a ``rank``, with places for ``size`` and ``nodes``."""
    collective: str
    algorithm: str

    @property
    def declared(self) -> Algorithm:
        """refcoll's algorithm."""
        (found,) = algorithms(self.collective, self.algorithm)
        return found


BOUND = (
    Bound("Ring", "ring_reduce_scatter rank {size}", "reduce_scatter", "ring"),
    Bound("Ring", "ring_all_gather rank {size}", "all_gather", "ring"),
    Bound("Ring", "ring_all_reduce rank {size}", "all_reduce", "ring"),
    Bound("Pairwise", "pairwise_reduce_scatter rank {size}", "reduce_scatter", "pairwise"),
    Bound(
        "AnySize", "recursive_doubling_all_reduce rank {size}", "all_reduce", "recursive_doubling"
    ),
    Bound("AnySize", "rabenseifner_all_reduce rank {size}", "all_reduce", "rabenseifner"),
    Bound("Tree", "binomial_broadcast rank {size}", "broadcast", "binomial"),
    Bound("Tree", "binomial_reduce rank {size}", "reduce", "binomial"),
    Bound("Tree", "binomial_all_reduce rank {size}", "all_reduce", "binomial"),
    Bound("Rails", "rails_all_reduce rank {nodes}", "all_reduce", "hierarchical_rails"),
    Bound("Leaders", "leaders_all_reduce rank {nodes}", "all_reduce", "hierarchical_leaders"),
)
SHAPES: tuple[Nodes, ...] = (
    *map(node_shape, (
        (1,), (2,), (1, 1), (1, 2), (2, 1), (3,), (1, 1, 1), (2, 2), (3, 2), (2, 3), (5, 1),
        (4, 4), (1, 2, 3), (3, 3, 3), (2, 3, 4), (5, 1, 1, 2), (8, 8), (5, 7), (4,) * 6, (8,) * 3,
    )),
    ((0, 2, 4), (1, 3, 5)), ((5, 0), (3,), (1, 4, 2)), ((8, 1, 6), (0, 7), (4, 3, 5, 2)),
)  # fmt: skip
"""Nodes: equal and not, of one rank, and of ranks in no order."""


@dataclass(frozen=True)
class Instance:
    """A bound algorithm on so many ranks, which lie on ``nodes`` if it asks for them."""

    bound: Bound
    size: int
    nodes: Nodes | None = None

    @property
    def schedule(self) -> str:
        """Coq's schedule of a ``rank``: what the instance is called, too."""
        nodes = several(several(map(str, node)) for node in self.nodes or ())
        return self.bound.schedule.format(size=self.size, nodes=nodes)

    @property
    def coq_program(self) -> str:
        """Coq's program."""
        return f"(fun rank => {self.schedule})"

    @property
    def identifier(self) -> str:
        """A name for what Coq says of it."""
        said = self.schedule.replace(" rank", "").replace("]; [", " and ")
        return re.sub(r"\W+", "_", said).strip("_")

    @property
    def program(self) -> Program:
        """refcoll's program."""
        return program(self.bound.collective, self.bound.algorithm, self.size, nodes=self.nodes)

    def steps(self, algorithm: Algorithm | None = None) -> list[Schedule]:
        """What every rank does in Python, or would do by another ``algorithm``."""
        schedule = (algorithm or self.bound.declared).schedule
        options = {"nodes": self.nodes} if self.nodes else {}
        return [schedule(rank, self.size, **options) for rank in range(self.size)]


def instances(sizes: Collection[int] = SIZES, bounds: Iterable[Bound] = BOUND) -> list[Instance]:
    """All bound algorithms on all those numbers of ranks, or on all nodes of so many ranks."""
    shapes = [(size, nodes) for nodes in SHAPES if (size := sum(map(len, nodes))) in sizes]
    flat = [(size, None) for size in sizes]
    return [
        Instance(bound, size, nodes)
        for bound in bounds
        for size, nodes in (shapes if "{nodes}" in bound.schedule else flat)
    ]


# ---- terms, spelled as Coq prints them -------------------------------------------------


def several(terms: Iterable[str]) -> str:
    """A list."""
    return f"[{'; '.join(terms)}]"


def action_term(action: Action) -> str:
    """An action; one index and a range are lists of indices too."""
    chunks = several(map(str, indices(action.chunks)))
    if isinstance(action, Send):
        return f"Send {chunks} {action.to}"
    if isinstance(action, Copy):
        return f"Copy {chunks} {action.source}"
    return f"Reduce {chunks} {action.source} {_side(action)}"


def _side(action: Reduce) -> str:
    return "None" if action.incoming is None else f"(Some {action.incoming.capitalize()})"


def program_term(schedules: Iterable[Schedule]) -> str:
    """The schedules of all ranks."""
    return several(
        several(several(map(action_term, step)) for step in schedule) for schedule in schedules
    )


# ---- the file that the kernel checks ----------------------------------------------------


def head(files: Iterable[str]) -> str:
    """What the examples stand on.

    Numbers have names, n7 for 7: Coq reads a name ten times as fast as a numeral.
    """
    names = "".join(f"Definition n{i} := {i}.\n" for i in range(64))
    return (
        coq.required(["Lists", "Schedule", *files])
        + names
        + ("Definition everyone (P : program) (N : Z) : list schedule := map P (ranks N).\n")
    )


def named_numbers(term: str) -> str:
    """The term with names for its numbers."""
    return re.sub(r"\b\d+", r"n\g<0>", term)


def example(name: str, left: str, kind: str, right: str) -> str:
    """That ``left`` computes to what Python says, ``right``, which is of that kind."""
    return (
        f"Definition python_{name} : {kind} :=\n  {right}.\n"
        f"Example {name} :\n  {left} = python_{name}.\n"
        f"Proof. vm_cast_no_check (eq_refl python_{name}). Qed.\n"
    )


def examples(which: Sequence[Instance]) -> Iterator[str]:
    """That each Coq definition computes to what Python does."""
    for each in which:
        term = named_numbers(program_term(each.steps()))
        left = f"everyone {each.coq_program} {each.size}"
        yield example(each.identifier, left, "list schedule", term)


def text(which: Sequence[Instance]) -> str:
    """The whole file."""
    used = sorted({each.bound.file for each in which})
    return head(used) + "".join(examples(which))


if __name__ == "__main__":
    print(text(instances()), end="")
