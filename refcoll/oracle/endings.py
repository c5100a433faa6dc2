"""How a call ended on each rank: returned, refused, raised, or never."""

from __future__ import annotations

from collections.abc import Sequence

from refcoll.errors import PeerFailedError
from refcoll.words import ranked

FAILED = ("raised", "did not return")
"""What the status of a rank begins with that is out of step now."""


MOST = 500
"""Characters of a message."""


def failed(error: BaseException) -> str:
    """The status of a rank on which this was raised.

    A wait that ended by its deadline, or by another rank's failure, is no cause but a result.
    """
    try:
        words = str(error)[:MOST]
    except Exception as another:  # of its own making
        words = f"(its message raises {type(another).__name__})"
    said = f"{type(error).__name__}: {words}"
    waited = isinstance(error, TimeoutError | PeerFailedError)
    return f"did not return, but for its deadline: {said}" if waited else f"raised {said}"


def ended(statuses: Sequence[str]) -> str:
    """In words, from all ranks' statuses: first what was raised or refused, by whom; then who
    did not return, with what one of them says; then who did."""
    groups: dict[str, list[int]] = {}
    for rank, status in enumerate(statuses):
        waits = status.startswith("did not return")
        groups.setdefault("did not return" if waits else status, []).append(rank)
    said = []
    for status, ranks in sorted(groups.items(), key=lambda item: _order(item[0])):
        if status == "did not return":
            status = statuses[ranks[0]]
        said.append(f"{ranked(ranks)}: {'returned' if status == 'done' else status}")
    return "; ".join(said)


def _order(status: str) -> int:
    return next(
        i
        for i, word in enumerate(("raised", "refused", "did not return", ""))
        if status.startswith(word)
    )
