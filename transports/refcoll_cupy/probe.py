"""What device memory can do here: which MPI, which devices, and what "auto" would make of them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import Any

from refcoll.transport import RefcollError, TransportError
from refcoll_cupy import modes
from refcoll_cupy.devices import CupyRuntime
from refcoll_cupy.trial import MARK
from refcoll_mpi.driver import MPI

TRIAL = ("-m", "refcoll_cupy.trial")
"""What Python runs, and a mode: two ranks that send device memory to each other."""


@dataclass(frozen=True)
class Found:
    """What a look has found, without handing anything to MPI."""

    library: str
    """The MPI that is loaded."""
    answers: list[dict[str, Any]]
    """What it says of device memory: ``question``, ``said``, ``yes``."""
    auto: str
    """Which way mode="auto" goes."""
    reason: str
    devices: int
    no_devices: str | None
    """Why there are none, in words."""
    trial: tuple[str, ...] = TRIAL
    mark: str = MARK
    """Before what each rank of a trial says as JSON: see ``trial``."""


def probe(limit: float = 60.0) -> Found:
    """Look, in a process of its own: MPI may be started once, and leaves marks that another
    mpirun's ranks would stumble over.

    Raises TransportError where that process fails, or takes more than ``limit`` seconds.
    """
    command = [sys.executable, "-m", "refcoll_cupy.probe"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired as error:
        raise TransportError(f"looking at MPI and CuPy did not end within {limit:g} s") from error
    if run.returncode:
        told = (run.stderr.strip() or "nothing was said").splitlines()[-1]
        raise TransportError(f"looking at MPI and CuPy ended with status {run.returncode}: {told}")
    return Found(**json.loads(run.stdout))


def look() -> Found:
    """The same in this process, which starts MPI."""
    MPI.Init()
    said = modes.answers(MPI.COMM_WORLD)
    mode = modes.chosen("auto", False, said)
    devices, why = 0, None
    try:
        devices = CupyRuntime().devices()
    except RefcollError as error:
        why = str(error)
    answers = [asdict(each) for each in said]
    return Found(modes.library(), answers, mode.name, mode.reason, devices, why)


if __name__ == "__main__":
    print(json.dumps(asdict(look())))
