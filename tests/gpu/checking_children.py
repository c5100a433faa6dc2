"""Parts of check.py as processes of their own, which may crash or hang."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from refcoll.testing.limited import marked, run

LONGEST, LEAST = 90.0, 5.0
"""Seconds that a part may take; and that must be left for one to be tried."""
MARK = "found: "
_PROGRAM = str(Path(__file__).parent / "check.py")
_MEASURED = ("in_process", "by_mpi")
"""Parts that are told the ceiling, as their last argument."""


@dataclass(frozen=True)
class Part:
    """What one child does."""

    title: str
    name: str
    """Of the function."""
    arguments: tuple[str, ...] = ()
    launcher: tuple[str, ...] = ()
    """What starts the ranks of a job; nothing for one process."""
    group: str = ""
    """Of jobs alike but for their ranks; where one has failed, the rest are not tried."""

    def command(self, ceiling, program=_PROGRAM):
        """Of the child."""
        known = [json.dumps(ceiling)] if self.name in _MEASURED else []
        child = [sys.executable, program, "--child", self.name, *self.arguments, *known]
        return [*self.launcher, *child]


def jobs(launchers, modes=("staged", "direct"), sizes=(2, 4, 8)):
    """Those by MPI: ``launchers`` has commands by name, with {ranks} in them."""
    return [
        Part(f"{name} {mode} {ranks}", "by_mpi", (mode,), _filled(command, ranks), f"{name} {mode}")
        for name, command in launchers.items()
        for mode in modes
        for ranks in sizes
    ]


def _filled(command, ranks):
    return tuple(word.replace("{ranks}", str(ranks)) for word in shlex.split(command))


def child(part, name, arguments):
    """The function ``part``, in this process; what it found, if anything, behind a mark."""
    if name in _MEASURED:
        *arguments, known = arguments
        found = part(*arguments, ceiling=json.loads(known))
    else:
        found = part(*arguments)
    if found is not None:
        print(f"{MARK}{json.dumps(found)}", flush=True)


def tried(command, limit):
    """What a child found, or how it ended: with ``right``, ``wall_seconds``, ``ended`` (null if it
    came to its end) and ``missing`` (whether something could not be imported)."""
    ended = run(command, limit)
    said = marked(ended.out, MARK)
    came = ended.status == 0 and len(said) == 1
    missing = not came and ("ModuleNotFoundError" in ended.err or "ImportError" in ended.err)
    found = {"right": True} if came else {"right": False}
    if said:
        found |= said[-1] if came else {**said[-1], "right": False}
    how = {"ended": None if came else ended.words(), "missing": missing}
    return {**found, **how, "wall_seconds": ended.seconds}


def all_tried(parts: Sequence[Part], until, keep=lambda found: None, tell=print, trial=tried):
    """What came of each part, by title, before the clock (``time.monotonic``) shows ``until``;
    ``keep`` is given what is known so far, after each."""
    found = {}
    for part in parts:
        limit = min(LONGEST, until - time.monotonic())
        before = [each.title for each in parts if each.group and each.group == part.group]
        failed = [each for each in before if each in found and not found[each]["right"]]
        if failed:
            found[part.title] = not_tried(f"{failed[0]} has failed")
        elif limit < LEAST:
            found[part.title] = not_tried("no time was left")
        else:
            found[part.title] = trial(part.command(found.get("ceiling", {})), limit)
        tell(f"{part.title}: {json.dumps(found[part.title])[:200]}", flush=True)
        keep(found)
    return found


def not_tried(why):
    """In the place of what was found."""
    return {"right": False, "ended": None, "missing": False, "not_tried": why}
