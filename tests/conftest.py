"""Tests start hundreds of Python programs.  Where Python may not keep what it has compiled, as in
many containers, each would compile all of refcoll anew, which takes longer than most of them."""

import gc
import os
import sys

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_collection_finish() -> None:
    """Thousands of tests live to the end: no garbage collection need look at them again."""
    gc.collect()
    gc.freeze()
