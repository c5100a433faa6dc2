"""What Coq computes, kept in proofs/golden for those who do not have Coq.

    python proofs/coq_golden.py      asks Coq anew, and writes the files

    schedules.txt       every bound algorithm's schedules, for N up to 24
    contributors.txt    what every rank then holds in every chunk, for N up to 12: the
                        contributions (rank, chunk), in the order of operands

A line has what was asked, and Coq's answer on one line; of an answer longer than 1,000
characters the SHA-256.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import coq
from coq_terms import Instance, head, instances

FOLDER = Path(__file__).parent / "golden"
SIZES_RUN = range(1, 13)
_LONGEST = 1_000


def schedules(which: Sequence[Instance]) -> list[str]:
    """Coq's schedules."""
    return _computed(which, lambda each: f"everyone {each.coq_program} {each.size}")


def contributors(which: Sequence[Instance]) -> list[str]:
    """What Coq's run leaves on every rank in every chunk."""
    return _computed(
        which,
        lambda each: f"contributions_table {each.size} {each.program.chunks} {each.coq_program}",
    )


GOLDEN: dict[str, tuple[Callable[[Sequence[Instance]], list[str]], list[Instance]]] = {
    "schedules.txt": (schedules, instances()),
    "contributors.txt": (contributors, instances(SIZES_RUN)),
}


def _computed(which: Sequence[Instance], term: Callable[[Instance], str]) -> list[str]:
    files = sorted({"Executable", *(each.bound.file for each in which)})
    return coq.computed(head(files), map(term, which))


def kept(answer: str) -> str:
    """The answer as the golden files have it."""
    long = len(answer) > _LONGEST
    return f"sha256 {sha256(answer.encode()).hexdigest()}" if long else answer


def lines(which: Sequence[Instance], answers: Sequence[str]) -> str:
    """The lines of a golden file."""
    return "".join(
        f"{each.schedule} = {kept(answer)}\n" for each, answer in zip(which, answers, strict=True)
    )


def golden(name: str) -> dict[str, str]:
    """What Coq answered, by the schedule that was asked for."""
    said = (FOLDER / name).read_text().splitlines()
    return dict(line.split(" = ", 1) for line in said)


if __name__ == "__main__":
    coq.build()
    for name, (ask, which) in GOLDEN.items():
        (FOLDER / name).write_text(lines(which, ask(which)))
