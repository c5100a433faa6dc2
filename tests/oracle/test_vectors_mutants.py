"""Faulty functions, each of which the vectors must find, by a vector that is flagged for it."""

import functools

import numpy as np
import pytest

from refcoll.oracle.vectors.ordered import IN_RANK_ORDER
from refcoll.oracle.vectors.reading import read
from refcoll.oracle.vectors.writing import write_vectors

MERGE = {
    "sum": np.add, "avg": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
    **IN_RANK_ORDER,
}  # fmt: skip


def right(it, inputs, merge=None):
    """All-reduce, one rank after another, in the dtype."""
    merge = merge or MERGE[it["operator"]]
    dtype = inputs[0].dtype
    total = inputs[0]
    if it["operator"].startswith("logical"):
        total = total != 0
    for each in inputs[1:]:
        total = merge(total, each)
    total = np.asarray(total).astype(dtype) if dtype.kind != "U" else total
    if it["operator"] == "avg":
        total = (total / np.asarray(len(inputs), total.real.dtype)).astype(dtype)
    return [total.copy() for _ in inputs]


def altered(change):
    """Of a fault that changes a right result, on all ranks."""

    def fault(it, inputs):
        return [change(it, inputs, each) for each in right(it, inputs)]

    return fault


def forgets_last_rank_in_last_chunk(it, inputs, total):
    last = len(total) // len(inputs)
    if last and len(inputs) > 1:
        total[-last:] = right(it, inputs[:-1])[0][-last:]
    return total


def ignores_tail(it, inputs, total):
    kept = len(total) - len(total) % len(inputs)
    total[kept:] = inputs[0][kept:]
    return total


def nothing_below_one_element_a_rank(it, inputs, total):
    return inputs[0].copy() if 0 < len(total) < len(inputs) else total


def narrow(it, inputs, total):
    if total.dtype == np.float32:
        total = (total.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    return total


def unrolled_by_four(it, inputs, total):
    if len(total) > 100:
        total[len(total) - len(total) % 4 :] = 0
    return total


def as_doubles(it, inputs, total):
    if total.dtype == np.int64 and total.ndim == 1:
        total = np.minimum(total.astype(np.float64), 2.0**62).astype(np.int64)
    return total


def flushed(it, inputs, total):
    if total.dtype.kind == "f" and total.dtype.itemsize > 2:
        total[np.abs(total) < np.finfo(total.dtype).tiny] = 0
    return total


def without_nan(it, inputs, total):
    if it["operator"] == "sum" and total.dtype.kind == "f":
        total = np.nan_to_num(total, nan=0, posinf=np.inf, neginf=-np.inf)
    return total


def saturating(it, inputs, total):
    if total.dtype.kind == "f" and total.dtype.itemsize > 2:
        total = np.clip(total, *(float(f(np.finfo(total.dtype).max)) for f in (np.negative, abs)))
    return total


def real_only(it, inputs, total):
    return total.real.astype(total.dtype) if total.dtype.kind == "c" else total


def never_divided(it, inputs, total):
    return right({**it, "operator": "sum"}, inputs)[0] if it["operator"] == "avg" else total


def rank_twice(it, inputs):
    return right(it, [*inputs, inputs[0]])[: len(inputs)]


def reversed_ranks(it, inputs):
    return right(it, inputs[::-1])


def signed(it, inputs):
    if inputs[0].dtype.kind == "u" and it["operator"] in ("min", "max"):
        views = [each.view(f"i{each.dtype.itemsize}") for each in inputs]
        return [each.view(inputs[0].dtype) for each in right(it, views)]
    return right(it, inputs)


def bitwise_for_logical(it, inputs):
    if it["operator"] == "logical_and" and inputs[0].dtype.kind in "iu":
        total = functools.reduce(np.bitwise_and, inputs)
        return [(total != 0).astype(total.dtype) for _ in inputs]
    return right(it, inputs)


def nan_by_order(it, inputs):
    rule = {"min": lambda a, b: np.where(a < b, a, b), "max": lambda a, b: np.where(a > b, a, b)}
    return right(it, inputs, rule.get(it["operator"]))


def unlike_by_a_bit(it, inputs):
    results = right(it, inputs)
    if it["rules"]["compare"] == "interval" and results[0].dtype == np.float64:
        results[-1] = np.nextafter(results[-1], float.fromhex(it["results"][0]["values"][0]))
    return results


def rotated(it, inputs, total):
    return np.roll(total, 1, axis=0)


def wraps_late(it, inputs, total):
    """Unsigned sums that saturate instead of wrapping."""
    if it["operator"] == "sum" and total.dtype.kind == "u":
        wide = functools.reduce(np.add, [each.astype(object) for each in inputs])
        total = np.array([min(int(x), np.iinfo(total.dtype).max) for x in wide], total.dtype)
    return total


FAULTS = {
    "RankMissing": altered(forgets_last_rank_in_last_chunk),
    "TailShorterThanRanks": altered(ignores_tail),
    "FewerThanRanks": altered(nothing_below_one_element_a_rank),
    "NarrowAccumulator": altered(narrow),
    "LoopTail": altered(unrolled_by_four),
    "IntegerBeyondDouble": altered(as_doubles),
    "Subnormal": altered(flushed),
    "NaNOnEachRank": altered(without_nan),
    "Overflow": altered(saturating),
    "ComplexParts": altered(real_only),
    "AverageByRanks": altered(never_divided),
    "RankDoubled": rank_twice,
    "NonCommutative": reversed_ranks,
    "UnsignedExtremes": signed,
    "LogicalOfNonBooleans": bitwise_for_logical,
    "NaNInMinMax": nan_by_order,
    "Cancellation": unlike_by_a_bit,
    "MisplacedChunk": altered(rotated),
    "WrapAround": altered(wraps_late),
}


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vectors")
    write_vectors(folder, (2, 3, 4, 7), ["all_reduce"])
    return {size: read(folder / f"all_reduce-n{size}.json") for size in (2, 3, 4, 7)}


def found(vectors, implementation):
    with np.errstate(all="ignore"):
        return [v for v in vectors if v.problems(implementation(v.record, v.inputs()))]


@pytest.mark.parametrize("size", [2, 3, 4, 7])
def test_what_is_right_is_not_accused(vectors, size):
    assert [each.id for each in found(vectors[size], right)] == []


@pytest.mark.parametrize("size", [3, 4])
@pytest.mark.parametrize("flag", FAULTS)
def test_a_fault_is_found_by_a_vector_with_its_flag(vectors, flag, size):
    assert any(flag in each.flags for each in found(vectors[size], FAULTS[flag]))
