"""A program from steps that a user has written down, checked before anything reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from refcoll.collectives import Collective, checked_root
from refcoll.collectives import collective as find_collective
from refcoll.errors import ArgumentError, integer, within
from refcoll.programs import Program
from refcoll.schedule import Action, Copy, Reduce, Send, Step, peer

_MOST_STEPS = 1_000_000
"""Steps of one rank, so that a generator without an end is an error, not a wait for ever."""


def from_steps(
    collective: str,
    steps: Sequence[Iterable[Step]],
    chunks: int,
    *,
    name: str = "your steps",
    root: int = 0,
    helpers: int = 0,
    areas: int = 1,
    result_area: int = 0,
) -> Program:
    """A program from one list of steps a rank: your own algorithm, to check or simulate.

    ``steps`` has the ``helpers``, who own no input and output, last; ``areas`` is 1 plus
    the areas of scratch, and the result stands in ``result_area``.  Raises ArgumentError
    where collective, chunks or root make no sense for so many ranks, a step is no tuple of
    actions, or a rank has more than a million steps.
    """
    if not isinstance(steps, Sequence) or isinstance(steps, str | bytes) or not steps:
        raise ArgumentError(f"steps={steps!r:.80} must be a list with an iterable of steps a rank")
    if not isinstance(name, str):
        raise ArgumentError(f"name={name!r:.80} must be a string")
    helpers, root = integer(helpers, "helpers"), integer(root, "root")
    areas, result_area = within(areas, "areas", 1), integer(result_area, "result_area")
    lists = [list(_checked(each, rank)) for rank, each in enumerate(steps)]
    kind, size = find_collective(collective), len(lists) - helpers
    if helpers < 0 or size < 1:
        raise ArgumentError(f"helpers={helpers} of {len(lists)} ranks must leave at least one")
    checked_root(kind, root, size)
    chunks = _checked_chunks(chunks, kind, size)
    if not 0 <= result_area < areas:
        raise ArgumentError(f"result_area={result_area} must be one of the areas={areas}")
    return Program(
        name, kind, size, lists.__getitem__, chunks,
        root=root, helpers=helpers, areas=areas, result_area=result_area,
    )  # fmt: skip


def _checked_chunks(chunks: int, kind: Collective, size: int) -> int:
    """At least one; one a rank where a collective gives each rank one of its own."""
    chunks = within(chunks, "chunks", 1)
    if kind.scattered and chunks != size:
        raise ArgumentError(
            f"chunks={chunks} must be {size}, one a rank, for {kind.name} on {size} ranks"
        )
    return chunks


def _checked(steps: Iterable[Step], rank: int) -> Iterator[Step]:
    """The steps, once they are known to be tuples of actions on whole numbers."""
    if not isinstance(steps, Iterable):
        raise ArgumentError(
            f"steps[{rank}]={steps!r:.80} is no list of steps; call it, if a function"
        )
    for number, step in enumerate(steps, 1):
        if number > _MOST_STEPS:
            raise ArgumentError(
                f"steps[{rank}] has more than {_MOST_STEPS:,} steps; see that it ends"
            )
        if not isinstance(step, tuple) or not all(isinstance(a, Action) for a in step):
            raise ArgumentError(
                f"rank {rank} step {number} is {step!r:.80}; a step is a tuple of Send, Copy and "
                "Reduce, such as (Send(0, 1),) with its comma"
            )
        yield tuple(_whole(action, f"rank {rank} step {number}: {action}") for action in step)


def _whole(action: Action, where: str) -> Action:
    """The action with plain integers, numpy's among them; ArgumentError for anything else."""
    try:
        chunks = action.chunks
        if not isinstance(chunks, range):
            several = chunks if isinstance(chunks, tuple | list) else None
            chunks = (
                integer(chunks, "chunk") if several is None
                else tuple(integer(chunk, "chunk") for chunk in several)
            )  # fmt: skip
        other = integer(peer(action), "rank")
    except ArgumentError:
        raise ArgumentError(f"{where} must name a rank and chunks by integers") from None
    if isinstance(action, Send):
        return Send(chunks, other)
    if isinstance(action, Copy):
        return Copy(chunks, other)
    if action.incoming not in (None, "left", "right"):
        raise ArgumentError(f'{where}: incoming must be "left", "right" or None')
    return Reduce(chunks, other, action.incoming)
