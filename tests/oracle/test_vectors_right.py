"""What vectors call right: by other means than theirs, and by refcoll's own collectives."""

import json
from fractions import Fraction
from itertools import product

import ml_dtypes
import numpy as np
import pytest

from refcoll.oracle.truth import truth
from refcoll.oracle.vectors.encoding import decoded
from refcoll.oracle.vectors.reading import read
from refcoll.oracle.vectors.writing import COLLECTIVES
from refcoll.testing.values import dtype_named
from vectors_run import everything, files, run_own


@pytest.mark.parametrize(
    ("size", "in_place"),
    [
        (2, False),
        (3, True),
        *(pytest.param(*each, marks=pytest.mark.long)
          for each in [(2, True), (3, False), (4, False), (4, True), (7, False), (7, True)]),
    ],
)  # fmt: skip
def test_refcoll_holds(folder, size, in_place):
    vectors = [each for name in COLLECTIVES for each in read(folder / f"{name}-n{size}.json")]
    ran = run_own(vectors, size, in_place)
    assert len(ran) > 200
    assert [(each.id, said) for each, outputs in ran if (said := each.problems(outputs))] == []


def bounded(folder):
    """Of real dtypes: vector, dtype, result, and the columns that are merged into it."""
    for each in everything(folder):
        it = each.record
        if it["rules"]["compare"] != "interval" or it["dtype"].startswith("complex"):
            continue
        inputs = [[Fraction(float.fromhex(x)) for x in rank["values"]] for rank in it["inputs"]]
        for result in it["results"]:
            rank, count = result["ranks"][0], it["count"]
            first = {"scan": rank + 1, "exscan": rank}.get(it["collective"], it["ranks"])
            at = rank * count if it["collective"] == "reduce_scatter" else 0
            rows = [row[at : at + count] for row in inputs[:first]]
            yield each, dtype_named(it["dtype"]), result, list(zip(*rows, strict=True))


def test_bounds_and_ends_follow_from_rational_arithmetic(folder):
    seen = 0
    for each, dtype, result, columns in bounded(folder):
        for i, xs in enumerate(columns):
            exact = Fraction(result["rational"][i])
            low, high, value, bound = (
                Fraction(float.fromhex(result[key][i]))
                for key in ("low", "high", "values", "bound")
            )
            assert exact == exactly(each.record["operator"], xs)
            assert bound >= bound_of(each.record["operator"], xs, dtype)
            assert abs(float(bound) - float(bound_of(each.record["operator"], xs, dtype))) <= (
                2**-50 * float(bound)
            )
            assert exact - bound <= low <= value <= high <= exact + bound
            for end, outwards in ((low, -np.inf), (high, np.inf)):
                beyond = Fraction(neighbour(end, dtype, outwards))
                assert not exact - bound <= beyond <= exact + bound
            others = [Fraction(neighbour(value, dtype, to)) for to in (-np.inf, np.inf)]
            assert abs(value - exact) <= min(abs(other - exact) for other in others)
            seen += 1
    assert seen > 600


def exactly(op, xs):
    if op == "prod":
        return np.multiply.reduce(np.array(xs, object))
    return sum(xs) / (len(xs) if op == "avg" else 1)


def bound_of(op, xs, dtype):
    """As docs/vectors.md has it."""
    info, size = ml_dtypes.finfo(dtype), len(xs)
    u = Fraction(float(info.eps)) / 2
    if op == "avg":
        least = Fraction(float(info.smallest_subnormal))
        return ((1 + u) ** (size + 1) - 1) * sum(map(abs, xs)) / size + size * least
    scale = sum(map(abs, xs)) if op == "sum" else abs(exactly(op, xs))
    return ((1 + u) ** (size - 1) - 1) * scale


def neighbour(value, dtype, towards):
    one, other = (np.asarray(float(each)).astype(dtype) for each in (value, towards))
    return float(np.nextafter(one, other))


def test_the_ends_agree_with_the_oracle_that_judges_in_process(folder):
    for each, dtype, result, _ in bounded(folder):
        rank = result["ranks"][0]
        right = truth("rough", each.call(), each.inputs(), rank)
        for end in ("low", "high"):
            got = np.array([float.fromhex(x) for x in result[end]]).astype(dtype)
            if each.record["operator"] != "avg":  # whose bound allows for underflow besides
                assert not right.check(got).any(), each.id


def test_known_orders_are_what_their_expressions_give(folder):
    """Evaluated by Python, one element after another, rounding each sum to the dtype."""
    seen = set()
    for file in files(folder):
        content = json.loads(file.read_text())
        said = {(o["name"], rank): o["by_chunk"] for o in content["orders"] for rank in o["ranks"]}
        for it in content["vectors"]:
            for known in it.get("in_known_orders", ()):
                for name, rank in product(known["orders"], known["ranks"]):
                    wanted = decoded(known["values"], it["dtype"])
                    got = evaluated(said[name, rank], it, rank)
                    assert got.tobytes() == wanted.tobytes(), (it["id"], name)
                    seen.add((it["collective"], name))
    assert len(seen) == 16


def evaluated(by_chunk, it, rank):
    inputs = [decoded(each["values"], it["dtype"]) for each in it["inputs"]]
    at = rank * it["count"] if it["collective"] == "reduce_scatter" else 0
    cuts = np.array_split(np.arange(at, at + it["count"]), len(by_chunk))
    parts = [
        eval(said, {}, {f"x{r}": x[places] for r, x in enumerate(inputs)})
        for said, places in zip(by_chunk, cuts, strict=True)
    ]
    return np.concatenate(parts)


def test_what_is_near_overflow_does_not_overflow(folder):
    for each in everything(folder):
        if "NearOverflow" in each.flags:
            for result in each.record["results"]:
                assert "inf" not in "".join(result["values"])
        if "Overflow" in each.flags and each.record["collective"] == "all_reduce":
            assert set(each.record["results"][0]["values"]) == {"inf", "-inf"}


def test_strings_spell_their_order(folder):
    (four,) = [v for v in read(folder / "all_reduce-n4.json") if v.record["dtype"] == "string"]
    assert four.record["results"][0]["values"] == ["abcd", "bcde", "cdef", "defg", "efgh"]


def test_digits_name_the_ranks(folder):
    # 1 + 4 + 16 + 64 = 85, in base 4 each rank once: 1111.
    powers = [v for v in read(folder / "all_reduce-n4.json") if "RankDoubled" in v.flags]
    assert {float(x) for v in powers for x in decoded(*result_of(v))} == {85}
    assert len(powers) == 4


def result_of(vector):
    return vector.record["results"][0]["values"], vector.record["dtype"]


def test_nan_may_be_ignored_in_whole_and_not_in_part(folder):
    least, most = (lambda xs: min(xs, default=np.nan)), (lambda xs: max(xs, default=np.nan))
    for each in read(folder / "all_reduce-n3.json"):
        if "NaNInMinMax" not in each.flags:
            continue
        columns = np.stack(each.inputs()).astype(np.float64).T
        merge = {"min": least, "max": most}[each.record["operator"]]
        dtype = dtype_named(each.record["dtype"])
        ignored = np.array([merge([x for x in xs if x == x]) for xs in columns]).astype(dtype)
        kept = decoded(*result_of(each))
        mixed = np.where(np.arange(len(kept)) < len(kept) // 2, kept, ignored).astype(dtype)
        assert each.problems([ignored] * 3) == each.problems([kept] * 3) == []
        assert each.problems([mixed] * 3)


def test_what_is_beyond_an_end_is_wrong(folder):
    (each,) = [
        v for v in read(folder / "all_reduce-n3.json") if v.id.endswith("sum-float32-x4-rough")
    ]
    (result,) = each.record["results"]
    for end, outwards in (("low", -np.inf), ("high", np.inf)):
        at = decoded(result[end], "float32")
        beyond = np.nextafter(at, np.float32(outwards))
        assert not each.problems([at] * 3)
        assert each.problems([beyond] * 3)
