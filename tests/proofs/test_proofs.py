"""Every proof holds, stands on no axiom, and is where proofs/README.md says it is."""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Iterator

import pytest

import coq
from refcoll import algorithms

TOP = coq.PROOFS.parent
README = (coq.PROOFS / "README.md").read_text()


def stated(file: str, kinds: str = "Theorem|Lemma|Corollary") -> list[str]:
    """What the file proves."""
    return re.findall(rf"^ *(?:{kinds}) (\w+)", (coq.PROOFS / f"{file}.v").read_text(), re.M)


def named(cell: str) -> Iterator[tuple[str, set[tuple[str, str]]]]:
    """What a cell of the README names, and which theorems these are.

    `File.name` and after it `other_name` of that file, or `..._end`, which is the name before
    with another end; * stands for anything.
    """
    file = last = ""
    for said in re.findall(r"`([\w.*]+)`", cell):
        if re.fullmatch(r"[A-Z]\w*\.[\w*]+", said) and not said.endswith(".v"):
            file, last = said.split(".")
            meant = [last]
        elif said.startswith("..._"):
            words = last.split("_")
            meant = ["_".join([*words[:i], said[4:]]) for i in range(len(words), 0, -1)]
        elif file and re.fullmatch(r"[\w*]+", said):
            meant = [said]
        else:
            continue
        found = next((names for each in meant if (names := fnmatch.filter(stated(file), each))), [])
        last = next((each for each in meant if fnmatch.filter(found, each)), last)
        yield said, {(file, name) for name in found}


CELLS = [row.split("|")[1] for row in re.findall(r"^\|(.*)\|$", README.replace(r"\|", "/"), re.M)]
"""The second column of all tables."""
NAMED = sorted({each for cell in CELLS for _, theorems in named(cell) for each in theorems})
ALL = sorted({*NAMED, *((file, name) for file in coq.files() for name in stated(file, "Theorem"))})


@pytest.mark.usefixtures("checked")
def test_every_proof_holds_and_every_theorem_stands_on_no_axiom():
    """All of them together; and, as a control, an axiom is seen."""
    everything = "".join(f"let _ := @{file}.{name} in " for file, name in ALL)
    said = coq.accepted(
        f"From Refcoll Require {' '.join(coq.files())}.\n"
        f"Definition everything : True := {everything}I.\nPrint Assumptions everything.\n"
        "Axiom easy : False.\nDefinition more := let _ := everything in easy.\n"
        "Print Assumptions more.\n"
    )
    assert said == "Closed under the global context\nAxioms:\neasy : False\n"


@pytest.mark.parametrize("file", coq.files())
def test_nothing_is_assumed_or_left_out(file: str):
    source = (coq.PROOFS / f"{file}.v").read_text()
    words = r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjecture|Abort)\b"
    assert re.search(words, re.sub(r"\(\*.*?\*\)", "", source, flags=re.S)) is None
    assert source.startswith("(** "), "it opens with its statement in words"


@pytest.mark.parametrize("file", coq.files())
def test_a_head_names_what_its_file_proves(file: str):
    """Or says in which other: [name] and [File.name], [..._end] for several."""
    head = (coq.PROOFS / f"{file}.v").read_text().partition("*)")[0]
    for where, name in re.findall(r"\[(?:([A-Z]\w*)\.)?([\w.]*_[\w.]*)\]", head):
        there = stated(where or file, "Theorem|Lemma|Definition|Fixpoint")
        assert fnmatch.filter(there, name.replace("...", "*")), name


@pytest.mark.parametrize("cell", [cell for cell in CELLS if "`" in cell])
def test_the_readme_names_theorems_that_are_there(cell: str):
    assert [said for said, theorems in named(cell) if not theorems] == []


def test_the_readme_names_what_algorithms_declare_to_be_proved():
    declared = {tuple(each.proved.split(".")) for each in algorithms() if each.proved}
    assert declared <= set(NAMED)


def test_the_readme_quotes_what_is_said():
    """Sentences of the README and the docstrings, but for how their lines break."""
    quoted = re.findall(r'^\| "(.+?)"', README.replace(r"\|", "|"), re.M)
    sources = [TOP / "README.md", *(TOP / "refcoll" / "algorithms").glob("*.py")]
    said = " ".join(" ".join(path.read_text() for path in sources).split())
    assert len(quoted) > 5
    assert [each for each in quoted if each not in said.replace("  ", " ")] == []


def named_tests() -> list[str]:
    return sorted(set(re.findall(r"`(tests/[\w/]+\.py::\w+)`", README)))


def test_the_readme_names_tests_that_are_there():
    assert named_tests()
    for each in named_tests():
        path, _, name = each.partition("::")
        defined = ast.walk(ast.parse((TOP / path).read_text()))
        assert name in {node.name for node in defined if isinstance(node, ast.FunctionDef)}, each
