"""All rows of bad input, wrong on all ranks and on one: what every rank hears, as JSON."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parents[2]))

import refcoll
from bad_input_different import DIFFERENT
from bad_input_local import ACCEPTED, CLOSED, METHODS, SAID_TO_ALL, SAID_TO_NONE
from bad_input_making import NAMES, array
from bad_input_rows import ROWS, different, hear, heard_of, odd

TIMEOUT = 20
comm = refcoll.connect("mpi", timeout=TIMEOUT)
rank, size = comm.rank, comm.size
is_odd = rank == odd(size)
said = {"all wrong": {}, "one wrong": {}, "different": [], "by itself": {}, "connect": {},
        "said to none": {}, "closed": {}, "accepted": {}}  # fmt: skip


def on_a_part(call):
    """What ``call(part)`` gives, of a communicator of its own, that it may poison."""
    part = comm.split(0)
    heard = asdict(call(part))
    part.close()
    return heard


def connected(row, wrong):
    """What is heard of a connect that some ranks get wrong; the others' would work."""

    def connect():
        return row.make() if wrong else refcoll.connect("mpi")

    return asdict(heard_of(comm, connect))


for name, row in ROWS.items():
    if row.bad.ranks in (0, size):
        all_refuse = all(row.finds_fault(each, size) for each in range(size))
        said["all wrong"][name] = (
            asdict(hear(comm, row, wrong=True)) if all_refuse
            else on_a_part(lambda part, row=row: hear(part, row, wrong=True))
        )  # fmt: skip
        said["one wrong"][name] = on_a_part(lambda part, row=row: hear(part, row, wrong=is_odd))
for row in DIFFERENT:
    said["different"].append(on_a_part(lambda part, row=row: different(part, row)))

plan = comm.plan("all_reduce", np.array([rank]))
handle = plan.start()
handle.wait()
for row in METHODS:
    names = {"comm": comm, "plan": plan, "handle": handle}
    alone = (lambda row=row: row.make(**names)) if is_odd else lambda: None  # noqa: B023
    said["by itself"][row.name] = [
        asdict(heard_of(comm, lambda row=row: row.make(**names))),  # noqa: B023
        asdict(heard_of(comm, alone)),
        int(plan.run()[0]),
    ]
for row in SAID_TO_ALL:
    said["connect"][row.name] = [connected(row, wrong=True), connected(row, wrong=is_odd)]
for row in SAID_TO_NONE:
    said["said to none"][row.name] = connected(row, wrong=True)
for call in ACCEPTED:
    names = {"comm": comm, "plan": plan, "x": array(), "size": size}
    said["accepted"][call] = asdict(heard_of(comm, lambda call=call: eval(call, NAMES, names)))  # noqa: B023
part = comm.split(0)
names = {"comm": part, "plan": part.plan("all_reduce", array()), "x": array(), "size": size}
part.close()
for call in CLOSED:
    said["closed"][call] = asdict(heard_of(comm, lambda call=call: eval(call, NAMES, names)))
everyone = MPI.COMM_WORLD.gather(said)
if everyone:
    json.dump(everyone, sys.stdout)
