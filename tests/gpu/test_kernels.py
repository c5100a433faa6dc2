"""The kernels mean what the host's operators mean, to the bit.

Their source is compiled here by the host's compiler, which shows what it says, not what a
GPU makes of it; of the conversions to and from float16 it shows the form for other machines.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import ml_dtypes
import numpy as np
import pytest

from checking_bits import CONVERSIONS, PAIRS, bits, same_bits, values
from late_stream import LateArray, LateRuntime
from refcoll.operators import OPERATORS
from refcoll.testing.values import dtype_named
from refcoll_cupy import kernels
from refcoll_cupy.arrays import DeviceArrays
from refcoll_cupy.device_code import PRELUDE

SHIM = """
#define __global__
#define __device__
static struct { int x; } blockIdx, threadIdx, blockDim = {1}, gridDim = {1};
"""
COMPILER = shutil.which("g++") or shutil.which("c++")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """All kernels in one library, each under a name of its own."""
    if COMPILER is None:
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("kernels")
    kernel_of = {f"merge_{op}_{name}": kernels.merge(op, name) for op, name in PAIRS}
    kernel_of |= {f"finish_{op}_{name}": kernels.finish(op, name) for op, name in PAIRS}
    kernel_of |= {f"convert_{one}_{to}": kernels.convert(one, to) for one, to in CONVERSIONS}
    source = [SHIM, PRELUDE]
    for name, code in kernel_of.items():
        if code is not None:
            kernel = code.removeprefix(PRELUDE)
            source.append(re.sub(r"void \w+\(", f"void {name}(", kernel))
    (folder / "kernels.cpp").write_text("\n".join(source))
    command = [COMPILER, "-O1", "-ffp-contract=off", "-fno-strict-aliasing", "-shared", "-fPIC"]
    # As a device does, what is built faults where it loads from a wrong address.
    command += ["-fsanitize=alignment", "-fsanitize-undefined-trap-on-error"]
    subprocess.run([*command, "-o", folder / "kernels.so", folder / "kernels.cpp"], check=True,
                   capture_output=True, timeout=120)  # fmt: skip
    return ctypes.CDLL(folder / "kernels.so")


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def assert_same_bits(found, wanted):
    same = same_bits(found, wanted)
    assert found.dtype == wanted.dtype
    assert same.all(), (found[~same][:3], wanted[~same][:3])


def placed(array, offset):
    """A copy that lies so many bytes behind a multiple of sixteen."""
    octets = np.empty(array.nbytes + 32, np.uint8)
    start = -octets.ctypes.data % 16 + offset
    found = octets[start : start + array.nbytes].view(array.dtype)
    found[:] = array
    return found


@pytest.mark.parametrize(("op", "name"), PAIRS)
def test_a_merge_is_the_hosts(op, name, library):
    """In place, as the executor merges: in packs and the few that are left, and one by one where
    an address is no multiple of sixteen."""
    dtype = dtype_named(name)
    left, right = (values(dtype, seed)[:-1] for seed in (1, 2))
    wanted, off = np.empty_like(left), dtype.alignment
    OPERATORS[op].merge(left, right, wanted)
    run = library[f"merge_{op}_{name}"]
    for offsets in ((0, 0), (off, 0), (0, off)):
        found, other = placed(left, offsets[0]), placed(right, offsets[1])
        run(pointer(found), pointer(other), pointer(found), ctypes.c_longlong(left.size))
        assert_same_bits(found, wanted)


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5])
@pytest.mark.parametrize("offsets", [(0, 0, 0), (4, 0, 0), (0, 4, 0), (0, 0, 4)])
def test_a_merge_writes_so_many_elements_and_no_more(count, offsets, library):
    left, right, out = (placed(np.arange(8, dtype="f4"), offset) for offset in offsets)
    run = library["merge_sum_float32"]
    run(*map(pointer, (left, right, out)), ctypes.c_longlong(count))
    assert list(out) == [2 * n if n < count else n for n in range(8)]


@pytest.mark.parametrize(("op", "name"), [p for p in PAIRS if kernels.finish(*p)])
def test_what_is_done_last_is_the_hosts(op, name, library):
    found = values(dtype_named(name), 3)
    for size in (1, 3, 1000):
        wanted = found.copy()
        OPERATORS[op].last(wanted, size)
        run = library[f"finish_{op}_{name}"]
        run(pointer(found), ctypes.c_int(size), ctypes.c_longlong(found.size))
        assert_same_bits(found, wanted)


def test_those_without_a_last_step_have_none():
    assert {op for op, name in PAIRS if kernels.finish(op, name) is None} == {
        op.name for op in OPERATORS.values() if op.last is None
    }


@pytest.mark.parametrize(("one", "to"), CONVERSIONS)
def test_a_conversion_is_the_hosts(one, to, library):
    source = values(dtype_named(one), 4)
    with np.errstate(all="ignore"):
        wanted = source.astype(dtype_named(to))
    found = np.empty_like(wanted)
    run = library[f"convert_{one}_{to}"]
    run(pointer(source), pointer(found), ctypes.c_longlong(source.size))
    assert_same_bits(found, wanted)


def test_halves_are_rounded_once(library):
    """1 + 2^-11 + 2^-40 lies above the middle between two halves, and as a float on it."""
    source = np.array([1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11])
    found = np.empty(2, np.float16)
    library.convert_float64_float16(pointer(source), pointer(found), ctypes.c_longlong(2))
    assert list(found) == [1 + 2.0**-10, 1]


@pytest.mark.parametrize("dtype", [np.longdouble, ml_dtypes.float8_e4m3fn, np.dtype("S3")])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(ValueError, match=f"{np.dtype(dtype).name} has no kernels on the device"):
        kernels.require(np.dtype(dtype))


def test_fused_multiply_add_is_off():
    """It would round a * b - c * d otherwise; the host's product is of rounded parts."""
    assert "--fmad=false" in kernels.OPTIONS


def test_subnormals_are_kept():
    assert "--ftz=false" in kernels.OPTIONS


@pytest.mark.parametrize("zero", [False, True])
def test_what_check_says_of_bits(zero, monkeypatch):
    """Of kernels that are the host's own; and of one that takes subnormals for zeros."""
    runtime = LateRuntime()
    if zero:
        merge = OPERATORS["sum"].merge

        def flushed(left, right, out):
            merge(left, right, out)
            out[np.abs(out) < np.finfo(out.dtype).tiny] = 0

        monkeypatch.setattr(runtime, "merging", lambda *_: lambda left, right, out: flushed(
            left._held, right._held, out._held))  # fmt: skip
        monkeypatch.setattr(LateRuntime, "from_host", lambda _, array: LateArray(array.copy()))
    pairs = [("sum", "float32"), ("avg", "bfloat16")][: 1 if zero else 2]
    found = bits(lambda rank: DeviceArrays(runtime, 0), pairs, [("float32", "float64")])
    assert found["ran"] == len(pairs) + 1
    assert found["right"] != zero
    assert [each.split(":")[0] for each in found["wrong"]] == ["sum of float32"] * zero
