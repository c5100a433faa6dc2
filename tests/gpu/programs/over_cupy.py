"""Parts of check.py over CuPy itself, with a stand-in for CUDA beneath it."""

import sys
import warnings
from functools import partial

import numpy as np
from beneath_cupy import install

import refcoll
from checking_bits import bits
from checking_right import algorithms, conformance, on_gpu, race, random_data
from checking_speed import by_mpi, in_process
from refcoll_cupy import arrays_of

FEW = [("sum", "float32"), ("avg", "bfloat16"), ("prod", "complex64")], [("float32", "float16")]
warnings.filterwarnings("ignore", "ranks .* share one device")  # as is meant
install()  # what is above imports CuPy where it is used


def cupys():
    """Devices are taken in turn; what lies elsewhere is copied; converted, and finished."""

    def run(comm):
        x = comm.transport.arrays.from_host(np.full(5, 1.0 + comm.rank, np.float16))
        total = comm.all_reduce(x, "avg", accumulate="float32")
        return type(total).__module__, comm.transport.arrays.to_host(total)

    found = refcoll.spawn(3, run, arrays="cupy")
    return {"right": all(name == "cupy" and (each == 2).all() for name, each in found)}


class Foreign:
    """A CuPy array as another library's, that offers one protocol."""

    def __init__(self, array, *protocol):
        for name in protocol:
            setattr(self, name, getattr(array, name))


PROTOCOLS = [("__dlpack__", "__dlpack_device__"), ("__cuda_array_interface__",)]


def foreign():
    """Arrays of another library's, where they lie: also on the device that is not current."""

    def run(comm):
        arrays = comm.transport.arrays
        for protocol in PROTOCOLS:
            x, out = (arrays.from_host(np.full(5, 1.0 + comm.rank)) for _ in range(2))
            with arrays.runtime.on(0):
                comm.all_reduce(Foreign(x, *protocol), out=Foreign(out, *protocol))
            yield (arrays.to_host(out) == 6).all()

    found = refcoll.spawn(3, lambda comm: list(run(comm)), arrays="cupy")
    return {"right": all(map(all, found))}


PARTS = {
    "conformance": lambda: conformance(sizes=(3,)),
    "two devices": lambda: conformance(arrays_of, sizes=(3,)),
    "bits": lambda: bits(
        on_gpu, [("sum", "float32"), ("avg", "bfloat16")], [("float32", "float16")]
    ),
    "random": lambda: random_data(counts=(1, 999)),
    "race": lambda: race(rounds=3, slow=lambda: None),
    "speed": lambda: in_process(sizes=(8, 4096), vector=4096, ranks=(2,)),
    "cupys": cupys,
    "foreign": foreign,
    "algorithms": algorithms,
}
for way in ("staged", "direct"):  # under mpirun; rank 0 alone tells
    PARTS[way] = partial(by_mpi, way, sizes=(8,), vector=4096, slow=lambda: None, most=10)
for name in sys.argv[1:]:
    found = PARTS[name]()
    if found is not None:
        assert found["right"], (name, found)
        print(f"right: {name}.", flush=True)
