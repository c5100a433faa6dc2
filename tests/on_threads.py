"""Ranks on threads of this process, for the tests of the communicator."""

from __future__ import annotations

import numpy as np

import refcoll
from refcoll import TransportError, algorithms

TIMEOUT = 5
SIZES = [1, 2, 3, 5]


def spawn(size, body, *args, **options):
    return refcoll.spawn(size, body, *args, **{"timeout": TIMEOUT, **options})


def errors(body, timeout=0.4, size=4):
    """What ``body`` came to on every rank: a TransportError, or what it returned."""

    def one(comm):
        try:
            return body(comm)
        except TransportError as error:
            return error

    return refcoll.spawn(size, one, timeout=timeout)


def for_any_size(collective):
    """All that run on any number of ranks; the others are in tests/test_collectives.py."""
    found = [a for a in algorithms(collective) if not a.needs_helpers]
    return ["auto", *(a.name for a in found if a.sizes.said == "every N")]


def inputs(size, count=11):
    return np.arange(size * count).reshape(size, count) ** 2 % 101
