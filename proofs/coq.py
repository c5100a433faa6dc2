"""Run Coq on a text that stands on the development in this folder."""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

PROOFS = Path(__file__).parent
MISSING = "coqc not found: apt-get install coq"
_SECONDS = 600


class CoqError(Exception):
    """Coq does not accept a text, or a proof."""


def found() -> bool:
    """Whether Coq is installed."""
    return shutil.which("coqc") is not None


def build() -> None:
    """Check every proof of this folder that has changed.  Raises CoqError where one fails.

    Of several processes that ask at once, one builds and the others wait for it.
    """
    with (PROOFS / "Makefile").open() as makefile:
        fcntl.flock(makefile, fcntl.LOCK_EX)
        _run(["make", "-s", "-j2", "-C", str(PROOFS)])


def files() -> list[str]:
    """The names of the development's files, in order."""
    return sorted(path.stem for path in PROOFS.glob("*.v"))


def required(names: Iterable[str]) -> str:
    """The head of a text that stands on the files ``names``; integers are Z."""
    return (
        "From Coq Require Import ZArith List Bool.\n"
        f"From Refcoll Require Import {' '.join(names)}.\n"
        "Import ListNotations.\nOpen Scope Z_scope.\n"
    )


def accepted(text: str) -> str:
    """What Coq prints on ``text``.  Raises CoqError, with the sentence, where it is refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Text.v"
        path.write_text(text)
        try:
            return _run(["coqc", "-q", "-Q", str(PROOFS), "Refcoll", str(path)])
        except CoqError as error:
            raise CoqError(f"{_sentence(text, str(error))}\n{error!s:.2000}") from None


def computed(head: str, terms: Iterable[str]) -> list[str]:
    """The value of each term, as Coq prints it, on one line."""
    wide = "Set Printing Width 1000000.\nSet Printing Depth 1000000.\n"
    output = accepted(head + wide + "".join(f"Compute {term}.\n" for term in terms))
    values = re.findall(r"^     = (.*?)\n     : ", output, re.S | re.M)
    return [" ".join(value.split()) for value in values]


def _sentence(text: str, error: str) -> str:
    """The first line of the sentence that an error of coqc's is about."""
    line = re.search(r"line (\d+), characters", error)
    if line is None:
        return "Coq fails:"
    upto = text.splitlines()[: int(line[1])]
    named = [each for each in upto if re.match(r"Example|Definition|Compute|Print|From", each)]
    return f"{named[-1] if named else upto[-1]:.200}"


def _run(command: list[str]) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_SECONDS, check=False
    )  # fmt: skip
    if done.returncode:
        raise CoqError(done.stdout[-2000:] + done.stderr)
    return done.stdout
