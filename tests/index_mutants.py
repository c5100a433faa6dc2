"""Every way to change one index in a Python function: what tests of indices must notice."""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
from collections.abc import Collection, Iterable, Iterator
from types import ModuleType
from typing import NamedTuple

INSTEAD: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.BitXor: ast.BitOr, ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.Lt: ast.LtE, ast.LtE: ast.Lt,
    ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
"""What each operator becomes; a number becomes one more, and one less."""


class Mutant(NamedTuple):
    """A module with one index changed."""

    lines: tuple[str, str]
    """The function's name, and the line before and after."""
    tree: ast.Module


def mutants(module: ModuleType, functions: Collection[str]) -> Iterator[Mutant]:
    """All mutants of a module's ``functions``."""
    tree = ast.parse(inspect.getsource(module))
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and function.name in functions:
            yield from _changed(tree, function)


def _changed(tree: ast.Module, function: ast.FunctionDef) -> Iterator[Mutant]:
    before = ast.unparse(function).splitlines()
    for statement in function.body:
        for node in ast.walk(statement):
            for field, place, value, other in _changes(node):
                _put(node, field, place, other)
                lines = zip(before, ast.unparse(function).splitlines(), strict=True)
                ((old, new),) = ((a.strip(), b.strip()) for a, b in lines if a != b)
                said = f"{function.name}: {old}", f"{function.name}: {new}"
                yield Mutant(said, copy.deepcopy(tree))
                _put(node, field, place, value)


def _changes(node: ast.AST) -> Iterator[tuple[str, int | None, object, object]]:
    """Field of the node, place in it where it is a list, what stands there, what could."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        for other in (node.value + 1, node.value - 1):
            yield "value", None, node.value, other
    elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in INSTEAD:
        yield "op", None, node.op, INSTEAD[type(node.op)]()
    elif isinstance(node, ast.Compare):
        for place, each in enumerate(node.ops):
            if type(each) in INSTEAD:
                yield "ops", place, each, INSTEAD[type(each)]()


def _put(node: ast.AST, field: str, place: int | None, value: object) -> None:
    if place is None:
        setattr(node, field, value)
    else:
        getattr(node, field)[place] = value


def built(
    modules: Iterable[ModuleType], changed: ModuleType, tree: ast.Module | None
) -> dict[str, ModuleType]:
    """Fresh copies of the modules, in the order of their imports, where one is ``changed``.

    They import one another, and for the rest what everybody does.
    """
    fresh: dict[str, ModuleType] = {}

    def imported(name: str, *rest: object) -> object:
        return fresh.get(name) or builtins.__import__(name, *rest)

    for module in modules:
        new = fresh[module.__name__] = ModuleType(module.__name__)
        vars(new)["__builtins__"] = vars(builtins) | {"__import__": imported}
        source = tree if tree and module is changed else inspect.getsource(module)
        exec(compile(source, module.__name__, "exec"), vars(new))
        # Classes stay what they are for everybody, so that a Send is a Send.
        vars(new).update({k: v for k, v in vars(module).items() if isinstance(v, type)})
    return fresh
