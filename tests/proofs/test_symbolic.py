"""Lemmas on one step, for every N, checked by z3 on Python's own functions.

They are the steps of the proofs in Coq, asked of the code itself: no formula is written twice.
Every index of the functions is then changed in turn, and some lemma must fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import pytest
from index_mutants import mutants

from refcoll import Copy, Send
from refcoll.algorithms import recursive, reduce_scatter, ring, tree
from refcoll.schedule import Reduce, peer

z3 = pytest.importorskip("z3", reason="z3 not found: pip install z3-solver")
from symbolic import Exponent, Turn, holds, turns  # noqa: E402 (it needs z3)

RANK, SIZE, T, U, OTHER, DISTANCE = z3.Ints("rank size t u other distance")
THERE = (SIZE >= 1, RANK >= 0, RANK < SIZE)
"""What is known of a rank."""
SMALL = (SIZE <= 16, DISTANCE == 3)
"""Where a counterexample is looked for."""


class Lemma(NamedTuple):
    name: str
    claim: Any
    given: tuple[Any, ...] = ()

    def holds(self, *where: Any) -> bool:
        return holds(self.claim, *self.given, *where)


Lemmas = Iterator[Lemma]


# ---- rings: for every rank, N and t -------------------------------------------------------


def exchange(function: Callable, rank: Any, t: Any) -> tuple[Any, Send, Copy | Reduce]:
    """When the loop gets to turn t; what the rank then sends, and receives."""
    (turn,) = turns(function, rank, SIZE, t)
    send, receive = turn.step
    assert isinstance(send, Send)
    assert not isinstance(receive, Send)
    return turn.when, send, receive


def messages_fit(function: Callable) -> Lemmas:
    """Every rank sends to, and receives from, another rank, which does the opposite."""
    reached, send, receive = exchange(function, RANK, T)
    given = (*THERE, reached)
    for q in (send.to, receive.source):
        yield Lemma("peers exist", z3.And(q >= 0, q < SIZE, q != RANK), given)
    for chunk in (send.chunks, receive.chunks):
        yield Lemma("chunks exist", z3.And(chunk >= 0, chunk < SIZE), given)
    _, _, there = exchange(function, send.to, T)
    met = z3.And(there.source == RANK, there.chunks == send.chunks)
    yield Lemma("the receiver receives it", met, given)
    (turn,) = turns(function, RANK, SIZE, T)
    yield Lemma("there are N - 1 steps", turn.loop.stop - turn.loop.start == SIZE - 1, THERE)


def round_the_ring(function: Callable) -> Lemmas:
    """What comes in one step goes on in the next, and nothing comes twice."""
    yield from messages_fit(function)
    reached, send, receive = exchange(function, RANK, T)
    given = (*THERE, reached)
    after, passed, _ = exchange(function, RANK, T + 1)
    yield Lemma("what came goes on", passed.chunks == receive.chunks, (*given, after))
    also, _, other = exchange(function, RANK, U)
    yield Lemma("nothing twice", receive.chunks != other.chunks, (*given, also, T != U))
    yield Lemma("what comes is not what goes", receive.chunks != send.chunks, given)


def ring_reduce_scatter(function: Callable) -> Lemmas:
    yield from round_the_ring(function)
    reached, _, receive = exchange(function, RANK, T)
    after, _, _ = exchange(function, RANK, T + 1)
    yield Lemma("it merges", isinstance(receive, Reduce))
    yield Lemma("my chunk comes last", receive.chunks == RANK, (*THERE, reached, z3.Not(after)))


def ring_all_gather(function: Callable) -> Lemmas:
    yield from round_the_ring(function)
    reached, send, receive = exchange(function, RANK, T)
    before, _, _ = exchange(function, RANK, T - 1)
    yield Lemma("it copies", isinstance(receive, Copy))
    yield Lemma("my chunk goes first", send.chunks == RANK, (*THERE, reached, z3.Not(before)))
    yield Lemma("my chunk does not come", receive.chunks != RANK, (*THERE, reached))


def pairwise_reduce_scatter(function: Callable) -> Lemmas:
    yield from messages_fit(function)
    reached, send, receive = exchange(function, RANK, T)
    also, _, other = exchange(function, RANK, U)
    given = (*THERE, reached)
    yield Lemma("it merges", isinstance(receive, Reduce))
    yield Lemma("everyone is sent the own chunk", send.chunks == send.to, given)
    yield Lemma("my own chunk comes", receive.chunks == RANK, given)
    yield Lemma("from nobody twice", receive.source != other.source, (*given, also, T != U))


# ---- powers of two ------------------------------------------------------------------------


def doubling(function: Callable) -> Lemmas:
    """Partners are the two halves of one block of 2^(k+1) ranks.  N up to 2^29, for XOR."""
    rank, size, k, levels = z3.BitVecs("rank size k levels", 32)
    names = {"log2_floor": lambda size: levels}
    ((reached, (send, receive), _),) = turns(function, rank, size, k, **names)
    ((_, (answer, _), _),) = turns(function, send.to, size, k, **names)
    power = (levels >= 0, levels < 30, size == z3.BitVecVal(1, 32) << levels)
    there = (*power, rank >= 0, rank < size)
    given = (*there, reached)
    yield Lemma("partners exist", z3.And(send.to >= 0, send.to < size), given)
    yield Lemma("partners exchange", z3.And(receive.source == send.to, answer.to == rank), given)
    yield Lemma("of neighbouring blocks", send.to >> k == (rank >> k) ^ 1, given)
    yield Lemma("it merges", isinstance(receive, Reduce))
    yield Lemma("its only chunk", send.chunks == receive.chunks == 0)
    yield Lemma("there are log2 N rounds", z3.And(k >= 0, k < levels) == reached, there)


def binomial_broadcast(function: Callable) -> Lemmas:
    """Before the round of distance d, exactly the ranks that 2d divides have it."""
    number, levels = z3.Ints("number levels")
    names = {"log2_ceiling": lambda size: levels, "reversed": lambda loop: loop}
    k = Exponent(number, DISTANCE)
    here, there = (turns(function, rank, SIZE, k, **names) for rank in (RANK, OTHER))
    # The remainder by d follows from that by 2d; z3 is told, since it does not find out.
    wide, narrow = RANK % (2 * DISTANCE), RANK % DISTANCE
    given = (*THERE, DISTANCE >= 1, narrow == z3.If(wide < DISTANCE, wide, wide - DISTANCE))
    had, has = wide == 0, narrow == 0
    reached = z3.Or(*(turn.when for turn in here))
    yield Lemma("there are L rounds", reached == z3.And(number >= 0, number < levels), given)
    for turn in here:
        path = (*given, turn.when)
        if not turn.step:
            yield Lemma("who idles has it still, or not yet", had == has, path)
            continue
        (action,) = turn.step
        other = peer(action)
        yield Lemma("its only chunk", action.chunks == 0)
        yield Lemma("peers exist", z3.And(other >= 0, other < SIZE), path)
        yield Lemma("the peer does the opposite", meets(action, there), (*path, other == OTHER))
        changes = had if isinstance(action, Send) else z3.And(z3.Not(had), has)
        yield Lemma("who has it sends, who has not receives", changes, path)


def meets(action: Send | Copy | Reduce, there: list[Turn]) -> Any:
    """That the other rank's turn receives what RANK sends, or sends what it receives."""
    opposite = Copy if isinstance(action, Send) else Send
    taking = [turn for turn in there if turn.step and type(turn.step[0]) is opposite]
    return z3.Or(*(z3.And(turn.when, peer(turn.step[0]) == RANK) for turn in taking))


# ---- the tests ----------------------------------------------------------------------------

LEMMAS = {
    ring.ring_reduce_scatter: ring_reduce_scatter,
    ring.ring_all_gather: ring_all_gather,
    reduce_scatter.pairwise_reduce_scatter: pairwise_reduce_scatter,
    recursive.doubling: doubling,
    tree.binomial_broadcast: binomial_broadcast,
}
each = pytest.mark.parametrize("function", LEMMAS, ids=lambda function: function.__name__)


@each
def test_every_step_is_right_for_every_n(function):
    assert [lemma.name for lemma in LEMMAS[function](function) if not lemma.holds()] == []


@each
def test_every_changed_index_is_refuted(function):
    module = import_module(function.__module__)
    found = list(mutants(module, [function.__name__]))
    missed = [mutant.lines for mutant in found if not refuted(mutant, function)]
    assert found
    assert missed == []


def refuted(mutant, function) -> bool:
    """Whether some lemma fails of the function as changed, or it has no step any more."""
    names = dict(vars(import_module(function.__module__)))
    exec(compile(mutant.tree, function.__module__, "exec"), names)
    try:
        return any(not lemma.holds(*SMALL) for lemma in LEMMAS[function](names[function.__name__]))
    except (AssertionError, TypeError, ValueError):
        return True
