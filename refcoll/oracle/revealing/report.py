"""What was revealed, in words, in drawings, and for machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from refcoll.oracle.revealing.naming import Name
from refcoll.oracle.revealing.orders import Orders, Stretch
from refcoll.oracle.revealing.prediction import Prediction
from refcoll.oracle.revealing.reveal import AtSize, Revelation
from refcoll.oracle.revealing.trees import drawn
from refcoll.words import counted, ranked, spans

_MOST_DRAWN = 8
_MOST_NAMED = 6


def verdict(found: Revelation) -> str:
    """All of it in one sentence."""
    first = found.at[0].call
    what = f"{found.implementation}: {first.collective} {first.dtype} on {found.size} ranks"
    return f"{'holds' if found.holds else 'FAILS'}: {what}: {_how(found)}"


def _how(found: Revelation) -> str:
    unstable = [each for each in found.at if each.unstable]
    if unstable:
        at = unstable[0]
        return f"with {_many(at.call.count)} the order depends on {' and '.join(at.unstable)}"
    treeless = [each for each in found.at if _without(each)]
    if treeless:
        at = treeless[0]
        return f"with {_many(at.call.count)} it adds in no fixed order: {_without(at)}"
    return "; ".join([_order(found), *_arithmetics(found), _predicted(found)])


def _without(at: AtSize) -> str | None:
    """Why some element has no tree."""
    every = (each for stretches in at.orders.values() for each in stretches)
    return next((each.said for each in every if each.tree is None), None)


def _order(found: Revelation) -> str:
    if found.size == 2:
        return "one order is possible on 2 ranks, and it is that one: no algorithm can be told"
    starts = [found.at[0].call.count, *(each.last + 1 for each in found.changes)]
    parts = []
    for start, end in zip(starts, [*(each.last for each in found.changes), None], strict=True):
        within = [each for each in found.at if end is None or each.call.count <= end]
        at = within[-1] if within else found.at[-1]
        where = f" from {_many(start)} on" if end is None else f" up to {_many(end)}"
        parts.append(_named(at.names) + (where if found.changes else ""))
    return ", then ".join(parts)


def _named(names: Sequence[Name]) -> str:
    """The plainest, in short, and how many of the others are no less so."""
    if not names:
        return "an order of no algorithm here"
    others = sum(each.agreement.moved == names[0].agreement.moved for each in names[1:])
    return f"{names[0].short}{f' (or {others} more)' if others else ''}"


def _arithmetics(found: Revelation) -> list[str]:
    return list(dict.fromkeys(each.arithmetic for each in found.at))


def _many(count: int) -> str:
    return counted(count, "element")


def _predicted(found: Revelation) -> str:
    right = sum(each.prediction.elements_right for each in found.at)
    elements = sum(each.prediction.elements for each in found.at)
    return f"{right} of {elements} elements predicted to the bit"


# ---- at length ---------------------------------------------------------------------------


def told(found: Revelation) -> Iterator[str]:
    """Lines, for people."""
    shown: list[Orders] = []
    for change in found.changes:
        yield f"the order changes between {change.last} and {change.last + 1} elements"
    for at in found.at:
        yield ""
        yield f"{_many(at.call.count)} ({at.calls} calls)"
        yield from _trees(at, shown)
        yield from (f"  {line}" for line in _facts(at, found.size))


def _trees(at: AtSize, shown: list[Orders]) -> Iterator[str]:
    if at.orders in shown:
        yield "  as above"
        return
    shown.append(at.orders)
    drawn_already: dict[Any, str] = {}
    groups: dict[tuple[Stretch, ...], list[int]] = {}
    for rank, stretches in at.orders.items():
        groups.setdefault(tuple(stretches), []).append(rank)
    for alike, ranks in groups.items():
        yield f"  result on {ranked(ranks)}:"
        for each in alike[:_MOST_DRAWN]:
            yield from (f"    {line}" for line in _stretch(each, drawn_already))
        if len(alike) > _MOST_DRAWN:
            yield f"    and {len(alike) - _MOST_DRAWN} more stretches"


def _stretch(each: Stretch, drawn_already: dict[Any, str]) -> Iterator[str]:
    noun = "element" if each.stop == each.start + 1 else "elements"
    where = f"{noun} {spans(range(each.start, each.stop))}"
    if each.tree is None:
        yield f"{where}: no tree: {each.said}"
    elif each.tree in drawn_already:
        yield f"{where}: {each.tree}, as in {drawn_already[each.tree]}"
    else:
        drawn_already[each.tree] = where
        yield f"{where}: {each.tree}"
        yield from (f"  {line}" for line in drawn(each.tree).splitlines())


def _facts(at: AtSize, size: int) -> Iterator[str]:
    yield from (f"depends on {each}" for each in at.unstable)
    if at.by_rank:
        yield "ranks sum the same elements in different orders: their results may differ"
    if at.by_element:
        yield "depends on the element"
    if size == 2:
        yield "names: on 2 ranks all algorithms add alike"
    else:
        yield from _all_named(at.names)
    yield f"precision: {at.arithmetic}"
    yield f"prediction: {said(at.prediction)}"
    yield from (f"  {each}" for each in at.prediction.mismatches)


def _all_named(names: Sequence[Name]) -> Iterator[str]:
    """The plainest, and some of the others."""
    if not names:
        yield "name: an order of no algorithm here"
    for each in names[:1]:
        yield f"name: {_at_length(each)}"
    if names[1:]:
        yield "also consistent:"
    yield from (f"  {_at_length(each)}" for each in names[1:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        yield f"  and {len(names) - _MOST_NAMED} more"


def _at_length(name: Name) -> str:
    known = "; ".join(f"{library}: {other}" for library, other in name.adds_alike.items())
    return f"{name.said}, {name.words}{f' [{known}]' if known else ''}"


def said(held: Prediction) -> str:
    """How often it held."""
    return (
        f"{held.elements_right} of {held.elements} elements, {held.vectors_right} of "
        f"{held.vectors} vectors, to the bit; in {held.telling} elements the exact sum, rounded, "
        "has other bits"
    )
