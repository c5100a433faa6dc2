"""The examples in docstrings give what they say."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import refcoll

TOP = Path(refcoll.__file__).parent
MODULES = [
    ".".join(("refcoll", *path.relative_to(TOP).with_suffix("").parts))
    for path in sorted(TOP.rglob("*.py"))
    if ">>> " in path.read_text()
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    failed, tried = doctest.testmod(import_module(name))
    assert tried > 0
    assert failed == 0
