"""The parameters of a model before there is a model: by its name, or from a file.

A file is JSON, a list of [name, shape] or [name, shape, dtype] or an object of shapes by name,
or lines such as

    conv1.weight  64x3x7x7  float32
    bn1.weight    64                    # the dtype may be left out
    temperature   scalar

Either way in the order of the model's parameters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from refcoll.dataparallel.models import MODELS
from refcoll.dataparallel.tensors import Tensor
from refcoll.errors import ArgumentError
from refcoll.operators import kind


def parameter_shapes(source: str, dtype: str = "float32") -> tuple[Tensor, ...]:
    """The gradients of a model that MODELS names, or that a file lists.

    ``dtype`` is that of all that do not name theirs.  Raises ArgumentError, with the place in
    the file, for what is not understood.
    """
    usual = _dtype(dtype, "dtype")
    if source in MODELS:
        return tuple(Tensor(name, shape, usual) for name, shape in MODELS[source]())
    tensors = tuple(_read(source, usual))
    if not tensors:
        raise ArgumentError(f"shapes={source!r} has no parameters; write one a line")
    first: dict[str, int] = {}
    for number, each in enumerate(tensors, 1):
        if first.setdefault(each.name, number) != number:
            raise ArgumentError(
                f"shapes={source!r}: parameter {number} has the name of parameter "
                f"{first[each.name]}, {each.name!r}; give each its own"
            )
    return tensors


def _read(source: str, usual: np.dtype[Any]) -> Iterator[Tensor]:
    text = _text(source)
    by_line = not text.lstrip().startswith(("[", "{"))
    for place, entry in _lines(text) if by_line else _entries(text, source):
        where = f"shapes={source!r}, {place}"
        if not 2 <= len(entry) <= 3:
            raise ArgumentError(
                f"{where}: {entry!r:.80} must be a name, a shape and perhaps a dtype"
            )
        name, shape, *named = entry
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"{where}: the name {name!r:.80} must be a string, not empty")
        lengths = _shape(_split(shape) if by_line else shape, shape, where)
        yield Tensor(name, lengths, _dtype(named[0], where) if named else usual)


def _text(source: str) -> str:
    try:
        return Path(source).read_text()
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"shapes={source!r} is no file that can be read, nor one of {', '.join(MODELS)}: "
            f"{error}"
        ) from error


def _lines(text: str) -> Iterator[tuple[str, list[Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if words:
            yield f"line {number}", list(words)


def _entries(text: str, source: str) -> Iterator[tuple[str, list[Any]]]:
    try:
        content = json.loads(text, object_pairs_hook=list)  # pairs, so that no name hides another
    except json.JSONDecodeError as error:
        raise ArgumentError(
            f"shapes={source!r}, line {error.lineno}: not JSON, though it begins so: {error.msg}"
        ) from error
    for number, entry in enumerate(content, 1):
        yield f"entry {number}", list(entry) if isinstance(entry, (list, tuple)) else [entry]


def _split(shape: str) -> list[Any]:
    """The lengths of "64x3x7x7"; words where they are no numbers."""
    words = [] if shape == "scalar" else shape.split("x")
    return [int(each) if each.isdecimal() else each for each in words]


def _shape(lengths: object, said: object, where: str) -> tuple[int, ...]:
    if isinstance(lengths, list) and all(type(each) is int and each >= 0 for each in lengths):
        return tuple(lengths)
    raise ArgumentError(
        f"{where}: the shape {said!r:.80} must be lengths, none negative, such as 64x3x7x7 "
        "(in JSON [64, 3, 7, 7])"
    )


def _dtype(name: object, where: str) -> np.dtype[Any]:
    import ml_dtypes  # registers bfloat16 and float8

    try:
        dtype = np.dtype(getattr(ml_dtypes, name, name)) if isinstance(name, str) else None
        if dtype is not None and kind(dtype) == "f":
            return dtype
    except (TypeError, ArgumentError):
        pass  # no dtype at all, or not of numbers
    raise ArgumentError(f"{where}: the dtype {name!r:.80} must be a float's, such as float32")
