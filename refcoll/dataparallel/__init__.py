"""Data-parallel training: replicas, their micro-batches, and what becomes of the gradients.

replica.py      what every replica does in a step: backward, no_sync, join
steps.py        ... and what its ranks do together      rollcall.py   what else they tell
parallel.py     DataParallel: mean gradients on every rank     averaging.py   which mean
sharded.py      Zero2, ParameterServer: shards and owners      sharding.py    who owns what
reducer.py      buckets, reduced in order beside backward      timeline.py    when, and how long
reductions.py   how a bucket becomes a mean: all-reduce, ...   compression.py ... by name
buckets.py      which gradients share a bucket                 tensors.py     what those are
optimizers.py   SGD, Adam                                      memory.py      ZeRO's bytes
clipping.py     by the global norm      squares.py  exactly    states.py      to be saved
tasks.py, training.py   a real run on digits.py by mlp.py      trials.py      and its report
torch_*.py      torch modules, and a hook for DDP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refcoll.dataparallel.averaging import Averaging
    from refcoll.dataparallel.buckets import assign, bucket_rule
    from refcoll.dataparallel.clipping import NotFiniteError, clip_grad_norm_
    from refcoll.dataparallel.halves import Half
    from refcoll.dataparallel.memory import zero_nbytes
    from refcoll.dataparallel.onebit import OneBit
    from refcoll.dataparallel.optimizers import Adam, Optimizer, Sgd
    from refcoll.dataparallel.parallel import DataParallel
    from refcoll.dataparallel.powersgd import PowerSGD
    from refcoll.dataparallel.reductions import AllReduce, Bound, Reduction
    from refcoll.dataparallel.replicas import differing
    from refcoll.dataparallel.shapes import parameter_shapes
    from refcoll.dataparallel.sharded import ParameterServer, Zero2
    from refcoll.dataparallel.tensors import Bucket, Tensor
    from refcoll.dataparallel.timeline import Timeline, chrome_trace, drawn, gather

_FROM = {
    "averaging": ("Averaging",),
    "buckets": ("assign", "bucket_rule"),
    "clipping": ("NotFiniteError", "clip_grad_norm_"),
    "halves": ("Half",),
    "memory": ("zero_nbytes",),
    "onebit": ("OneBit",),
    "optimizers": ("Adam", "Optimizer", "Sgd"),
    "parallel": ("DataParallel",),
    "powersgd": ("PowerSGD",),
    "reductions": ("AllReduce", "Bound", "Reduction"),
    "replicas": ("differing",),
    "shapes": ("parameter_shapes",),
    "sharded": ("ParameterServer", "Zero2"),
    "tensors": ("Bucket", "Tensor"),
    "timeline": ("Timeline", "chrome_trace", "drawn", "gather"),
}
_MODULES = {name: module for module, names in _FROM.items() for name in names}

__all__ = [
    "Adam",
    "AllReduce",
    "Averaging",
    "Bound",
    "Bucket",
    "DataParallel",
    "Half",
    "NotFiniteError",
    "OneBit",
    "Optimizer",
    "ParameterServer",
    "PowerSGD",
    "Reduction",
    "Sgd",
    "Tensor",
    "Timeline",
    "Zero2",
    "assign",
    "bucket_rule",
    "chrome_trace",
    "clip_grad_norm_",
    "differing",
    "drawn",
    "gather",
    "parameter_shapes",
    "zero_nbytes",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
