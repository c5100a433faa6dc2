"""How numbers and errors are said."""

from __future__ import annotations

from collections.abc import Sequence

from refcoll.chunks import runs


def spans(numbers: Sequence[int], most: int | None = None) -> str:
    """Numbers in the order given, neighbours as a span; of more than ``most`` spans the first.

    >>> spans([0, 1, 2, 5])
    '0-2, 5'
    """
    said = [f"{first}-{end - 1}" if end > first + 1 else f"{first}" for first, end in runs(numbers)]
    cut = most is not None and len(said) > most
    return ", ".join([*said[:most], "..."] if cut else said)


def ranked(ranks: Sequence[int]) -> str:
    """As in "ranks 0-2, 5".

    >>> ranked([3]), ranked([0, 1, 2, 5])
    ('rank 3', 'ranks 0-2, 5')
    """
    return f"rank{'s' if len(ranks) > 1 else ''} {spans(ranks)}"


def counted(number: int, noun: str) -> str:
    """As in "1 call", or "2 calls".

    >>> counted(1, "call"), counted(0, "call")
    ('1 call', '0 calls')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def described(error: BaseException) -> str:
    """As in "ValueError: what it says"."""
    try:
        said = str(error)
    except Exception:  # others are to hear of it all the same
        said = ""
    return f"{type(error).__name__}{f': {said}' if said else ''}"


def said_seconds(value: float, digits: int = 4) -> str:
    """ "54.44 ms": so many significant digits.

    >>> said_seconds(0.0544444), said_seconds(3e-6)
    ('54.44 ms', '3 us')
    """
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= factor:
            return f"{value / factor:.{digits}g} {unit}"
    return f"{value / 1e-9:.{digits}g} ns"


def listed(names: Sequence[str], most: int = 5) -> str:
    """The first few names.

    >>> listed(["a", "b", "c"], 2)
    'a, b, ...'
    """
    return ", ".join([*names[:most], "..."] if len(names) > most else names)
