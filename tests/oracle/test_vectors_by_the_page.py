"""A reader that was written from docs/vectors.md alone: nothing of refcoll's, nor numpy, reads,
merges or compares here.  It holds if the page says all that a stranger has to know."""

import json
import math
import operator
import struct
from functools import partial, reduce

import pytest

COLLECTIVES = (
    "all_reduce", "reduce", "scan", "exscan", "reduce_scatter",
    "broadcast", "scatter", "gather", "all_gather", "all_to_all",
)  # fmt: skip

# ---- numbers -----------------------------------------------------------------------------


def number(said, dtype):
    if dtype == "string":
        return said
    if dtype == "matrix2x2":
        return tuple(map(int, said))
    if dtype.startswith("complex"):
        return complex(*map(float.fromhex, said))
    return float.fromhex(said) if "float" in dtype else int(said)


def from_bits(said, dtype):
    """Of a 16-bit float, by its sign, exponent and fraction."""
    if dtype == "bfloat16":
        return struct.unpack(">f", bytes.fromhex(said + "0000"))[0]
    raw = int(said, 16)
    sign, exponent, fraction = (-1) ** (raw >> 15), raw >> 10 & 31, raw & 1023
    if exponent == 31:
        return sign * (math.nan if fraction else math.inf)
    if exponent == 0:
        return sign * fraction / 1024 * 2.0**-14
    return sign * (1 + fraction / 1024) * 2.0 ** (exponent - 15)


def fits(value, dtype):
    """The number as the dtype has it: wrapped or rounded."""
    if dtype.startswith("complex"):
        half = "float32" if dtype == "complex64" else "float64"
        return complex(fits(value.real, half), fits(value.imag, half))
    if dtype.startswith("uint"):
        return value % 2 ** int(dtype[4:])
    if dtype.startswith("int"):
        most = 2 ** (int(dtype[3:]) - 1)
        assert -most <= value < most, "the page says that this does not happen"
    if dtype in ("float16", "float32"):
        code = {"float16": "e", "float32": "f"}[dtype]
        try:
            return struct.unpack(code, struct.pack(code, value))[0]
        except OverflowError:
            return math.copysign(math.inf, value)
    return as_bfloat16(value) if dtype == "bfloat16" else value


def as_bfloat16(value):
    if not math.isfinite(value):
        return value
    bits = int.from_bytes(struct.pack(">f", fits(value, "float32")))
    bits += 0x7FFF + (bits >> 16 & 1)  # to the nearest, ties to even
    return struct.unpack(">f", struct.pack(">I", bits & 0xFFFF0000))[0]


# ---- merging -----------------------------------------------------------------------------


def with_nan(choose, a, b):
    return math.nan if a != a or b != b else choose(a, b)


def truth(of, a, b):
    return int(of(bool(a), bool(b)))


def product(a, b):
    (p, q, r, s), (t, u, v, w) = a, b
    rows = (p * t + q * v, p * u + q * w, r * t + s * v, r * u + s * w)
    return tuple((x + 2**63) % 2**64 - 2**63 for x in rows)


MERGE = {
    "sum": operator.add, "avg": operator.add, "prod": operator.mul, "matmul": product,
    "min": partial(with_nan, min), "max": partial(with_nan, max), "concatenate": operator.add,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "logical_and": partial(truth, operator.and_), "logical_or": partial(truth, operator.or_),
    "logical_xor": partial(truth, operator.xor),
}  # fmt: skip


def merged(it, rows):
    """Element by element, the ranks in order."""

    def one(*column):
        if it["operator"].startswith("logical"):
            column = [int(bool(x)) for x in column]
        total = reduce(lambda a, b: fits(MERGE[it["operator"]](a, b), it["dtype"]), column)
        return fits(total / len(rows), it["dtype"]) if it["operator"] == "avg" else total

    return [one(*column) for column in zip(*rows, strict=True)]


def outcome(it, x):
    """By rank, as the table of layouts has it; None where a rank gets nothing."""
    n, root = it["count"], it["root"]
    ranks = range(it["ranks"])
    blocks = [[row[b * n : (b + 1) * n] for b in ranks] for row in x]
    joined = [element for row in x for element in row]
    return {
        "all_reduce": lambda r: merged(it, x),
        "reduce": lambda r: merged(it, x) if r == root else None,
        "scan": lambda r: merged(it, x[: r + 1]),
        "exscan": lambda r: merged(it, x[:r]) if r else None,
        "reduce_scatter": lambda r: merged(it, [row[r] for row in blocks]),
        "broadcast": lambda r: x[root],
        "scatter": lambda r: blocks[root][r],
        "gather": lambda r: joined if r == root else None,
        "all_gather": lambda r: joined,
        "all_to_all": lambda r: [element for row in blocks for element in row[r]],
    }[it["collective"]]


# ---- the rules ---------------------------------------------------------------------------


def same(one, other):
    if isinstance(one, complex):
        return same(one.real, other.real) and same(one.imag, other.imag)
    return one == other or (one != one and other != other)


def between(low, got, high):
    if isinstance(got, complex):
        parts = [(each.real, each.imag) for each in (low, got, high)]
        return all(a <= b <= c for a, b, c in zip(*parts, strict=True))
    return low <= got <= high


def holds(it, result, got):
    compare, columns = it["rules"]["compare"], {}
    for key in ("values", "values_ignoring_nan", "low", "high"):
        columns[key] = [number(each, it["dtype"]) for each in result.get(key, ())]
    if compare == "bits":
        return got == result["bits"]
    if compare == "interval":
        ends = zip(columns["low"], got, columns["high"], strict=True)
        return all(between(*each) for each in ends)
    whole = ["values", "values_ignoring_nan"] if compare == "either" else ["values"]
    return any(all(map(same, columns[key], got)) for key in whole)


@pytest.fixture(scope="module")
def contents(folder):
    """Of all files of a collective."""
    index = json.loads((folder / "index.json").read_text())

    def of(collective):
        for file in index["files"]:
            if file["collective"] == collective:
                yield file, json.loads((folder / file["json"]).read_text())["vectors"]

    return of


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_a_stranger_computes_what_is_right(contents, collective):
    for file, vectors in contents(collective):
        assert len(vectors) == file["vectors"] > 0
        for it in vectors:
            bits = it["rules"]["compare"] == "bits"
            x = [
                each["bits"] if bits else [number(said, it["dtype"]) for said in each["values"]]
                for each in it["inputs"]
            ]
            got = [outcome(it, x)(rank) for rank in range(it["ranks"])]
            told = {rank: each for each in it["results"] for rank in each["ranks"]}
            assert {r for r, each in enumerate(got) if each is not None} == set(told), it["id"]
            for rank, result in told.items():
                assert len(got[rank]) == len(result["bits" if bits else "values"]), it["id"]
                assert holds(it, result, got[rank]), (it["id"], rank)
                if got[rank] and isinstance(got[rank][0], int | float | complex):
                    wrong = [type(got[rank][0])(1e300), *got[rank][1:]]
                    assert not holds(it, result, wrong), (it["id"], rank)


def test_bits_of_16_bit_floats_are_their_values(contents):
    seen = 0
    for _, vectors in contents("all_reduce"):
        for it in vectors:
            for each in [*it["inputs"], *it["results"], *it.get("in_known_orders", ())]:
                if it["dtype"] in ("float16", "bfloat16"):
                    pairs = zip(each["bits"], each["values"], strict=True)
                    for bits, said in pairs:
                        assert same(from_bits(bits, it["dtype"]), float.fromhex(said))
                        seen += 1
    assert seen > 1000


# ---- words and lines ---------------------------------------------------------------------


def rows_of(words, *keys):
    """The next lines, of these keys, their lengths checked."""
    found = []
    for key in keys:
        said, length, *rest = next(words)
        assert (said, int(length)) == (key, len(rest))
        found.append(rest)
    return found


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_words_say_the_same(contents, folder, collective):
    for file, vectors in contents(collective):
        kept = [
            it for it in vectors if it["rules"]["compare"] != "either" and it["dtype"] != "string"
        ]
        for rank, name in enumerate(file["text"]):
            assert name == file["json"].replace(".json", f"-rank{rank}.txt")
            lines = (line.split() for line in (folder / name).read_text().splitlines())
            head = ["refcoll-vectors", "1", collective, file["ranks"], rank, len(kept)]
            assert next(lines) == [str(each) for each in head]
            for it in kept:
                assert next(lines) == header(it)
                assert rows_of(lines, "input", "low", "high") == rows_to_be(it, rank)
            assert next(lines, None) is None


def header(it):
    fields = ("id", "operator", "dtype", "count", "root")
    said = [str(it[key] if it[key] is not None else "-") for key in fields]
    return ["vector", *said, str(int(it["in_place"])), ",".join(it["flags"])]


def rows_to_be(it, rank):
    compare = it["rules"]["compare"]
    one = "bits" if compare == "bits" else "values"
    result = next((each for each in it["results"] if rank in each["ranks"]), {})
    ends = ("low", "high") if compare == "interval" else (one, one)
    columns = [it["inputs"][rank][one], *(result.get(end, []) for end in ends)]
    return [words_of(column) for column in columns]


def words_of(entries):
    lists = [each if isinstance(each, list) else [each] for each in entries]
    return [str(word) for each in lists for word in each]
