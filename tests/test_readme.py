"""What the README and the docs say is run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from refcoll import algorithms
from refcoll.collectives import COLLECTIVES
from refcoll.testing.cases import cases

TOP = Path(__file__).parent.parent
PAGES = [TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))]
BLOCKS = [
    (page.name, number, code)
    for page in PAGES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.S), 1)
]


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", (TOP / "README.md").read_text(), re.S)


def test_the_quick_start_is_two_blocks():
    run, test = blocks("sh")
    assert "mpirun -n 4 refcoll verify" in run
    assert "pytest" in test


def test_the_number_of_rows_that_it_promises():
    helped = ("parameter_server_alone", "in_network")
    alone = [case for case in cases(4) if case.algorithm in helped]
    said = f"`holds: {len(cases(4)) - len(alone)} rows on 4 ranks over mpi, {len(alone)} simulated,"
    assert said in (TOP / "README.md").read_text()


def test_console_output_is_what_comes():
    (block,) = blocks("console")
    command, _, output = block.partition("\n")
    run = subprocess.run(
        [sys.executable, "-m", *command.removeprefix("$ ").split()],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout == output


@pytest.mark.parametrize(("page", "number", "code"), BLOCKS, ids=lambda each: str(each)[:20])
def test_examples_run(page, number, code):
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr


def test_every_algorithm_is_on_its_page():
    page = (TOP / "docs" / "algorithms.md").read_text()
    for each in algorithms():
        assert f"`{each.name}`" in page, each.name


def test_the_page_of_algorithms_names_files_that_are_there():
    page = (TOP / "docs" / "algorithms.md").read_text()
    for name in re.findall(r"`([a-z_]+\.py)`", page):
        assert (TOP / "refcoll" / "algorithms" / name).is_file(), name


def test_the_numbers_of_algorithms_and_collectives_that_it_promises():
    said = f"Its {len(algorithms())} algorithms for {len(COLLECTIVES)} collectives"
    assert said in (TOP / "README.md").read_text()
