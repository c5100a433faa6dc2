"""How an algorithm agrees with an order, in words."""

from __future__ import annotations

from collections.abc import Iterator

from refcoll.oracle.revealing.agreeing import Agreement, How
from refcoll.oracle.revealing.trees import Tree
from refcoll.words import counted, spans

_MOST = 3
"""Ranks that are named."""


def in_short(name: str, how: Agreement) -> str:
    """The name, with how it agrees unless it does exactly."""
    return name if how.how is How.EXACTLY else f"{name}, {_what(how)}"


def in_words(how: Agreement, first: Tree) -> str:
    """With who does whose part, and the algorithm's own ``first`` tree to compare.

    >>> from refcoll.oracle.revealing.trees import leaf, node
    >>> its = node([leaf(0), node([leaf(1), leaf(2)])])
    >>> in_words(Agreement(How.RELABELLED, (0, 2, 1)), its)
    'run the other way: rank 2 does the part of 1, 1 of 2; its own first element is (0+(1+2))'
    """
    details = [*_parts(how), *_chunks(how)]
    if not details:
        return _what(how)
    return f"{_what(how)}: {'; '.join(details)}; its own first element is {first}"


def _what(how: Agreement) -> str:
    """In a phrase: turning on and turning round have one that is better than that they relabel."""
    order = how.relabelled
    if order is None:
        return how.how
    size = len(order)
    if order == tuple((order[0] + rank) % size for rank in range(size)):
        return _moved_on(order[0], size)
    if order == tuple((order[0] - rank) % size for rank in range(size)):
        return "run the other way"
    return how.how


def _moved_on(by: int, size: int) -> str:
    """The nearer way round."""
    if by > size // 2:
        return f"started {counted(size - by, 'rank')} earlier"
    return f"started {counted(by, 'rank')} later"


def _parts(how: Agreement) -> Iterator[str]:
    """Who does whose."""
    moved = [(r, other) for r, other in enumerate(how.relabelled or ()) if r != other]
    if moved:
        (rank, other), *rest = moved
        said = [f"rank {other} does the part of {rank}"]
        said += [f"{other} of {rank}" for rank, other in rest[: _MOST - 1]]
        yield ", ".join([*said, "..."] if len(moved) > _MOST else said)


def _chunks(how: Agreement) -> Iterator[str]:
    """Which are where, if that is not the same as who does whose part."""
    if how.turned and how.how is not How.STARTED:
        yield f"chunks in the order {spans(how.turned, 2 * _MOST)}"
