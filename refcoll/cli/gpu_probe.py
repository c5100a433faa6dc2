"""refcoll gpu-probe: what device memory can do here, seen from outside."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from refcoll.cli.options import Json
from refcoll.cli.output import console, table, write_json
from refcoll.connecting import plug_in
from refcoll.testing.limited import marked, run
from refcoll.testing.mpirun import mpirun

PROBES = "refcoll.probes"
"""The entry-point group in which a plug-in names a function that looks at what there is."""
RANKS, NO_GPU = 2, 3
"""Ranks of a trial; the exit status where there is nothing to try it on."""
_MODES = ("direct", "staged")


@dataclass(frozen=True)
class Trial:
    """How two ranks that sent device memory to each other ended."""

    mode: str
    works: bool
    ended: str
    """In words: a crash is an answer too."""
    ranks: list[dict[str, Any]]
    """What those ranks said that came to the end: ``rank``, ``device``, ``identity``, ``right``."""


def gpu_probe(
    limit: Annotated[float, typer.Option(min=1, help="seconds that a trial may take")] = 60.0,
    json: Json = None,
) -> None:
    """Which MPI is loaded, what it says of device memory, and what mode="auto" does with it.

    Where there is a device, two ranks under mpirun then send device memory to each other,
    directly and staged: they are processes of their own, so that a crash is an answer.  It
    holds if "auto" goes a way that works.  Without a GPU, or without CuPy, nothing is tried: it
    says so and ends with status 3.  The JSON holds the keys holds, verdict, found and trials.
    """
    found = plug_in(PROBES, "probe", "cupy")()
    trials = [_tried(found, mode, limit) for mode in _MODES] if found.devices else []
    holds, verdict = _verdict(found, trials)
    if str(json) != "-":
        print(verdict)
        console().print(table(None, ("what", "found"), _rows(found, trials)))
    write_json(json, {
        "holds": holds, "verdict": verdict,
        "found": asdict(found), "trials": [asdict(each) for each in trials],
    })  # fmt: skip
    raise typer.Exit(NO_GPU if holds is None else int(not holds))


def _tried(found: Any, mode: str, limit: float) -> Trial:
    ended = run([mpirun(), "-n", str(RANKS), sys.executable, *found.trial, mode], limit)
    said = sorted(marked(ended.out, found.mark), key=lambda each: int(each["rank"]))
    if ended.status != 0 or len(said) != RANKS:
        return Trial(mode, False, ended.words(), said)
    works = all(each["right"] for each in said)
    return Trial(mode, works, "works" if works else "carried bytes that are wrong", said)


def _verdict(found: Any, trials: Sequence[Trial]) -> tuple[bool | None, str]:
    """Whether "auto" goes a way that works, and so in words; None where nothing could be tried."""
    if not trials:
        return None, f"no GPU: {found.no_devices}"
    auto = next(each for each in trials if each.mode == found.auto)
    other = next(each for each in trials if each.mode != found.auto)
    if not auto.works:
        return False, f"does not hold: mode='auto' is {auto.mode}, which {auto.ended}"
    more = ""
    if other.works and other.mode == "direct":
        more = "; mode='direct' works too, with cuda_aware=True"
    return True, f"holds: mode='auto' is {auto.mode}, which works{more}"


def _rows(found: Any, trials: Sequence[Trial]) -> list[tuple[str, str]]:
    placed = {each["rank"]: each for trial in trials for each in trial.ranks}
    return [
        ("MPI", found.library),
        *((each["question"], each["said"]) for each in found.answers),
        ("mode='auto'", f"{found.auto}: {found.reason}"),
        ("devices", str(found.devices)),
        *((f"rank {rank}", _place(each)) for rank, each in sorted(placed.items())),
        *((f"tried {each.mode}", each.ended) for each in trials),
    ]


def _place(said: dict[str, Any]) -> str:
    return f"device {said['device']} ({said['identity']})"
