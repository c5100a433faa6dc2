"""What all tests need to be quick, and what several of them put in the place of what is right.

They start hundreds of Python programs.  Where Python may not keep what it has compiled, as in
many containers, each would compile all of refcoll anew, which takes longer than most of them do.
"""

import dataclasses
import gc
import os
import sys
from collections.abc import Callable, Iterator

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


@pytest.fixture
def change_ring(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Give the registered ring all-reduce another ``schedule``, or other claims."""
    from refcoll import choosing, making, registry

    key = ("all_reduce", "ring")

    def forget() -> None:
        making.made.cache_clear()
        choosing._ranked.cache_clear()

    def change(**fields: object) -> None:
        changed = dataclasses.replace(registry.ALGORITHMS[key], **fields)
        monkeypatch.setitem(registry.ALGORITHMS, key, changed)
        forget()

    yield change
    forget()
