"""A rank that stands for all: it can be added to and reduced modulo N, and nothing else."""

from __future__ import annotations

from typing import Any


class NotUniformError(Exception):
    """The schedule asks something else of its rank."""


class AnyRank:
    """Any rank, plus an offset modulo ``size``."""

    __slots__ = ("offset", "size")

    def __init__(self, offset: int, size: int) -> None:
        self.offset, self.size = offset, size

    def __add__(self, other: Any) -> AnyRank:
        if type(other) is not int:
            raise NotUniformError
        return AnyRank(self.offset + other, self.size)

    __radd__ = __add__

    def __sub__(self, other: Any) -> AnyRank:
        if type(other) is not int:
            raise NotUniformError
        return AnyRank(self.offset - other, self.size)

    def __mod__(self, other: Any) -> AnyRank:
        if other != self.size:
            raise NotUniformError
        return AnyRank(self.offset % self.size, self.size)

    def _refuse(self, *_: Any) -> Any:
        raise NotUniformError

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = __index__ = __int__ = __bool__ = __iter__ = _refuse
    __rsub__ = __mul__ = __rmul__ = __rmod__ = __neg__ = __invert__ = _refuse
    __floordiv__ = __truediv__ = __divmod__ = __pow__ = _refuse
    __xor__ = __rxor__ = __and__ = __rand__ = __or__ = __ror__ = _refuse
    __lshift__ = __rshift__ = __rlshift__ = __rrshift__ = _refuse
    __rfloordiv__ = __rtruediv__ = __rdivmod__ = __rpow__ = _refuse
