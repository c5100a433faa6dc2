"""How a call ended on each rank: returned, refused, raised, or never."""

from __future__ import annotations

from collections.abc import Sequence

from refcoll.errors import PeerFailedError
from refcoll.words import ranked

FAILED = ("raised", "did not return")
"""What the status of a rank begins with that is out of step now."""
HANGS = "still in it"
"""The status of a rank on which the implementation has not returned."""
AHEAD = "returned, now in the next try"
"""The status of a rank that has not returned either, but from a later try of the same call."""
SILENT = "gives no answer: it has ended, is stopped, or is in native code that keeps Python's lock"
"""The status of a rank that does not say where it stands."""
_WAITED = "did not return, but for its deadline"
_ORDER = ("raised", "refused", "gives no answer", HANGS, "did not return", "")

MOST = 500
"""Characters of a message."""


def failed(error: BaseException) -> str:
    """The status of a rank on which this was raised, in a line.

    A wait that ended by its deadline, or by another rank's failure, is no cause but a result.
    """
    try:
        words = " ".join(str(error)[:MOST].split())
    except Exception as another:  # of its own making
        words = f"(its message raises {type(another).__name__})"
    said = f"{type(error).__name__}: {words}"
    waited = isinstance(error, TimeoutError | PeerFailedError)
    return f"{_WAITED}: {said}" if waited else f"raised {said}"


def ended(statuses: Sequence[str]) -> str:
    """In words, from all ranks' statuses: first what was raised or refused, by whom; then who
    has not returned; then whose deadline passed; then who returned.

    What one of those says that waited in vain is added where there is nothing to blame it on.
    """
    groups: dict[str, list[int]] = {}
    for rank, status in enumerate(statuses):
        groups.setdefault(_WAITED if status.startswith(_WAITED) else status, []).append(rank)
    said: list[str] = []
    for status, ranks in sorted(groups.items(), key=lambda item: _order(item[0])):
        if status == _WAITED and not said:
            status = statuses[ranks[0]]
        said.append(f"{ranked(ranks)}: {'returned' if status == 'done' else status}")
    return "; ".join(said)


def _order(status: str) -> int:
    return next(i for i, word in enumerate(_ORDER) if status.startswith(word))
