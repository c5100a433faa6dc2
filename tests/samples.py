"""Which algorithms, sizes and node shapes the tests go through."""

import inspect
from contextlib import contextmanager
from itertools import product

import pytest
from hypothesis import given, settings

from refcoll import algorithms, node_shape
from refcoll.registry import CHECKED

SIZES = range(1, CHECKED + 1)
EVERY_DAY = (*range(1, 14), 16, 17, 24, 31, 32, 33, 64)
"""All small N, and those beside powers of two: whatever depends on whether N is odd, a power of
two, or how far above one, shows in these (a changed index does up to 8: tests/proofs has all of
them).  The others take minutes, and are run by `pytest -m long`."""
OTHER_DAYS = tuple(size for size in SIZES if size not in EVERY_DAY)
FLAT = [each for each in algorithms() if "nodes" not in each.options]
HIERARCHICAL = [each for each in algorithms() if "nodes" in each.options]
IN_RANK_ORDER = [
    (1,), (2,), (7,), (64,),  # one node
    (1, 1), (1,) * 5, (1,) * 16,  # one rank on each
    (2, 2), (4, 4, 4), (8,) * 8, (3,) * 7, (5, 5),  # equal
    (1, 2), (3, 1), (2, 3, 4), (5, 1, 1, 2), (8, 8, 7), (16, 15, 14), (6, 4, 3, 3, 2),
]  # fmt: skip
SHAPES = [
    *map(node_shape, IN_RANK_ORDER),
    # Ranks of a node that are not neighbours, and nodes and ranks in no order.
    ((0, 2, 4), (1, 3, 5)),
    tuple(tuple(range(k, 32, 8)) for k in range(8)),
    ((5, 0), (3,), (1, 4, 2)),
    ((8, 1, 6), (0, 7), (4, 3, 5, 2)),
]


ROOTED = [e for k in ("broadcast", "reduce", "scatter", "gather") for e in algorithms(k)]
VALUES = {"segments": (1, 3), "radix": (2, 3, 5), "shards": (1, 2, 7)}


def variants(each):
    """Keywords for ``program``: each value of each option that it takes."""
    found = [{key: value} for key in each.options if key in VALUES for value in VALUES[key]]
    return found or [{}]


def looped(**axes):
    """A test goes through all values of these arguments itself; a failure names its case.

    Thousands of tests of a millisecond each take pytest longer than they take themselves.
    """

    def decorated(test):
        def tested(**others):
            for values in product(*axes.values()):
                case = dict(zip(axes, values, strict=True))
                with noted(", ".join(f"{key}={value}" for key, value in case.items())):
                    test(**case, **others)

        return _in_place_of(test, tested, axes)

    return decorated


@contextmanager
def noted(case):
    """What fails here, says so of that case."""
    try:
        yield
    except BaseException as error:
        error.add_note(case)
        raise


def _in_place_of(test, tested, without):
    """``tested``, as pytest knows ``test``, but for the arguments ``without``."""
    signature = inspect.signature(test)
    kept = [value for key, value in signature.parameters.items() if key not in without]
    tested.__signature__ = signature.replace(parameters=kept)
    tested.__name__, tested.__doc__ = test.__name__, test.__doc__
    tested.pytestmark = getattr(test, "pytestmark", [])
    return tested


def through(sizes, among=None):
    """A test of (each, size) becomes one for each algorithm, which goes through the sizes."""

    def decorated(test):
        def tested(each, **others):
            for size in sizes:
                if each.sizes.holds(size):
                    with noted(f"{named(each)} on {size} ranks"):
                        test(each=each, size=size, **others)

        tested = _in_place_of(test, tested, ["size"])
        chosen = algorithms() if among is None else among
        some = [each for each in chosen if any(map(each.sizes.holds, sizes))]
        return pytest.mark.parametrize("each", some, ids=named)(tested)

    return decorated


def drawn(most, *strategies):
    """A test of what hypothesis draws: of ``most`` examples by `pytest -m long`, and of a third
    of them every day.  Each run draws others."""

    def decorated(test):
        def tested(examples):
            settings(max_examples=examples, deadline=None)(given(*strategies)(test))()

        tested.__name__, tested.__doc__ = test.__name__, test.__doc__
        often = [most // 3, pytest.param(most, marks=pytest.mark.long)]
        return pytest.mark.parametrize("examples", often)(tested)

    return decorated


def switched(nodes):
    """The nodes on switches: on one each, in halves, and the first alone."""
    if len(nodes) > 1:
        middle = (len(nodes) + 1) // 2
        yield [[node] for node in nodes]
        yield [nodes[:middle], nodes[middle:]]
        yield [nodes[:1], nodes[1:]]


def named(each):
    return f"{each.collective}-{each.name}"


def sizes_of(nodes):
    return "+".join(str(len(node)) for node in nodes)
