"""Kernels, compiled once in a process, when a plan is made.

At its first launch, where CuPy would compile it, other ranks would wait for that.  Nor is
CuPy's RawKernel asked: it compiles with -ftz=true, whatever it is given, and then subnormal
floats are zeros.
"""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

from refcoll_cupy.kernels import OPTIONS

_THREADS, _BLOCKS = 256, 4096
"""Threads of a block, and blocks at most: a kernel goes on until all elements are done."""
_one_at_a_time = Lock()
"""Ranks that are threads ask for the same at once."""


class Kernel:
    """One that takes ``arguments`` and a number of elements."""

    def __init__(self, cupy: Any, code: str, name: str) -> None:
        """For the current device."""
        with _one_at_a_time:
            self._launch = _compiled(cupy.cuda, code, name, cupy.cuda.runtime.getDevice())

    def __call__(self, count: int, *arguments: Any) -> None:
        """Queue it on the current stream."""
        if count:
            blocks = min(_BLOCKS, -(-count // _THREADS))
            self._launch((blocks,), (_THREADS,), (*arguments, np.int64(count)))


@lru_cache(maxsize=512)
def _compiled(cuda: Any, code: str, name: str, device: int) -> Any:
    """``device`` is what it is compiled for: CuPy asks which is current."""
    binary, _ = cuda.compiler.compile_using_nvrtc(code, options=OPTIONS)
    module = cuda.Module()
    module.load(binary)
    return module.get_function(name)
