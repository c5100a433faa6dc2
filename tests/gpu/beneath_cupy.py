"""Puts ``late_cuda`` beneath CuPy, in the place of CUDA.

CuPy's modules call its wrappers of CUDA by C pointers, which each of them takes when it is
imported.  ``install``, before that, puts others in their place; for good, so it is for a process
of its own.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable

from late_cuda import Driver, Runtime

_TYPES = {
    "int": ctypes.c_int, "unsigned int": ctypes.c_uint, "size_t": ctypes.c_size_t,
    "intptr_t": ctypes.c_ssize_t, "PyObject *": ctypes.py_object,
}  # fmt: skip
_pointer = ctypes.pythonapi.PyCapsule_SetPointer
_pointer.argtypes = [ctypes.py_object, ctypes.c_void_p]
_name = ctypes.pythonapi.PyCapsule_GetName
_name.argtypes, _name.restype = [ctypes.py_object], ctypes.c_char_p
_kept = []


def install():
    """From now on CuPy, which must not have been imported, has this in the place of CUDA."""
    from cupy_backends.cuda.api import driver, runtime
    from cupy_backends.cuda.libs import nvrtc

    calls = Runtime()
    for module, made in ((runtime, calls), (driver, Driver(calls))):
        for name in (each for each in dir(made) if not each.startswith("__")):
            if hasattr(module, name) or name in module.__pyx_capi__:
                _replace(module, name, getattr(made, name))
    nvrtc.getVersion = lambda: (12, 9)
    from cupy.cuda import compiler

    compiler._NVRTCProgram = Program
    compiler._get_nvrtc_version = nvrtc.getVersion
    compiler._get_arch_for_options_for_nvrtc = lambda arch=None: ("-arch=sm_90", "cubin")
    return calls


class Program:
    """What CuPy's compiler makes of a source: the same."""

    def __init__(self, source, *_, **__):
        self._source = source

    def compile(self, options, *_):
        assert [each for each in options if "ftz" in each] == ["--ftz=false"]
        return self._source.encode(), {}


def _replace(module, name, call):
    setattr(module, name, call)
    if name in module.__pyx_capi__:
        capsule = module.__pyx_capi__[name]
        result, arguments = re.match(r"(.*?) ?\((.*)\)", _name(capsule).decode()).groups()
        given = [each.strip() for each in arguments.split(",") if each != "void"]
        more = sum("__pyx_" in each for each in given)  # Cython's own, at the end
        types = [_TYPES.get(each, ctypes.c_void_p) for each in given[: len(given) - more]]
        types += [ctypes.c_int, ctypes.c_void_p][:more]
        made = ctypes.PYFUNCTYPE(_TYPES.get(result, ctypes.py_object), *types)(_without(call, more))
        _kept.append(made)
        assert _pointer(capsule, ctypes.cast(made, ctypes.c_void_p)) == 0


def _without(call: Callable, more: int) -> Callable:
    return lambda *given: call(*given[: len(given) - more])
