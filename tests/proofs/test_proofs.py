"""Every proof holds, stands on no axiom, and is where proofs/README.md says it is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import coq

README = (coq.PROOFS / "README.md").read_text()
ROWS = re.findall(r"^\|(.*)\|$", README.partition("## What is claimed")[2], re.M)
NAMED = sorted({tuple(each.split(".")) for each in re.findall(r"`([A-Z]\w+\.\w+)`", "".join(ROWS))})
"""The theorems that the tables name: (file, theorem)."""
TOP = Path(__file__).parents[2]


def theorems(file: str) -> list[str]:
    """What the file calls a theorem."""
    return re.findall(r"^ *Theorem (\w+)", (coq.PROOFS / f"{file}.v").read_text(), re.M)


ALL = [(file, name) for file in coq.files() for name in theorems(file)]


def assumptions(terms: list[str], more: str = "") -> str:
    """On what the terms stand together, as Coq says."""
    everything = "".join(f"let _ := @{each} in " for each in terms)
    return coq.accepted(
        f"From Refcoll Require {' '.join(coq.files())}.\n{more}"
        f"Definition everything : True := {everything}I.\nPrint Assumptions everything.\n"
    ).strip()


@pytest.mark.usefixtures("checked")
def test_every_proof_holds_and_every_theorem_stands_on_no_axiom():
    asked = [f"{file}.{name}" for file, name in ALL]
    assert assumptions(asked) == "Closed under the global context"


@pytest.mark.usefixtures("checked")
def test_an_axiom_would_be_seen():
    """The control."""
    said = assumptions(["Ring.ring_all_reduce_result", "easy"], "Axiom easy : False.\n")
    assert re.search(r"Axioms:\n(Text\.)?easy : False", said)


@pytest.mark.parametrize("file", coq.files())
def test_nothing_is_assumed_or_left_out(file: str):
    source = (coq.PROOFS / f"{file}.v").read_text()
    words = r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjecture|Abort)\b"
    assert re.search(words, re.sub(r"\(\*.*?\*\)", "", source, flags=re.S)) is None
    assert source.startswith("(** "), "it opens with its statement in words"


@pytest.mark.parametrize(("file", "theorem"), NAMED, ids=".".join)
def test_the_readme_names_theorems_that_are_there(file: str, theorem: str):
    assert theorem in theorems(file)


def test_the_readme_names_every_theorem():
    assert set(NAMED) == set(ALL)


def named_tests() -> list[str]:
    return sorted(set(re.findall(r"`(tests/[\w/]+\.py::\w+)`", README)))


def test_the_readme_names_tests_that_are_there():
    assert named_tests()
    for each in named_tests():
        path, _, name = each.partition("::")
        defined = ast.walk(ast.parse((TOP / path).read_text()))
        assert name in {node.name for node in defined if isinstance(node, ast.FunctionDef)}, each
