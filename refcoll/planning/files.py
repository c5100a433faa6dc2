"""Machines as TOML files, read with errors that name file, key, value and remedy.

name = "mine"                      # all rates in bytes per second one way, times in seconds
nodes = 4
ranks_per_node = 8
rails = 8

[within_a_node]
latency = 2e-6
bandwidth = 450e9
achieved = 0.8

[between_nodes]                    # and [between_switches]; of each rail
latency = 4e-6
bandwidth = 50e9

[in_network.within_a_node]         # switches that add; and [in_network.between_nodes]
latency = 11e-6
bandwidth = 275e9

[[tables]]                         # measured
collective = "all_reduce"
algorithm = "NCCL"
ranks = 8
nodes = 1
bytes = [1048576, 16777216]
seconds = [102e-6, 277e-6]

[sources]
"within_a_node.bandwidth" = "data sheet"
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from json import dumps
from pathlib import Path
from sys import float_info
from typing import Any

from refcoll.errors import ArgumentError
from refcoll.planning.machine import ADDING, NETWORK, NODE, SPINE, Link, Machine
from refcoll.planning.tables import Table

_CLASSES = {name.replace(" ", "_"): name for name in (NODE, NETWORK, SPINE)}
_ADDING = tuple(key for key, name in _CLASSES.items() if name in ADDING)
_PLAIN = {
    "name": str, "nodes": int, "ranks_per_node": int, "rails": int, "striped": bool,
    "nodes_per_switch": int, "uplinks": int, "overhead": float, "reduce_bandwidth": float,
}  # fmt: skip
_KEYS = (*_PLAIN, *_CLASSES, "in_network", "tables", "sources")


def read_machine(path: str | Path) -> Machine:
    """The machine in a file.  Raises ArgumentError, naming the file and the key."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"machine={str(path)!r} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ArgumentError(f"machine={str(path)!r} is no TOML: {error}") from error
    return made({"name": Path(path).stem, **content}, str(path))


def made(content: Mapping[str, Any], where: str) -> Machine:
    """A machine of what a file says; ``where`` is said in errors."""
    try:
        _require_known("", content, _KEYS)
        plain = {key: _typed(key, content[key], kind) for key, kind in _PLAIN.items()
                 if key in content}  # fmt: skip
        return Machine(
            **plain,
            links=dict(_links("", {key: content[key] for key in _CLASSES if key in content})),
            in_network=dict(_links("in_network.", content.get("in_network", {}))),
            tables=tuple(_tables(content.get("tables", []))),
            sources=_sources(content.get("sources", {})),
        )
    except ArgumentError as error:
        raise ArgumentError(f"machine={where!r}: {error}") from error


def _require_known(prefix: str, content: Any, known: tuple[str, ...]) -> None:
    if not isinstance(content, Mapping):
        raise ArgumentError(f"{prefix.removesuffix('.')}={content!r:.80} must be a table")
    for key in content:
        if key not in known:
            raise ArgumentError(f"{prefix}{key}: there is no such key; use {', '.join(known)}")


def _typed(key: str, value: Any, kind: type) -> Any:
    """The value, a number of TOML's as a float where that is wanted."""
    if kind is float and type(value) is int:
        return float(value) if abs(value) <= float_info.max else value
    if type(value) is not kind:
        raise ArgumentError(f"{key}={value!r:.80} must be {_SAID[kind]}")
    return value


_SAID = {str: "text", int: "a whole number", bool: "true or false", float: "a number"}


def _links(prefix: str, content: Any) -> Iterator[tuple[str, Link]]:
    _require_known(prefix, content, _ADDING if prefix else tuple(_CLASSES))
    for key, figures in content.items():
        yield _CLASSES[key], _link(f"{prefix}{key}.", figures)


def _link(prefix: str, figures: Any) -> Link:
    known = {each.name: each.default for each in fields(Link)}
    _require_known(prefix, figures, tuple(known))
    for key, default in known.items():
        if key not in figures and default is MISSING:
            raise ArgumentError(f"{prefix}{key} is missing")
    try:
        return Link(**{key: _typed(key, value, float) for key, value in figures.items()})
    except ArgumentError as error:
        raise ArgumentError(f"{prefix}{error}") from error


_COLUMNS = {
    "collective": str, "algorithm": str, "ranks": int, "nodes": int, "bytes": list,
    "seconds": list, "source": str,
}  # fmt: skip


def _tables(content: Any) -> Iterator[Table]:
    if not isinstance(content, list):
        raise ArgumentError(f"tables={content!r:.80} must be written as [[tables]]")
    for number, each in enumerate(content):
        prefix = f"tables[{number}]."
        _require_known(prefix, each, tuple(_COLUMNS))
        for key in _COLUMNS:
            if key not in each and key != "source":
                raise ArgumentError(f"{prefix}{key} is missing")
        sizes, times = each["bytes"], each["seconds"]
        if not isinstance(sizes, list) or not isinstance(times, list) or len(sizes) != len(times):
            raise ArgumentError(f"{prefix}bytes and {prefix}seconds must be lists of one length")
        points = tuple(
            (_typed(f"{prefix}bytes", size, int), _typed(f"{prefix}seconds", time, float))
            for size, time in zip(sizes, times, strict=True)
        )
        named = {
            key: _typed(f"{prefix}{key}", each.get(key, ""), kind)
            for key, kind in _COLUMNS.items()
            if kind is not list
        }
        try:
            yield Table(points=points, **named)
        except ArgumentError as error:
            raise ArgumentError(f"{prefix}{error}") from error


def _sources(content: Any) -> dict[str, str]:
    if not isinstance(content, Mapping):
        raise ArgumentError(f"sources={content!r:.80} must be a table")
    return {key: _typed(f"sources.{key}", value, str) for key, value in content.items()}


# ---- writing ---------------------------------------------------------------------------


def write_machine(machine: Machine, path: str | Path) -> None:
    """To a file that ``read_machine`` reads.  Raises ArgumentError where that cannot be."""
    try:
        Path(path).write_text(as_toml(machine), encoding="utf-8")
    except OSError as error:
        raise ArgumentError(f"machine={str(path)!r} cannot be written: {error}") from error


def as_toml(machine: Machine) -> str:
    """The text of its file."""
    lines = ["# times in seconds; rates in bytes per second, one way"]
    lines += _pairs({key: getattr(machine, key) for key in _PLAIN})
    for prefix, links in (("", machine.links), ("in_network.", machine.in_network)):
        for name, link in links.items():
            lines += ["", f"[{prefix}{name.replace(' ', '_')}]"]
            lines += _pairs({each.name: getattr(link, each.name) for each in fields(Link)})
    for table in machine.tables:
        sizes, times = zip(*table.points, strict=True)
        columns = {key: getattr(table, key) for key in _COLUMNS if key not in ("bytes", "seconds")}
        lines += ["", "[[tables]]", *_pairs({**columns, "bytes": [*sizes], "seconds": [*times]})]
    if machine.sources:
        lines += ["", "[sources]"]
        lines += [f"{dumps(key)} = {dumps(said)}" for key, said in machine.sources.items()]
    return "\n".join(lines) + "\n"


def _pairs(values: Mapping[str, Any]) -> list[str]:
    """JSON's spelling of text, numbers and lists is TOML's too."""
    return [f"{key} = {dumps(value)}" for key, value in values.items() if value is not None]
