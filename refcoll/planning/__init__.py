"""Planning: what collectives, and training steps, will cost on a described machine.

machine.py      a machine: links, who shares them, switches that add
presets.py      machines by name, of published.tsv's figures   files.py       and as TOML files
tables.py       measured times, interpolated                   published.py   rows and sources
rounds.py       a collective seen from above: closed forms     above.py       which have them
patterns.py     rings, shifts, everyone at once                hierarchies.py trees, nodes, switches
exchanges.py    partners at growing distances                  double_trees.py
in_network.py   switches that add                              candidates.py  all that could run
predicting.py   what an algorithm takes there                  breakeven.py   from which size on
simulating.py   what its schedule takes, event by event        playing.py     beside predictions
timeline.py     a training step: what backward hides           why.py         what scaling lacks
timeline_training.py what is trained, and when gradients are ready
timeline_overlap.py  buckets one after another, in exact terms; timeline_playing.py event by event
timeline_sweeps.py   one input over many values                why_example.py 2.3 times, then 3.6
validation.py        every published figure beside its prediction: validation_collectives.py,
                     validation_scaling.py, validation_steps.py; all in validation_report.py
held_out.py          measured tables told by themselves
calibration.py       a machine from what is measured on it: calibration_patterns.py, _timing.py and
                     _merging.py measure, _errors.py compares predictions with what was measured
logs_fitting.py      a machine from logs: logs_reading.py, logs_nccl.py, logs_osu.py, logs_bench.py
                     read them into logs.py's samples, logs_machine.py puts it together
fitting.py           figures from times             defaults.py   an algorithm as it is run
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refcoll.planning.calibration import Calibration, calibrated
    from refcoll.planning.files import read_machine, write_machine
    from refcoll.planning.logs import Given
    from refcoll.planning.logs_fitting import Fitted, machine_from
    from refcoll.planning.logs_reading import read_log
    from refcoll.planning.machine import Link, Machine
    from refcoll.planning.predicting import Planner, Prediction, planner, predict, predictions
    from refcoll.planning.presets import preset
    from refcoll.planning.tables import Table
    from refcoll.planning.timeline import step
    from refcoll.planning.timeline_sweeps import sweep
    from refcoll.planning.timeline_training import Training
    from refcoll.planning.why import Change, Setup, Why

_FROM = {
    "calibration": ("Calibration", "calibrated"),
    "files": ("read_machine", "write_machine"),
    "logs": ("Given",),
    "logs_fitting": ("Fitted", "machine_from"),
    "logs_reading": ("read_log",),
    "machine": ("Link", "Machine"),
    "predicting": ("Planner", "Prediction", "planner", "predict", "predictions"),
    "presets": ("preset",),
    "tables": ("Table",),
    "timeline": ("step",),
    "timeline_sweeps": ("sweep",),
    "timeline_training": ("Training",),
    "why": ("Change", "Setup", "Why"),
}
_MODULES = {name: module for module, names in _FROM.items() for name in names}

__all__ = [
    "Calibration",
    "Change",
    "Fitted",
    "Given",
    "Link",
    "Machine",
    "Planner",
    "Prediction",
    "Setup",
    "Table",
    "Training",
    "Why",
    "calibrated",
    "machine_from",
    "planner",
    "predict",
    "predictions",
    "preset",
    "read_log",
    "read_machine",
    "step",
    "sweep",
    "write_machine",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
