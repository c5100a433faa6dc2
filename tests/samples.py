"""Which algorithms, sizes and node shapes the tests go through."""

import inspect

import pytest

from refcoll import algorithms, node_shape
from refcoll.registry import CHECKED

SIZES = range(1, CHECKED + 1)
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


def through(sizes, among=None):
    """A test of (each, size) becomes one for each algorithm, which goes through the sizes.

    Thousands of tests of a millisecond each take pytest longer than they take themselves.
    """

    def decorated(test):
        def tested(each, **others):
            for size in sizes:
                if each.sizes.holds(size):
                    try:
                        test(each=each, size=size, **others)
                    except BaseException as error:
                        error.add_note(f"{named(each)} on {size} ranks")
                        raise

        signature = inspect.signature(test)
        kept = [value for key, value in signature.parameters.items() if key != "size"]
        tested.__signature__ = signature.replace(parameters=kept)
        tested.__name__, tested.__doc__ = test.__name__, test.__doc__
        tested.pytestmark = getattr(test, "pytestmark", [])
        chosen = algorithms() if among is None else among
        some = [each for each in chosen if any(map(each.sizes.holds, sizes))]
        return pytest.mark.parametrize("each", some, ids=named)(tested)

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
