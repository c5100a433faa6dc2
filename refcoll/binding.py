"""Arguments that do not even fit a function's parameters: unknown, missing or too many.

Python's own TypeError would be raised on the rank that is wrong, and the others would wait
for it.  A call that all ranks make together is refused on all of them instead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from refcoll.errors import ArgumentError

F = TypeVar("F", bound=Callable[..., Any])


def told_to_all(method: F) -> F:
    """``method``, which all ranks call together: what does not fit goes to ``self._refuse``."""

    @wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except TypeError:
            wrong = misfit(method, (self, *args), kwargs)
            if wrong is None:  # it came from within
                raise
        return self._refuse(wrong, kwargs.get("check", True))

    return cast(F, call)


def misfit(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> ArgumentError | None:
    """What is wrong with the call, if its arguments do not fit the function's parameters."""
    from inspect import signature  # slow to load, and seldom needed

    accepts = signature(function)
    try:
        accepts.bind(*args, **kwargs)
    except TypeError as error:
        names = ", ".join(name for name in accepts.parameters if name != "self") or "no arguments"
        return ArgumentError(f"{function.__name__}: {error}; it takes {names}")
    return None
