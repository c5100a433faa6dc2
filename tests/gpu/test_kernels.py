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

from refcoll.operators import OPERATORS, kind
from refcoll.testing.values import DTYPES, dtype_named
from refcoll_cupy import kernels
from refcoll_cupy.device_code import PRELUDE

SHIM = """
#define __global__
#define __device__
static struct { int x; } blockIdx, threadIdx, blockDim = {1}, gridDim = {1};
"""
PAIRS = [
    (op.name, name)
    for name in DTYPES
    for op in OPERATORS.values()
    if kind(dtype_named(name)) in op.kinds
]
CONVERSIONS = [
    (one, other)
    for one in DTYPES
    for other in DTYPES
    if one != other and kind(dtype_named(one)) == kind(dtype_named(other))
]
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


def values(dtype, seed):
    """Every bit pattern of 16 bits and fewer; of wider dtypes random ones, special ones too."""
    chance = np.random.default_rng(seed)
    if dtype == np.bool:
        return chance.integers(0, 2, 1000).astype(bool)
    raw = chance.integers(0, 256, 70_000 * dtype.itemsize, np.uint8).view(dtype)
    if dtype.itemsize <= 2:
        every = np.arange(1 << 8 * dtype.itemsize).astype(f"u{dtype.itemsize}").view(dtype)
        raw[: every.size] = chance.permutation(every)
    if kind(dtype) in "fc":
        with np.errstate(all="ignore"):
            usual = chance.normal(size=20_000) * 10.0 ** chance.integers(-6, 6, 20_000)
            special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 65504.0, 3.4e38, 6e-8]
            raw[:20_000], raw[-10_000:] = usual.astype(dtype), chance.choice(special, 10_000)
    return raw


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def assert_same_bits(found, wanted):
    """But for the payload of NaNs, and alike in both parts of complex numbers."""
    assert found.dtype == wanted.dtype
    parts = [(found.real, wanted.real), (found.imag, wanted.imag)]
    for one, other in parts if kind(found.dtype) == "c" else [(found, wanted)]:
        one, other = np.ascontiguousarray(one), np.ascontiguousarray(other)
        bits = f"u{one.dtype.itemsize}"
        same = one.view(bits) == other.view(bits)
        if kind(one.dtype) == "f":
            with np.errstate(all="ignore"):  # ml_dtypes warns of some NaNs that it looks at
                same |= np.isnan(one) & np.isnan(other)
        assert same.all(), (one[~same][:3], other[~same][:3])


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
