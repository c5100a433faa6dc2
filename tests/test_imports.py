"""Who may import whom: the direction of the house, read from the syntax trees."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import refcoll

ROOT = Path(refcoll.__file__).parent.parent
MODULES = sorted(path for top in ("refcoll", "transports") for path in (ROOT / top).rglob("*.py"))
CORE = {
    "schedule", "chunks", "graph", "programs", "collectives", "operators", "errors", "topology",
    "words", "rates", "forms", "expressions", "formulas", "times", "arrays",
}  # fmt: skip


def title(path):
    return str(path.relative_to(ROOT).with_suffix(""))


@cache
def parsed(path):
    return ast.parse(path.read_text())


@cache
def imported(path):
    """Every module that the file names in an import, wherever in the file."""
    return [*_imported(path)]


def _imported(path):
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{title(path)} imports relatively"
            yield node.module
            # ``from refcoll import x`` names the module refcoll.x, or what refcoll offers.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def ours(path):
    """What it imports of refcoll, as paths below: interpreters.check.Report, ..."""
    return {
        name.removeprefix("refcoll.") for name in imported(path) if name.split(".")[0] == "refcoll"
    }


def foreign(path):
    """The top-level packages that it imports, the standard library's aside."""
    tops = {name.split(".")[0] for name in imported(path)}
    return tops - set(sys.stdlib_module_names) - {"refcoll"}


def within(name, allowed):
    return any(name == each or name.startswith(f"{each}.") for each in allowed)


def below(folder):
    return [path for path in MODULES if title(path).startswith(f"refcoll/{folder}/")]


def module(name):
    return ROOT / "refcoll" / f"{name}.py"


files = pytest.mark.parametrize


def test_the_modules_are_found():
    assert {"refcoll/schedule", "refcoll/algorithms/ring", "transports/refcoll_mpi/transport"} <= {
        title(path) for path in MODULES
    }


def test_every_module_says_what_it_is_for():
    assert [title(path) for path in MODULES if not ast.get_docstring(parsed(path))] == []


@files(("name", "allowed"), [("schedule", set()), ("chunks", set()), ("graph", {"schedule"})])
def test_the_language_stands_on_the_standard_library_alone(name, allowed):
    path = module(name)
    assert not foreign(path)
    assert all(within(each, allowed) for each in ours(path))


@files("path", below("algorithms"), ids=title)
def test_algorithms_know_schedules_nodes_formulas_and_each_other(path):
    assert not foreign(path)
    allowed = {"schedule", "chunks", "topology", "expressions", "formulas", "algorithms"}
    assert all(within(each, allowed) for each in ours(path))


@files("path", below("interpreters"), ids=title)
def test_interpreters_know_the_core_and_only_execute_the_transport(path):
    allowed = (
        CORE
        | {"interpreters"}
        | ({"transport"} if path.stem in ("execute", "compiling", "stage") else set())
    )
    assert foreign(path) <= {"numpy"}
    assert {each for each in ours(path) if not within(each, allowed)} == set()


@files("path", [module(name) for name in sorted(CORE)], ids=title)
def test_the_core_knows_neither_algorithms_nor_interpreters(path):
    above = {"algorithms", "interpreters", "registry", "communicator", "transport", "cli"}
    assert not any(within(each, above) for each in ours(path))


def test_the_registry_knows_no_interpreter():
    assert not any(within(each, {"interpreters"}) for each in ours(module("registry")))


@files("path", below("planning"), ids=title)
def test_planning_knows_no_command_line(path):
    assert not any(within(each, {"cli"}) for each in ours(path))


@files("path", [path for path in MODULES if title(path).startswith("transports/")], ids=title)
def test_a_transport_knows_the_contract_and_its_own_package(path):
    package = path.relative_to(ROOT).parts[1]
    # Handshakes and failures of the one go over the other.
    drivers = {"refcoll_mpi": {"mpi4py"}, "refcoll_cupy": {"cupy", "refcoll_mpi"}}[package]
    assert all(within(each, {"transport"}) for each in ours(path))
    assert foreign(path) <= {"numpy", package, *drivers}
    assert "cupy" not in foreign(path) or path.stem == "devices"


def test_nothing_below_refcoll_names_a_transport_package():
    """They are found by their entry points."""
    for path in [path for path in MODULES if title(path).startswith("refcoll/")]:
        assert not any(top.startswith("refcoll_") for top in foreign(path)), title(path)


@files("driver", ["typer", "rich"])
def test_only_the_command_line_draws_on_its_libraries(driver):
    users = {title(path) for path in MODULES if driver in foreign(path)}
    assert all(user.startswith("refcoll/cli/") for user in users)


def loaded(statement):
    """The top-level packages that a fresh interpreter has loaded after ``statement``."""
    program = f"import sys; {statement}; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, check=True, timeout=60, cwd=ROOT,
    )  # fmt: skip
    return set(done.stdout.split())


def test_importing_refcoll_loads_nothing_else_and_using_it_numpy_alone():
    # What the interpreter itself loads (a site's start-up hooks, say) is none of refcoll's.
    empty, numpy = loaded("pass"), loaded("import numpy")
    assert loaded("import refcoll") - empty - set(sys.stdlib_module_names) == {"refcoll"}
    used = loaded("from refcoll import *; spawn(1, lambda comm: comm.barrier())")
    assert used - numpy - set(sys.stdlib_module_names) == {"refcoll"}
    drivers = {"mpi4py", "cupy", "torch", "matplotlib", "typer", "rich", "ml_dtypes"}
    assert not drivers & used


def test_every_public_name_is_there():
    assert set(refcoll._LATER) < set(refcoll.__all__) <= set(dir(refcoll))
    for name in refcoll.__all__:
        assert getattr(refcoll, name).__module__.startswith("refcoll.")
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        refcoll.nonsense  # noqa: B018
