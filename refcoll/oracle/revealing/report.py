"""What was revealed, in words, in drawings, and for machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from refcoll.oracle.revealing.naming import HOW, Name
from refcoll.oracle.revealing.orders import Orders, Stretch
from refcoll.oracle.revealing.prediction import Prediction
from refcoll.oracle.revealing.reveal import AtSize, Revelation
from refcoll.oracle.revealing.trees import drawn
from refcoll.words import ranked, spans

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
        return f"with {at.call.count} elements the order depends on {' and '.join(at.unstable)}"
    treeless = [each for each in found.at if _without(each)]
    if treeless:
        at = treeless[0]
        return f"with {at.call.count} elements it adds in no fixed order: {_without(at)}"
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
        where = f" from {start} elements on" if end is None else f" up to {end} elements"
        parts.append(_named(at.names) + (where if found.changes else ""))
    return ", then ".join(parts)


def _named(names: Sequence[Name]) -> str:
    """The best of them, in short."""
    if not names:
        return "an order of no algorithm here"
    best = [each for each in names if each.how == names[0].how]
    said = " or ".join(each.said.partition(" (")[0] for each in best[:3])
    more = f" or {len(best) - 3} more" if len(best) > 3 else ""
    how = names[0].how
    return f"{said}{more}{'' if how == HOW[0] else f' {how}'}"


def _arithmetics(found: Revelation) -> list[str]:
    return list(dict.fromkeys(each.arithmetic for each in found.at))


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
        yield f"{at.call.count} elements ({at.calls} calls)"
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
    many = "element" if each.stop == each.start + 1 else "elements"
    where = f"{many} {spans(range(each.start, each.stop))}"
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
    """Those that agree as they are; the others only if there are none."""
    chosen = [each for each in names if each.how in HOW[:2]] or list(names)
    if not chosen:
        yield "names: no algorithm here adds in this order"
    for each in chosen[:_MOST_NAMED]:
        yield f"name: {each.said}, {each.how}{_relabelled(each)}{_known(each)}"
    if len(names) > len(chosen[:_MOST_NAMED]):
        yield f"and {len(names) - len(chosen[:_MOST_NAMED])} more, some with ranks relabelled"


def _relabelled(name: Name) -> str:
    return f": ranks {', '.join(map(str, name.relabelled))}" if name.relabelled else ""


def _known(name: Name) -> str:
    known = "; ".join(f"{library}: {other}" for library, other in name.also_known_as.items())
    return f" [{known}]" if known else ""


def said(held: Prediction) -> str:
    """How often it held."""
    return (
        f"{held.elements_right} of {held.elements} elements, {held.vectors_right} of "
        f"{held.vectors} vectors, to the bit; in {held.telling} elements the exact sum, rounded, "
        "has other bits"
    )
