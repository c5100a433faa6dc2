"""refcoll gpu-probe: what device memory can do here, seen from outside."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from refcoll.cli.options import Json
from refcoll.cli.output import console, table, write_json
from refcoll.connecting import plug_in
from refcoll.testing.mpirun import mpirun

PROBES = "refcoll.probes"
"""The entry-point group in which a plug-in names a function that looks at what there is."""
_MODES = ("direct", "staged")
_RIGHT = "every byte is right"


@dataclass(frozen=True)
class Trial:
    """How two ranks that sent device memory to each other ended."""

    mode: str
    works: bool
    ended: str
    """In words: a crash is an answer too."""


def gpu_probe(
    limit: Annotated[float, typer.Option(help="seconds that a trial may take")] = 60.0,
    json: Json = None,
) -> None:
    """Which MPI is loaded, what it says of device memory, and what mode="auto" does with it.

    Where there is a device, two ranks under mpirun then send device memory to each other,
    directly and staged: they are processes of their own, so that a crash is an answer.  It
    holds if "auto" goes a way that works.  Without a device it does not hold, and says so.
    The JSON holds the keys holds, verdict, found and trials.
    """
    found = plug_in(PROBES, "probe", "cupy")()
    trials = [_tried(found.trial, mode, limit) for mode in _MODES] if found.devices else []
    holds, verdict = _verdict(found, trials)
    if str(json) != "-":
        print(verdict)
        console().print(table(None, ("what", "found"), _rows(found, trials)))
    write_json(json, {
        "holds": holds, "verdict": verdict,
        "found": asdict(found), "trials": [asdict(each) for each in trials],
    })  # fmt: skip
    raise typer.Exit(0 if holds else 1)


def _tried(program: Sequence[str], mode: str, limit: float) -> Trial:
    command = [mpirun(), "-n", "2", sys.executable, *program, mode]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return Trial(mode, False, f"did not end within {limit:g} s")
    works = run.returncode == 0 and run.stdout.count(_RIGHT) == 2
    return Trial(mode, works, "works" if works else _ended(run))


def _ended(run: subprocess.CompletedProcess[str]) -> str:
    """How a job failed.  A launcher gives a signal as itself, or plus 128."""
    number = -run.returncode if run.returncode < 0 else run.returncode - 128
    if number in set(signal.Signals):
        return f"ended by {signal.Signals(number).name}"
    told = (run.stderr.strip() or run.stdout.strip() or "nothing was said").splitlines()
    return f"ended with status {run.returncode}: {told[-1]:.300}"


def _verdict(found: Any, trials: Sequence[Trial]) -> tuple[bool, str]:
    if not trials:
        return False, f"does not hold: no GPU: {found.no_devices}"
    auto = next(each for each in trials if each.mode == found.auto)
    other = next(each for each in trials if each.mode != found.auto)
    if not auto.works:
        return False, f"does not hold: mode='auto' is {auto.mode}, which {auto.ended}"
    more = ""
    if other.works and other.mode == "direct":
        more = "; mode='direct' works too, with cuda_aware=True"
    return True, f"holds: mode='auto' is {auto.mode}, which works{more}"


def _rows(found: Any, trials: Sequence[Trial]) -> list[tuple[str, str]]:
    return [
        ("MPI", found.library),
        *((each["question"], each["said"]) for each in found.answers),
        ("mode='auto'", f"{found.auto}: {found.reason}"),
        ("devices", str(found.devices)),
        *((f"tried {each.mode}", each.ended) for each in trials),
    ]
