"""The options of ``refcoll.oracle.suite`` for pytest, and the names of its tests.

Every pytest run in an environment with refcoll loads this module, so it stands beside the
package, and imports nothing of it.

The suite lies wherever refcoll is installed, most often outside of the directory that pytest
names files from; there its tests would have no file in their names.  They are called
refcoll/oracle/suite.py::test_collective[...] everywhere, and can be asked for by that name.
"""

from __future__ import annotations

from pathlib import Path

import pytest

_SUITE = "refcoll/oracle/suite.py"
_PATH = Path(__file__).parent / _SUITE


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


def pytest_configure(config: pytest.Config) -> None:
    """The suite's name stands for the file, unless there is such a file here."""
    if not (config.invocation_params.dir / _SUITE).exists():
        config.args[:] = [
            str(_PATH) + each.removeprefix(_SUITE) if each.startswith(_SUITE) else each
            for each in config.args
        ]


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Name the suite after its place in the package."""
    if module_path.name != _PATH.name or not module_path.samefile(_PATH):
        return None
    return pytest.Module.from_parent(parent, path=module_path, nodeid=_SUITE)
