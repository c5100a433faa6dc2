"""An algorithm on a machine as it is run unless asked otherwise: with its default options.

(The planner takes the best of a few; what is measured has these.)
"""

from __future__ import annotations

from refcoll.planning.candidates import Candidate, candidates
from refcoll.planning.machine import Machine
from refcoll.registry import DEFAULT_RADIX, DEFAULT_SEGMENTS, find

_DEFAULTS = {"segments": DEFAULT_SEGMENTS, "radix": DEFAULT_RADIX}


def by_default(machine: Machine, collective: str, algorithm: str) -> Candidate | None:
    """It, ready to be asked; None where the planner knows nothing of it there.

    Raises ArgumentError where there is no such algorithm.
    """
    for each in candidates(machine, find(collective, algorithm)):
        if all(each.options.get(name, value) == value for name, value in _DEFAULTS.items()):
            return each
    return None
