"""What why has found, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from refcoll.cli.output import console, table
from refcoll.cli.validate_words import said_group
from refcoll.planning.known_error import error_of_training
from refcoll.planning.machine import counted
from refcoll.planning.why import Setup, Why
from refcoll.words import said_seconds


def title(made: Why) -> str:
    """The verdict."""
    nodes, before = made.setup.machine.nodes, made.scaling(made.setup)
    said = f"{nodes} nodes are {before:.2f} times as fast as one"
    if made.changes:
        changes = counted(len(made.changes), "change")
        return f"{said}; with {changes} {made.scaling(made.changed):.2f} times"
    return f"{said}, of {nodes} ({before / nodes:.0%})"


def report(made: Why, model: str, measured: float | None) -> None:
    """The verdict, the inputs, the waterfall, what each change brings, what nobody told."""
    print(title(made))
    for line in _inputs(made, model):
        print(f"  {line}")
    _waterfall(made, made.setup, "What is missing")
    if measured is not None:
        print(_unexplained(made, measured))
    if made.changes:
        _gains(made)
        _waterfall(made, made.changed, "What is missing still")
    print(f"{_UNKNOWN}\n\n{said_group(error_of_training())}")


def _inputs(made: Why, model: str) -> Iterator[str]:
    told = made.setup.training
    yield f"{made.setup.machine.title}"
    yield (
        f"{model}: {counted(len(told.buckets), 'bucket')}, algorithm {told.algorithm}, "
        f"{told.accumulate} micro-batch{'es' if told.accumulate > 1 else ''} a step; "
        f"forward {said_seconds(told.forward_seconds)}, backward {said_seconds(told.backward)}"
    )
    yield (
        f"interference: computing takes {told.interference:g} times as long beside a reduction; "
        f"straggler: {said_seconds(told.late) if told.late else 'none'}"
    )


def _waterfall(made: Why, setup: Setup, name: str) -> None:
    nodes = made.setup.machine.nodes
    rows, before = [], float(nodes)
    for cause, here, there, after in made.waterfall(setup):
        lost = "" if cause == "compute" else f"{after - before:+.2f}"
        rows.append([_SAID[cause], f"{here * 1e3:.2f}", f"{there * 1e3:.2f}", lost, f"{after:.2f}"])
        before = after
    print(f"\n{name}: ms for each micro-batch, and how many times as fast as one node")
    console().print(table(None, ("", "1 node", f"{nodes} nodes", "", "scaling"), rows))


_SAID = {
    "compute": "compute",
    "bandwidth": "exposed: bandwidth",
    "latency": "exposed: latency",
    "interference": "interference",
    "straggler": "straggler",
}


def _unexplained(made: Why, measured: float) -> str:
    predicted = made.scaling(made.setup)
    one, step = made.one_node.step.per_micro_batch, made.setup.step.per_micro_batch
    more = made.setup.machine.nodes * one / measured - step
    return (
        f"measured {measured:.2f}: {measured - predicted:+.2f}, or {more * 1e3:+.2f} ms, that the "
        "inputs do not explain"
    )


def _gains(made: Why) -> None:
    rows = [
        [each.change.title, f"{each.scaling:.2f}",
         *(f"{gain:+.2f}" for gain in (each.in_turn, each.alone, each.mean))]
        for each in made.gains
    ]  # fmt: skip
    print("\nWhat changes bring: one after another, as the only one, and the mean over all orders")
    console().print(table(None, ("", "scaling", "in turn", "alone", "mean"), rows))


_UNKNOWN = """
The model takes interference and straggler as told: nobody measured them here. Without them
only exposed communication keeps N nodes from being N times as fast as one."""


def points(made: Why) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """For the picture: the ideal and what causes leave of it, then what changes reach."""
    causes = [(cause, after) for cause, _, _, after in made.waterfall(made.setup)]
    ideal = ("ideal", float(made.setup.machine.nodes))
    return [ideal, *causes[1:]], [(each.change.title, each.scaling) for each in made.gains]


def content(made: Why, measured: float | None) -> dict[str, Any]:
    """The same with all its digits; keys in docs/json.md."""
    return {
        "nodes": made.setup.machine.nodes,
        "machine": made.setup.machine.title,
        "scaling": made.scaling(made.setup),
        "measured": measured,
        "waterfall": _steps(made, made.setup),
        "gains": [
            {**{key: value for key, value in asdict(each).items() if key != "change"},
             "change": each.change.title}
            for each in made.gains
        ],
        "scaling_changed": made.scaling(made.changed),
        "waterfall_changed": _steps(made, made.changed),
    }  # fmt: skip


def _steps(made: Why, setup: Setup) -> list[dict[str, Any]]:
    return [
        {"cause": cause, "one_node": here, "all_nodes": there, "scaling": after}
        for cause, here, there, after in made.waterfall(setup)
    ]
