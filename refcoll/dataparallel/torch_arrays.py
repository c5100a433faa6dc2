"""torch tensors on the CPU as numpy arrays of the same memory."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from refcoll.errors import ArgumentError
from refcoll.operators import Array


def torch() -> Any:
    """The module.  Raises ArgumentError where it is missing."""
    try:
        return import_module("torch")
    except ImportError as error:
        raise ArgumentError(f"this needs torch: {error}; pip install 'refcoll[torch]'") from error


def as_array(tensor: Any) -> Array:
    """The tensor's elements, shared with it.  bfloat16 becomes ml_dtypes' type of that name.

    Raises ArgumentError for a tensor that is not dense, or not on the CPU.
    """
    kind = torch()
    if tensor.layout is not kind.strided or tensor.device.type != "cpu":
        raise ArgumentError(
            f"a tensor with layout {tensor.layout} on {tensor.device} has no numpy array: use "
            "dense tensors on the CPU"
        )
    plain = tensor.detach()
    if tensor.dtype is not kind.bfloat16:
        shared: Array = plain.numpy()
        return shared
    import ml_dtypes

    bits: Array = plain.view(kind.int16).numpy()
    return bits.view(ml_dtypes.bfloat16)
