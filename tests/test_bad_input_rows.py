"""The rows of bad input are all there are: every argument has them, and the page shows them."""

from __future__ import annotations

import inspect

import refcoll
from bad_input_local import FUNCTIONS, METHODS, SAID_TO_ALL, SAID_TO_NONE
from bad_input_matrix import DOCUMENT, matrix
from bad_input_rows import CALLS, ROWS, parameters


def test_every_argument_of_every_call_has_its_rows():
    classes = refcoll.Communicator.__mro__[:-1]
    public = {name for each in classes for name in vars(each) if not name.startswith("_")}
    assert public == {*CALLS, "empty", "close", "watch", "submit", "fail"}
    rows = {(row.call, row.bad.argument, row.bad.kind) for row in ROWS.values()}
    assert len(rows) == len(ROWS)
    for call in CALLS:
        for argument in [*parameters(call), "any other"]:
            if argument == "op" and call in ("broadcast", "gather"):
                continue
            kinds = {kind for called, named, kind in rows if (called, named) == (call, argument)}
            wanted = {"wrong type"} if argument != "any other" else {"unknown option"}
            allowed = ("out", "counts", "accumulate", "timeout", "nodes", "color")
            wanted |= {"None"} if argument not in (*allowed, "any other") else set()
            assert wanted <= kinds, (call, argument, kinds)


NOT_CALLED = {"Copy", "Reduce", "Send", "Operator", "Program", "CollectivePlan", "Handle"}
"""Steps, which ``from_steps`` looks at, and what functions make."""
NONE_IS_ALL = {
    ("program", "nodes"), ("explain", "nodes"), ("spawn", "nodes"), ("cost", "reduce_bandwidth"),
    ("cost", "links"), ("cost", "rails"), ("simulate", "layout"), ("algorithms", "collective"),
    ("algorithms", "name"), ("Communicator", "tuning"), ("connect", "tuning"),
    ("connect", "options"), ("spawn", "args"), ("spawn", "arrays"),
}  # fmt: skip
"""Where None has a meaning, or anything may be passed."""


def test_every_argument_of_every_function_has_its_rows():
    rows = FUNCTIONS + SAID_TO_ALL + SAID_TO_NONE
    for name in refcoll.__all__:
        of = getattr(refcoll, name)
        if name in NOT_CALLED or (inspect.isclass(of) and issubclass(of, Exception)):
            continue
        for argument in inspect.signature(of).parameters:
            kinds = {row.kind for row in rows if (row.of, row.argument) == (name, argument)}
            wanted = {"None"} if (name, argument) not in NONE_IS_ALL else set()
            numeric = {"no integer", "no arrays"}
            assert kinds & ({"wrong type"} | numeric) or argument == "args", (name, argument)
            assert wanted <= kinds, (name, argument, kinds)


def test_no_two_rows_have_one_name():
    rows = FUNCTIONS + METHODS + SAID_TO_ALL + SAID_TO_NONE
    names = [row.name for row in rows]
    assert sorted(names) == sorted(set(names))


def test_the_written_matrix_is_that_of_the_rows():
    assert DOCUMENT.read_text() == matrix(), "python tests/bad_input_matrix.py > docs/bad-input.md"
