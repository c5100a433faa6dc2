"""The options of ``refcoll.oracle.suite`` for pytest, and nothing else.

Every pytest run in an environment with refcoll loads this module, so it stands beside the
package: it imports nothing, refcoll neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options begin with --refcoll, to meet nobody else's."""
    group = parser.getgroup("refcoll", "refcoll.oracle.suite: judge collectives")
    group.addoption(
        "--refcoll-implementation",
        metavar="NAME",
        help="module:function that makes yours, mpi, torch:gloo or refcoll",
    )
    group.addoption("--refcoll-xfails", metavar="FILE", help="what is known to fail")
    group.addoption(
        "--refcoll-ranks", type=int, default=4, metavar="N", help="threads, without mpirun (4)"
    )
    group.addoption(
        "--refcoll-timeout", type=float, default=30.0, metavar="S", help="seconds a call (30)"
    )
    group.addoption("--refcoll-seed", type=int, default=0, metavar="K", help="of inputs (0)")
    group.addoption("--refcoll-thorough", action="store_true", help="more lengths")
