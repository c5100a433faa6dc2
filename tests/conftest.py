"""What all tests need to be quick.

They start hundreds of Python programs.  Where Python may not keep what it has compiled, as in
many containers, each would compile all of refcoll anew, which takes longer than most of them do.
"""

import gc
import os
import sys

import pytest

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """First those for which Coq checks all proofs: one process does, for which others wait."""
    items.sort(key=lambda item: item.path.parent.name != "proofs")


def pytest_collection_finish() -> None:
    """Thousands of tests live to the end: no garbage collection need look at them again."""
    gc.collect()
    gc.freeze()
