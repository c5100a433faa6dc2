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


def as_array(tensor: Any, name: str = "tensor") -> Array:
    """The tensor's elements, shared with it.  bfloat16 becomes ml_dtypes' type of that name.

    Raises ArgumentError, with what the tensor is called, where it is not dense or not on the CPU.
    """
    kind = torch()
    if tensor.device.type != "cpu":
        raise ArgumentError(f"{name} is on {tensor.device}; move the module to the CPU: .cpu()")
    if tensor.layout is not kind.strided:
        raise ArgumentError(
            f"{name} is sparse ({tensor.layout}); only dense tensors are reduced: leave "
            "sparse=True out of the layer, or make it dense with .to_dense()"
        )
    plain = tensor.detach()
    if tensor.dtype is not kind.bfloat16:
        shared: Array = plain.numpy()
        return shared
    import ml_dtypes

    bits: Array = plain.view(kind.int16).numpy()
    return bits.view(ml_dtypes.bfloat16)
