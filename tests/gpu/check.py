"""Look at refcoll_cupy on a machine that has a GPU: one program, one JSON, ten minutes at most.

    python tests/gpu/check.py --json found.json [--launcher "NAME=mpiexec -n {ranks}" ...]

Each part is a process of its own with a time limit, so that a crash or a hang is a result.
What sends by MPI is a job, by each way, once for each ``--launcher``; by default for the mpirun
that belongs to this Python.  docs/gpu.md has launchers of MPIs that can be CUDA-aware, and
docs/json.md describes the JSON.

Status 0: what was tried is right; 1: something is not; 2: bad usage; 3: there is no GPU, or no
CuPy, and nothing was tried.  Speeds are told beside their bounds, and gate nothing.

**It has not run on a GPU.**  Its parts, but for those that ask CuPy, torch or NCCL for something
of their own, have been tried with the tests' stand-in, which says nothing of a device.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from checking_bits import bits
from checking_bounds import GOAL, below
from checking_children import LONGEST, Part, all_tried, child, jobs
from checking_right import algorithms, conformance, race, random_data, torch_tensors
from checking_speed import by_mpi, ceiling, in_process, nccl
from refcoll.errors import ArgumentError, RefcollError
from refcoll.testing.limited import run
from refcoll.testing.mpirun import mpirun

SECONDS, NO_GPU = 600.0, 3
FORMAT = 1
"""Of the JSON."""
CUPYS = ("cupy", "cupy-cuda12x", "cupy-cuda13x")
"""Names under which CuPy is installed."""
OTHERS = (torch_tensors, nccl)
"""Parts for which another library may be missing."""
ALONE = (ceiling, conformance, bits, algorithms, random_data, race, in_process)
PARTS = {part.__name__: part for part in (*ALONE, *OTHERS, by_mpi)}


def judged(found):
    """Whether all is right, and so in a line.

    "direct" may crash where the MPI does not say that it can; what it carries must be right.
    """
    wrong = [
        title for title, each in found.items() if not (each["right"] or _excused(title, found))
    ]
    said = f"wrong: {', '.join(wrong)}" if wrong else "right"
    missing = [title for title, each in found.items() if each.get("missing")]
    said += f"; not there: {', '.join(missing)}" if missing else ""
    slow = ", ".join(below(found.get("in_process", {}).get("ring", [])))
    return not wrong, said + (f"; rings below {GOAL:.0%} of their bound: {slow}" if slow else "")


def _excused(title, found):
    each = found[title]
    if title in {part.__name__ for part in OTHERS}:
        return each["missing"]
    launcher, _, mode = title.rpartition(" ")[0].rpartition(" ")
    claims = found.get(f"{launcher} staged 2", {}).get("cuda_aware")
    crashed = each["ended"] is not None or "has failed" in each.get("not_tried", "")
    return mode == "direct" and crashed and not claims


def versions():
    """Of what takes part; null where it is not there."""
    told = {"python": platform.python_version(), "machine": platform.machine()}
    for name in ("refcoll", *CUPYS, "nvidia-cuda-nvrtc-cu12", "numpy", "mpi4py", "torch"):
        try:
            told[name] = version(name)
        except PackageNotFoundError:
            told[name] = None
    return told


def device():
    """Its name, and what drives it; raises RefcollError where there is none, saying why."""
    from refcoll_cupy.devices import CupyRuntime

    count = CupyRuntime().devices()
    import cupy

    cuda = cupy.cuda.runtime
    asked = {
        "name": lambda: cuda.getDeviceProperties(0)["name"].decode(),
        "driver": cuda.driverGetVersion,
        "runtime": cuda.runtimeGetVersion,
        "compiler": cupy.cuda.nvrtc.getVersion,
    }
    return {"devices": count} | {name: _answer(ask) for name, ask in asked.items()}


def _answer(ask):
    """Or what went wrong with asking, in words: it is not to end everything."""
    try:
        return ask()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def probe():
    """What `refcoll gpu-probe` says, or how it ended."""
    ended = run([sys.executable, "-m", "refcoll", "gpu-probe", "--json", "-"], LONGEST)
    try:
        return json.loads(ended.out)
    except ValueError:
        return {"ended": ended.words()}


def looked(launchers, keep=lambda told: None):
    """All of the JSON; ``keep`` is given it, as far as it is known, after each part."""
    told = {"format": FORMAT, "versions": versions(), "gpu": False, "holds": None}
    until = time.monotonic() + SECONDS
    try:
        told["device"] = device()
    except RefcollError as error:
        return told | {"verdict": f"no GPU: {error}"}
    told["probe"] = probe()
    alone, others = ([Part(f.__name__, f.__name__) for f in each] for each in (ALONE, OTHERS))
    told |= {"gpu": True, "goal": GOAL, "verdict": "it has not come to its end"}
    parts = [*alone, *others, *jobs(launchers)]
    found = all_tried(parts, until, lambda found: keep(told | {"found": found}))
    holds, verdict = judged(found)
    return told | {"holds": holds, "verdict": verdict, "found": found}


def asked():
    """The command line's options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="where to write what was found")
    says = "what starts {ranks} ranks of one MPI; may be given several times"
    parser.add_argument("--launcher", action="append", metavar="NAME=COMMAND", help=says)
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.json and not given.json.parent.is_dir():  # not after ten minutes
        parser.error(f"--json {given.json}: {given.json.parent} is no directory")
    try:
        given.launchers = launchers(given.launcher)
    except RefcollError as error:
        parser.error(str(error))
    return given


def launchers(given):
    """Commands by name.  Raises ArgumentError."""
    for each in given or ():
        name, is_there, command = each.partition("=")
        if not (name and is_there and "{ranks}" in command):
            raise ArgumentError(f"--launcher {each!r} is not like 'NAME=mpiexec -n {{ranks}}'")
    return dict(each.split("=", 1) for each in given or [f"mpi={mpirun()} -n {{ranks}}"])


def main():
    """Its status: see above."""
    given = asked()
    if given.child:
        name, *arguments = given.child
        return child(PARTS[name], name, arguments)

    def keep(told):
        if given.json:
            given.json.write_text(json.dumps(told, indent=1) + "\n")

    told = looked(given.launchers, keep)
    print(told["verdict"], flush=True)
    keep(told)
    return NO_GPU if not told["gpu"] else int(not told["holds"])


if __name__ == "__main__":
    sys.exit(main())
