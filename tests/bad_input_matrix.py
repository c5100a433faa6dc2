"""Writes docs/bad-input.md from the rows: python tests/bad_input_matrix.py > docs/bad-input.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

import bad_input_local as local
import bad_input_values as values
import bad_input_words as words
from bad_input_different import DIFFERENT
from bad_input_making import Bad, Local
from bad_input_rows import CALLS, ROWS, Row

DOCUMENT = Path(__file__).parent.parent / "docs" / "bad-input.md"

TEXT = """\
# What happens to bad input

Whatever is wrong with a call, every rank hears of it, soon, before anything has moved: the message names
the argument, its value and what to do instead. No array is written. What follows is written by
`python tests/bad_input_matrix.py`, from the rows that the tests go through one by one: on threads of one
process (`tests/test_bad_input.py`) and on 2 processes under `mpirun`, 4 with `pytest -m long` (`tests/mpi/test_bad_input.py`).

| who is wrong | what is raised | afterwards |
|---|---|---|
| all ranks, in a call that all make together | `ArgumentError` on every rank | the communicator works on |
| some ranks, in such a call | `ArgumentError` where it is wrong, `DisagreementError` elsewhere, with who said what | poisoned: later calls raise `PoisonedError` at once |
| nobody, but the calls are not the same | `DisagreementError` on every rank, with who said what | poisoned |
| a rank, in what it does by itself | `ArgumentError` there; the others hear nothing | all works on, the plan or the handle too |
| a rank that uses what was closed | `PoisonedError` there | closed it stays |

With `async_op=True` the same is raised by `wait()`. An exception that looking at an argument raises, such as one
of its own `__iter__`, becomes the `ArgumentError`.

In the tables, *given* is a Python expression, and *what is said* a message, or the parts of it that matter with
... between them. `size` and `N` are the number of ranks, `last` is N - 1, `n` the length of the result, `x` a right
input, which is `room[1:13]` of a longer array, `counts` the right counts. `array(count=12, dtype="float32")` makes 0, 1, 2, ...;
`first` is a user's operator that does not commute; `ring` and `exchange` are programs, an all-reduce and an all-to-all on 4 ranks.

## Calls that all ranks make together

{calls}.
{together}
## Calls that are not the same

One rank makes the second call, the others the first.

{different}

## What one rank does by itself

These refuse on the rank that is wrong, and nobody else hears of it. A wrong time limit of a plan's run is refused
before the run has begun: the other ranks wait for this one, which may run the plan after all. An argument
that the function does not have, or lacks, is Python's own `TypeError`, as in {misfits}.
{functions}
## `connect`

What is wrong before there is a transport is told to nobody: the name of a transport that does not exist, and `comm`.
Uncaught, a wrong `comm` ends the MPI job; a rank that asks for a transport that does not exist leaves the others
waiting within MPI. Everything else is told to all ranks. Where only some are wrong about an option of
the MPI transport, the error is an `ArgumentError` on all of them, and says on which ranks.

{connect}

## After `close()`

`PoisonedError`, saying that the communicator was closed, from each of these. A second `close()` does nothing.

{closed}

## What looks odd and is right

{accepted}

## What is not noticed

`check=False` on some ranks and not on others: the others wait for their time limit. With `check=False` on all ranks,
what is wrong is refused where it is wrong, and the others wait. `out` where a call has no result (`reduce` and
`gather` away from the root, `exscan` on rank 0) is not looked at. User's operators of one name are taken to be the same.
"""

_REMEDIES = [
    words.NOT_AN_ARRAY, words.NOT_NUMERIC, words.NOT_AN_OPERATOR, words.SECONDS, words.A_FLAG,
    words.NO_INTEGER, words.LISTS, words.EACH_ONCE, words.LENGTHS, words.NARROW,
    words.COLLECTIVE, words.ALGORITHM, words.PROGRAM, words.NODES, words.SIZES, words.CAPACITIES,
    words.RATE, words.LATENCY, words.LINK, words.NO_FILE, words.WHOLE, words.STEP,
    "does not exist for ... there are", "must be a list of integers", words.MEMBERS,
    "is not a dtype; use one such as 'float32'", "must be a string", "must be a list",
    "must be a function of two arrays", "must be a function of a communicator",
    "make communicators", "is no dtype",
    "must be a list of 4 arrays", 'must be "several" or "one"', words.A_DICT, words.TRANSPORTS,
]  # fmt: skip
"""Ends of messages that several rows of an argument share."""


def code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def table(*header: str, rows: Iterable[Iterable[str]]) -> str:
    top, *lines = (f"| {' | '.join(line)} |" for line in (header, *rows))
    return "\n".join([top, f"|{'---|' * len(header)}", *lines])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _block(lines: Iterable[str]) -> str:
    return "\n".join(["```text", *lines, "```"])


def _remedy(said: str) -> str:
    """What rows that say the same of different values have in common."""
    ends = [end for end in _REMEDIES if said.endswith(end)]
    return max(ends, key=len) if ends else said


def _shared(said: list[str]) -> str:
    """What is said, by one row or by several that share the end of it."""
    shown, start = said[0], f"{said[0].partition('=')[0]}="
    if len(set(said)) > 1:
        alike = all(each.startswith(start) for each in said)
        shown = f"{start if alike else ''}... {_remedy(said[0])}"
    for name, symbol in (("size", "N"), ("last", "N-1"), ("odd", "r"), ("n", "n")):
        shown = shown.replace(f"{{{name}}}", symbol)
    return code(shown)


# ---- calls that all ranks make together --------------------------------------------------


def _together() -> Iterator[str]:
    for argument, bads in groupby(values.BAD, lambda bad: bad.argument):
        several = list(bads)
        calls = [call for call in CALLS if any(_has(call, bad) for bad in several)]
        taken = f"{_listed(calls)}" if len(calls) < len(CALLS) else "Every call"
        heading = "An argument that does not exist" if argument == "any other" else code(argument)
        by_remedy = groupby(several, lambda bad: (_remedy(bad.said), bad.only, tuple(bad.beside)))
        lines = [_line(calls, list(same)) for _, same in by_remedy]
        shown = table("kind", "given", "what is said", rows=lines)
        yield f"\n### {heading}\n\n{taken}.\n\n{shown}\n"


def _has(call: str, bad: Bad) -> bool:
    return Row(call, bad).name in ROWS


def _line(calls: list[str], same: list[Bad]) -> tuple[str, str, str]:
    first = same[0]
    only = [call for call in calls if _has(call, first)]
    kinds = ", ".join(bad.kind for bad in same)
    if only != calls:
        kinds += f" ({_listed(only)})"
    if first.ranks:
        kinds += f" (on {first.ranks} ranks)"
    beside = " and ".join(f"{name}={given}" for name, given in first.beside.items())
    given = ", ".join(code(bad.given) if bad.given else "nothing" for bad in same)
    if beside:
        given += f" with {code(beside)}"
    return kinds, given, _shared([bad.said for bad in same])


def _different() -> str:
    lines = (
        (what, code(usual), code(odd), code(f"{here} ... {there}".replace("{share}", "12 / N")))
        for what, usual, odd, here, there in DIFFERENT
    )
    return table("what differs", "most ranks call", "one calls", "what is said", rows=lines)


# ---- what one rank does by itself --------------------------------------------------------


def _functions() -> Iterator[str]:
    by_itself = [row for row in local.FUNCTIONS + local.METHODS if row.of != "connect"]
    for of, rows in groupby(by_itself, lambda row: row.of):
        refused = [row for row in rows if row.error is not TypeError]
        if refused:
            yield f"\n### `{of}`\n\n{_refused(refused)}\n"


def _refused(rows: list[Local]) -> str:
    lines = []
    for (argument, _), same in groupby(rows, lambda row: (row.argument, _remedy(row.said))):
        several = list(same)
        kinds = ", ".join(row.kind for row in several)
        said = [row.said for row in several]
        lines.append((code(argument), kinds, code(several[0].call), _shared(said)))
    return table("argument", "kinds", "for example", "what is said", rows=lines)


def _misfits() -> str:
    """The first of them, and the last."""
    calls = [row.call for row in local.FUNCTIONS + local.METHODS if row.error is TypeError]
    return f"{code(calls[0])} and {code(calls[-1])}"


def _connect() -> str:
    names = [row for row in local.FUNCTIONS if row.of == "connect"]
    return _refused(names + local.SAID_TO_NONE + local.SAID_TO_ALL)


def matrix() -> str:
    return TEXT.format(
        calls=_listed(CALLS),
        together="".join(_together()),
        different=_different(),
        functions="".join(_functions()),
        misfits=_misfits(),
        connect=_connect(),
        closed=_block(local.CLOSED),
        accepted=_block(local.ACCEPTED),
    )


if __name__ == "__main__":
    print(matrix(), end="")
