"""Draw a program as text: which chunk goes where in each step, and what each rank then holds.

Chunks are letters, contributors are rank numbers: ``b:013`` is chunk b with the sum of the
ranks 0, 1 and 3, ``b*`` is chunk b, finished: all that the collective wants in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from refcoll.interpreters.count import count
from refcoll.interpreters.fitting import require_fit
from refcoll.interpreters.story import SHOWN, Story, contributors, name_of, numbers
from refcoll.interpreters.table import table
from refcoll.programs import Program, require_program
from refcoll.schedule import Copy, Reduce, Send

_AREAS = 4
_MERGING = "Partial results travel: whoever receives a chunk merges it into its own."
_COPYING = "Chunks travel as they are: whoever receives one keeps it."


def draw(program: Program) -> str:
    """The story of a program, step by step, as a table of steps x ranks.

    Raises a ScheduleError where sends and receives do not match, or name what does not exist.
    """
    require_program(program)
    require_fit(program, program.layout(program.chunks))
    story = Story(program)
    lines = [*_legend(program), ""]
    rows: list[list[str] | str] = [["", *_rank_names(program)], *story.start()]
    told = ""
    for number in story.numbers:
        caption = _MERGING if _merges(program, number) else _COPYING
        lockstep = table(program) is not None and not program.collective.synchronises
        if caption != told and lockstep:
            rows += [line for line in (told and story.finished(), caption) if line]
            told = caption
        rows += story.step(number)
    return "\n".join([*lines, *_table(rows), "", *_summary(program)])


def _rank_names(program: Program) -> list[str]:
    size = program.size
    return [f"rank {r}" if r < size else f"helper {r}" for r in range(program.ranks)]


def _merges(program: Program, number: int) -> bool:
    return any(
        isinstance(action, Reduce)
        for graph in program.graphs
        for node in graph
        if node.number == number
        for action in node.actions
    )


def _legend(program: Program) -> Iterator[str]:
    chunks = program.chunks
    yield f"{program.title}; the vector is cut into {chunks} chunk{'s' if chunks > 1 else ''}"
    links = count(program, program.chunks).links
    if program.idea:
        yield program.idea
    if len({tuple(node) for node in program.nodes}) > 1:
        yield "Nodes: " + "; ".join(", ".join(map(str, node)) for node in program.nodes) + "."
        where = program.topology
        if where is not None and len(where.switches) > 1:
            switches = (f"nodes {', '.join(map(str, nodes))}" for nodes in where.switches)
            yield "Switches: " + "; ".join(switches) + " (nodes numbered from 0)."
    if table(program) is None:
        yield (
            "The ranks do not run in lockstep: a row holds each rank's own step of that number, "
            "whenever it comes to it."
        )
    if 0 < len(links) <= SHOWN:
        yield "Messages go " + ", ".join(f"{a} -> {b}" for a, b in sorted(links)) + "."
    if program.collective.synchronises:
        yield "They are empty: all that travels is the word of who has come this far."
        return
    yield ""
    yield from _symbols(program)


def _symbols(program: Program) -> Iterator[str]:
    """The notation, as far as this program needs it."""
    used = {type(a) for graph in program.graphs for node in graph for a in node.actions}
    a = name_of(0, program)
    if program.collective.transposes:
        yield f"  {a}:{a}0     in place {a} lies chunk {a} of rank 0's vector"
    else:
        yield f"  {a}:0      chunk {a} as rank 0 had it at the start"
    for area in range(1, min(program.areas, _AREAS)):
        what = "the result" if area == program.result_area else "scratch"
        name = name_of(area * program.chunks, program)
        yield f"  {name:<8} place {a} of area {area}, which is {what}"
    if Reduce in used:
        together = contributors([0, 1], program)
        yield f"  {a}:{together:<6} what the ranks 0 and 1 had in chunk {a}, merged (summed, say)"
    yield f"  {name_of(program.result_area * program.chunks, program) + '*':<8} finished"
    if Send in used:
        yield f"  {a} -> 1   I send my chunk {a} to rank 1"
    if Reduce in used:
        yield f"  {a} += 1   I merge what rank 1 sends into my chunk {a}"
    if Copy in used:
        yield f"  {a} = 1    my chunk {a} becomes what rank 1 sends"


def _summary(program: Program) -> Iterator[str]:
    """What it took, for the rank that did most, in units of the vector."""
    unit = 60 * program.chunks
    counts = count(program, unit)
    last = max(numbers(program), default=-1) + 1
    each = f"; no rank sends or receives in more than {counts.steps}" if counts.steps < last else ""
    yield f"Done after {last} step{'' if last == 1 else 's'}{each}."
    if not program.collective.synchronises:
        most, least = max(counts.sent, counts.received) / unit, float(counts.least) / unit
        better = "no schedule can do with less" if counts.bandwidth_optimal else (
            f"the least possible {'by ranks alone ' if program.helpers else ''}is {least:.4g}"
        )  # fmt: skip
        yield f"The busiest rank sends or receives {most:.4g} times its vector; {better}."


def _table(rows: Sequence[Sequence[str] | str]) -> Iterator[str]:
    """The rows, columns aligned, a rule above each titled one; a string is a line of its own."""
    cells = [row for row in rows if not isinstance(row, str)]
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
    rule = "-+-".join("-" * width for width in widths)
    ruled = True
    for row in rows:
        if isinstance(row, str):
            yield from ("", row) if ruled else (row,)
            ruled = False
            continue
        ruled = True
        if row[0] and not row[0].startswith("after"):
            yield rule
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield " | ".join(padded).rstrip()
