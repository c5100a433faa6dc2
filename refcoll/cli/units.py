"""Sizes, rates, times and node shapes as people write them."""

from __future__ import annotations

import re
from fractions import Fraction

from refcoll.errors import ArgumentError
from refcoll.topology import Topology, node_shape, topology

_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {f"{prefix}i": 1024**power for power, prefix in enumerate("KMGT", 1)}
_PREFIXES = {**_DECIMAL, "K": 10**3, **_BINARY}
_SECONDS = {"ns": 10**-9, "us": 10**-6, "µs": 10**-6, "ms": 10**-3, "s": 1.0}
_DIGITS = 2


def _split(text: str, name: str) -> tuple[Fraction, str]:
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?(?:e[-+]?([0-9]+))?)\s*([a-zA-Zµ/]*)\s*", text)
    if match is None:
        raise ArgumentError(f"{name}={text!r} is not a number with a unit, such as 3us or 14GB")
    if len(match[2] or "") > _DIGITS:  # 1e999999999 would take for ever to be written out
        raise ArgumentError(f"{name}={text!r}: use an exponent of at most {_DIGITS} digits")
    return Fraction(match[1]), match[3]


def nbytes(text: str, name: str = "size") -> int:
    """Bytes from "14GB", "25MiB", "1000"; decimal prefixes are powers of 1000."""
    value, unit = _split(text, name)
    prefix = unit.removesuffix("B")
    if prefix not in _PREFIXES or unit.endswith("b"):
        raise ArgumentError(f"{name}={text!r}: use B, kB, MB, GB, TB or KiB, MiB, GiB, TiB")
    whole = value * _PREFIXES[prefix]
    if whole.denominator != 1:
        raise ArgumentError(f"{name}={text!r} is not a whole number of bytes")
    return int(whole)


def sizes_from(text: str) -> list[int]:
    """Bytes from "256:16MB", each four times the one before, or from "1kB,1MB"."""
    if ":" not in text:
        return [nbytes(each, "sizes") for each in text.split(",")]
    first, _, last = text.partition(":")
    sizes, end = [nbytes(first, "sizes")], nbytes(last, "sizes")
    if not 1 <= sizes[0] <= end:
        raise ArgumentError(f"sizes={text!r} must go from at least 1 byte to as many or more")
    while sizes[-1] * 4 <= end:
        sizes.append(sizes[-1] * 4)
    return sizes


def bytes_per_second(text: str, name: str = "bandwidth") -> float:
    """Bytes per second from "450GB/s"; "Gb/s" and "Gbit/s" are bits."""
    value, unit = _split(text, name)
    match = re.fullmatch(r"([kKMGT]i?)?(B|b|bit)/s", unit)
    if match is None:
        raise ArgumentError(f"{name}={text!r}: use bytes per second, such as 450GB/s or 400Gb/s")
    per_byte = 1 if match[2] == "B" else 8
    return float(value * _PREFIXES[match[1] or ""] / per_byte)


def seconds(text: str, name: str = "latency") -> float:
    """Seconds from "3us", "0.5ms", "2s"."""
    value, unit = _split(text, name)
    if unit not in _SECONDS:
        raise ArgumentError(f"{name}={text!r}: use ns, us, ms or s")
    return float(value) * _SECONDS[unit]


def nodes(text: str | None, size: int | None = None) -> Topology | None:
    """A topology: "4x8" is 4 nodes of 8 ranks, "4,4,3" nodes of 4, 4 and 3, "2x4x8" 2
    switches of 4 nodes of 8, "4,4/4,3" nodes of 4, 4 on one switch and of 4, 3 on another."""
    if text is None:
        return None
    if match := re.fullmatch(r"(?:([1-9]\d*)x)?([1-9]\d*)x([1-9]\d*)", text):
        on_node, on_switch, switches = int(match[3]), int(match[2]), int(match[1] or 1)
        require_few(on_node * on_switch * switches)
        shape = [[on_node] * on_switch] * switches
    elif re.fullmatch(r"[1-9]\d*([,/][1-9]\d*)*", text):
        shape = [[int(each) for each in part.split(",")] for part in text.split("/")]
    else:
        raise ArgumentError(
            f"nodes={text!r}: use 4x8 for 4 nodes of 8 ranks, 2x4x8 for 2 switches of those, or "
            "4,4,3 and 4,4/4,3"
        )
    ranks = sum(sum(switch) for switch in shape)
    require_few(ranks)
    if size is not None and ranks != size:
        raise ArgumentError(f"nodes={text!r} holds {ranks} ranks, not {size}")
    flat = iter(node_shape([each for switch in shape for each in switch]))
    return topology([[next(flat) for _ in switch] for switch in shape], ranks)


_MOST = 65_536
"""Ranks that the tools take on."""


def require_few(ranks: int) -> None:
    """Raise ArgumentError for more ranks than the tools can play."""
    if ranks > _MOST:
        raise ArgumentError(f"ranks={ranks} are too many to play: use at most {_MOST}")


def said_bytes(value: float) -> str:
    """ "24.5 GB": four significant digits, decimal prefixes.

    >>> said_bytes(24_500_000_000), said_bytes(12)
    ('24.5 GB', '12 B')
    """
    for prefix, unit in reversed(_DECIMAL.items()):
        if value >= unit and prefix:
            return f"{value / unit:.4g} {prefix}B"
    return f"{value:.4g} B"
