"""What every rank must end with, compared with what a symbolic run has left there."""

from __future__ import annotations

from refcoll.interpreters.expression import MIXED, Expression
from refcoll.interpreters.legality import Failure
from refcoll.interpreters.symbolic_run import SymbolicRun
from refcoll.programs import Program
from refcoll.words import ranked


def judge(run: SymbolicRun) -> None:
    """Add to the run's failures what the collective asks for and is not there."""
    program = run.program
    for rank in range(program.size):
        for chunk in range(program.chunks):
            wanted = program.after(rank, chunk)
            if wanted is not None:
                _judge_chunk(run, rank, chunk, wanted)
    if not run.failures:
        _judge_agreement(run)
    if program.collective.synchronises:
        _judge_barrier(run)
    claims = program.claims
    if claims and claims.in_rank_order and not run.in_rank_order:
        run.failures.append(Failure("order", "operands do not meet in rank order"))


def _judge_chunk(run: SymbolicRun, rank: int, chunk: int, wanted: frozenset[int]) -> None:
    value, origin = _ended_with(run, rank, chunk), run.program.origin(rank, chunk)
    where = _place(run.program, chunk, rank)
    if value is None:
        run.failures.append(Failure("result", f"{where} is empty"))
        return
    bits = sum(1 << who for who in wanted)
    if value.members != bits or value.repeated or value.chunk != origin:
        wrong = _wrong(value, wanted, origin)
        run.failures.append(Failure("result", f"at the end {where} {wrong}"))
    run.in_rank_order &= value.in_rank_order


def _ended_with(run: SymbolicRun, rank: int, chunk: int) -> Expression | None:
    return run.memory[rank].get(run.program.result_area * run.program.chunks + chunk)


def _place(program: Program, chunk: int, rank: int) -> str:
    """A place of a result, in words; an area is named only where there are several."""
    area = f" of area {program.result_area}" if program.areas > 1 else ""
    what = "place" if program.collective.transposes else "chunk"
    return f"{what} {chunk}{area} on rank {rank}"


def _wrong(value: Expression, wanted: frozenset[int], chunk: int) -> str:
    """What is wrong with a value, in words: who is missing, doubled, or does not belong."""
    of = f" of rank {value.first}" if value.left is None else ""
    if value.chunk == MIXED:
        mixed: frozenset[int] = value.evaluate(lambda _, chunk: frozenset([chunk]), frozenset.union)
        return f"mixes chunks {' and '.join(map(str, sorted(mixed)))}: {value}"
    if value.chunk != chunk:
        return f"holds chunk {value.chunk}{of}, not chunk {chunk}"
    held = value.contributors()
    missing, extra = sorted(wanted - held.keys()), sorted(held.keys() - wanted)
    said = [f"lacks {ranked(missing)}"] if missing else []
    for times in sorted(set(held.values()) - {1}):
        repeated = ranked(sorted(who for who in held if held[who] == times))
        said.append(f"has {repeated} {'twice' if times == 2 else f'{times} times'}")
    return "; ".join(said + ([f"has {ranked(extra)}, not asked for"] if extra else []))


def _judge_agreement(run: SymbolicRun) -> None:
    """Ranks that end with the same contributors of a chunk hold the same bits.

    One expression is one object, so the same bits for any input are the same object.
    """
    program = run.program
    if program.collective.transposes:
        return
    first: dict[tuple[int, frozenset[int]], tuple[int, Expression | None]] = {}
    for rank in range(program.size):
        for chunk in range(program.chunks):
            wanted = program.after(rank, chunk)
            if wanted is None:
                continue
            value = _ended_with(run, rank, chunk)
            other, held = first.setdefault((chunk, wanted), (rank, value))
            if value is not held:
                said = f"chunk {chunk} is {value} on rank {rank}"
                run.failures.append(Failure("agreement", f"{said}, but {held} on rank {other}"))


def _judge_barrier(run: SymbolicRun) -> None:
    everyone = range(run.program.size)
    for rank in everyone:
        if unheard := [other for other in everyone if not run.heard[rank] >> other & 1]:
            said = f"rank {rank} ends without having heard of {unheard}"
            run.failures.append(Failure("result", said))
