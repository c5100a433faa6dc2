"""Proofs are checked once a session; without Coq, tests that need it are skipped, unless
REFCOLL_REQUIRE_COQ is set: then they fail, with the same reason."""

from __future__ import annotations

import os

import pytest

import coq


@pytest.fixture(scope="session")
def checked() -> None:
    """Coq has checked every proof, and other texts may stand on them."""
    if coq.found():
        coq.build()
    elif os.environ.get("REFCOLL_REQUIRE_COQ"):
        pytest.fail(coq.MISSING)
    else:
        pytest.skip(coq.MISSING)
