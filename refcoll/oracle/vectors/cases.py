"""The cases: which calls on which inputs, and what each is there to find.

All-reduce has every dtype with every operator; the other collectives, which share most of an
implementation with it, have one dtype of each kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from refcoll.operators import Array, kind
from refcoll.oracle.calls import IN_PLACE, MOVING, REDUCING, Call, operators_for
from refcoll.oracle.probes import inputs
from refcoll.oracle.vectors import designs
from refcoll.oracle.vectors.flags import LOOP_TAIL, flags_of_shape
from refcoll.oracle.vectors.floats import payloads
from refcoll.testing.values import DTYPES, dtype_named

ROOTED = ("broadcast", "reduce", "gather", "scatter")


@dataclass(frozen=True)
class Case:
    """One call on known inputs."""

    call: Call
    """In-place where there is that form: the vector allows both."""
    name: str
    """Of the kind of inputs."""
    inputs: Sequence[Array]
    """By rank."""
    compare: str
    """"equal", "interval", "either" or "bits": how results are held to what is right."""
    flags: Sequence[str]
    comment: str = field(default="")

    @property
    def size(self) -> int:
        """The number of ranks."""
        return len(self.inputs)

    @property
    def id(self) -> str:
        """Unique among all, and readable."""
        call = self.call
        parts = [call.collective, f"n{self.size}", call.op, call.dtype, f"x{call.count}", self.name]
        parts += [f"root{call.root}"] if call.collective in ROOTED else []
        return "-".join(part for part in parts if part)


def cases(collective: str, size: int, seed: int) -> Iterator[Case]:
    """All of a collective's on ``size`` ranks; the same for the same seed."""
    make = _merging if collective in REDUCING else _moving
    for number, case in enumerate(make(collective, size, seed)):
        # Every root has its turn, not only the first and the last.
        root = number % size if collective in ROOTED and case.name == "ordered" else case.call.root
        call = replace(case.call, root=root)
        shape = [*flags_of_shape(call, size)]
        yield replace(case, call=call, flags=tuple(dict.fromkeys([*case.flags, *shape])))


def _merging(collective: str, size: int, seed: int) -> Iterator[Case]:
    wide = collective == "all_reduce"
    yield from _lengths(collective, size, seed, wide)
    count = {"all_reduce": size + 1, "reduce_scatter": 1}.get(collective, 2)
    for dtype in DTYPES if wide else ("int32", "float32"):
        yield from _operators(Call(collective, min(count, 3), dtype), size, seed)
    for dtype in designs.FLOATS if wide else ("float32",):
        yield from _by_content(Call(collective, count, dtype), size, seed, designs.OF_FLOATS)
    for dtype in designs.INTEGERS if wide else ("uint64",):
        yield from _by_content(Call(collective, count, dtype), size, seed, designs.OF_INTEGERS)
    yield from _by_content(Call(collective, count), size, seed, designs.OF_ORDER)


def _lengths(collective: str, size: int, seed: int, wide: bool) -> Iterator[Case]:
    """Of a whole vector around N; of a part, whose length has nothing to do with N, small."""
    few = {0, 1, 5 if collective == "reduce_scatter" else size + 1}
    many = {size - 1, size, 2 * size - 1, 3 * size + 2, LOOP_TAIL}
    for count in sorted(few | many if wide else few):
        for root in sorted({0, size - 1} if collective in ROOTED else {0}):
            call = Call(collective, count, "int32", root=root)
            yield _case(call, "coded", inputs("coded", call, size, seed), "equal", "MisplacedChunk")


def _operators(like: Call, size: int, seed: int) -> Iterator[Case]:
    """Each that is defined for the dtype, on whole numbers that no order rounds."""
    for op in operators_for(like.dtype):
        if op == "avg" and like.collective in ("scan", "exscan"):
            continue  # of as many as there are ranks, or as were added?  libraries differ
        call = replace(like, op=op)
        flags = ["WrongOperator"]
        flags += ["AverageByRanks"] if op == "avg" else []
        of = kind(dtype_named(call.dtype))
        flags += ["ComplexParts"] if of == "c" else []
        flags += ["LogicalOfNonBooleans"] if of == "i" and op.startswith("logical") else []
        compare = "interval" if op == "avg" else "equal"
        yield _case(call, "operator", inputs("coded", call, size, seed), compare, *flags)


def _by_content(
    like: Call, size: int, seed: int, chosen: Sequence[designs.Design]
) -> Iterator[Case]:
    for design in chosen:
        for op in design.operators:
            call = replace(like, op=op, dtype=design.dtype or like.dtype)
            if op == "avg" and call.collective in ("scan", "exscan"):
                continue
            if (given := design.make(call, size, seed)) is None:
                continue
            call = replace(call, count=design.count(call, size))
            flags = design.flags(call)
            yield replace(
                _case(call, design.name, given, design.compare(op), *flags), comment=design.comment
            )


def _moving(collective: str, size: int, seed: int) -> Iterator[Case]:
    """Any bits, in elements of every width."""
    most = size + 1 if collective == "broadcast" else 2
    calls = [Call(collective, count, "int32", None) for count in (0, 1, most)]
    calls += [Call(collective, 2, dtype, None) for dtype in ("uint8", "bfloat16", "complex128")]
    for call in calls:
        for root in sorted({0, size - 1} if collective in ROOTED else {0}):
            rooted = replace(call, root=root)
            given = inputs("bits", rooted, size, seed)
            yield _case(rooted, "bits", given, "bits", "ElementWidth", "MisplacedChunk")
    for dtype in ("float32", "float64"):
        call = Call(collective, 2, dtype, None, root=size // 2 if collective in ROOTED else 0)
        yield _case(call, "nan", payloads(call, size), "bits", "NaNPayload")


def _case(call: Call, name: str, given: Sequence[Array], compare: str, *flags: str) -> Case:
    return Case(replace(call, in_place=call.collective in IN_PLACE), name, given, compare, flags)


COLLECTIVES = REDUCING + MOVING
