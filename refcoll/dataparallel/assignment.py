"""How gradients come together in buckets: what three libraries do, as pure functions.

Each takes tensors in the order in which the library considers them, and gives buckets in the
order in which it closes them.  No rule splits a tensor; tensors share a bucket only where dtype
and device agree.  The rules differ in when a bucket is closed.  Of 3, 2, 2, 4 and 1 MB with a
cap of 5 MB they make

    by_size           after the tensor with which it reaches the cap     3 2 | 2 4 | 1   (DDP)
    after_excess      after the tensor with which it exceeds the cap     3 2 2 | 4 1     (DeepSpeed)
    before_overflow   before the tensor with which it would exceed it    3 2 | 2 | 4 1   (ZeRO-1, 2)
    fused             when the next does not fit                         3 2 | 2 | 4 1   (Horovod)

The last two agree on tensors of one dtype (Horovod in bytes, ZeRO in elements).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from refcoll.dataparallel.tensors import Bucket, Tensor

Key: TypeAlias = tuple[np.dtype[Any], str]

REACHED, EXCEEDED, FULL = "cap reached", "cap exceeded", "the next did not fit"
LEFT, EVERYTHING = "nothing was left", "it holds everything"


def key(each: Tensor) -> Key:
    """What the tensors of a bucket have in common."""
    return each.dtype, each.device


class _Open:
    """A bucket that still takes tensors."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.count = self.nbytes = 0

    def add(self, each: Tensor) -> None:
        self.tensors.append(each)
        self.count += each.count
        self.nbytes += each.nbytes

    def closed(self, why: str, limit: int | None) -> Bucket:
        return Bucket(0, tuple(self.tensors), limit, why)


def by_size(tensors: Iterable[Tensor], caps_bytes: Sequence[int | None]) -> list[Bucket]:
    """PyTorch's ``compute_bucket_assignment_by_size``, given the order of arrival.

    A bucket is closed as soon as it holds as many bytes as its cap.  The caps come into force
    one after another, and the last one stays, for each dtype and device by itself; None never
    closes.  What is left over follows, the dtype that appeared last first: so libstdc++ walks
    the map in which PyTorch keeps it.  (On one device: with several, its hashes may collide.)
    """
    opened: dict[Key, _Open] = {}
    turn: Counter[Key] = Counter()

    def cap_of(which: Key) -> int | None:
        return caps_bytes[min(turn[which], len(caps_bytes) - 1)]

    done = []
    for each in tensors:
        mine, cap = opened.setdefault(key(each), _Open()), cap_of(key(each))
        mine.add(each)
        if cap is not None and mine.nbytes >= cap:
            done.append(mine.closed(REACHED, cap))
            opened[key(each)] = _Open()  # at its old place among the dtypes
            turn[key(each)] += 1
    for which, mine in reversed(opened.items()):
        if mine.tensors:
            cap = cap_of(which)
            done.append(mine.closed(EVERYTHING if cap is None else LEFT, cap))
    return done


def before_overflow(tensors: Iterable[Tensor], cap_elements: int) -> list[Bucket]:
    """ZeRO-1 and 2's ``reduce_bucket_size``: a tensor that is larger than it travels alone.

    What is left over follows in the order of the dtypes' names.
    """
    opened: dict[Key, _Open] = {}
    done = []
    for each in tensors:
        mine = opened.setdefault(key(each), _Open())
        if mine.tensors and mine.count + each.count > cap_elements:
            done.append(mine.closed(FULL, cap_elements * each.dtype.itemsize))
            mine = opened[key(each)] = _Open()
        mine.add(each)
    left = sorted(opened.items(), key=lambda item: (item[0][0].name, item[0][1]))
    return done + [mine.closed(LEFT, cap_elements * which[0].itemsize) for which, mine in left]


_DTYPES = ("float32", "float16", "bfloat16")
"""In the order in which DeepSpeed's accelerators name them; they reduce no other dtype."""


def after_excess(tensors: Iterable[Tensor], cap_elements: int) -> list[Bucket]:
    """DeepSpeed's ``allreduce_no_retain``: dtype by dtype; a bucket holds more than its cap.

    A bucket that holds exactly its cap stays open.
    """
    of_dtype: dict[Key, list[Tensor]] = {}
    for each in tensors:
        of_dtype.setdefault(key(each), []).append(each)
    done = []
    for dtype, device in sorted(of_dtype, key=lambda which: _place(which[0].name)):
        limit, mine = cap_elements * dtype.itemsize, _Open()
        for each in of_dtype[dtype, device]:
            mine.add(each)
            if mine.count > cap_elements:
                done.append(mine.closed(EXCEEDED, limit))
                mine = _Open()
        if mine.tensors:
            done.append(mine.closed(LEFT, limit))
    return done


def _place(dtype: str) -> int:
    return _DTYPES.index(dtype) if dtype in _DTYPES else len(_DTYPES)


def fused(ready: Sequence[Tensor], cap_bytes: int, multiple: int) -> list[Bucket]:
    """Horovod's ``FuseResponses``: the first that is ready, and those after it that fit.

    Every tensor counts with its bytes rounded up to a ``multiple``.  Tensors of another dtype
    or device are passed over, and stay first in line, as long as what is passed over would fit
    as well; a tensor that does not fit is the end.
    """
    waiting, done = deque(ready), []
    while waiting:
        first = waiting.popleft()
        group, passed = [first], deque[Tensor]()
        size, skipped = _rounded(first, multiple), 0
        while waiting:
            each, more = waiting[0], _rounded(waiting[0], multiple)
            if key(each) == key(first) and size + more <= cap_bytes:
                group.append(waiting.popleft())
                size += more
            elif size + skipped + more <= cap_bytes:
                passed.append(waiting.popleft())
                skipped += more
            else:
                break
        why = FULL if waiting else LEFT
        waiting = passed + waiting
        done.append(Bucket(0, tuple(group), cap_bytes, why))
    return done


def _rounded(each: Tensor, multiple: int) -> int:
    return -(-each.nbytes // multiple) * multiple
