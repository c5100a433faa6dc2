"""Portable vectors: the files are as described, right by other means, and can be failed."""

import json
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from refcoll.errors import ArgumentError
from refcoll.oracle.vectors.encoding import bits, decoded, encoded, from_bits, hexadecimal
from refcoll.oracle.vectors.flags import FLAGS
from refcoll.oracle.vectors.reading import read
from refcoll.oracle.vectors.writing import COLLECTIVES, RANKS, schema, write_vectors
from refcoll.testing.values import dtype_named
from vectors_run import everything, files
from vectors_schema import violations

DOCS = Path(__file__).parents[2] / "docs"


def test_numbers_as_text():
    # C99's %a: 3 = 1.1b * 2, and the least double is 2^-1074.
    assert [hexadecimal(x) for x in (3.0, -0.5, 0.0, -0.0, float("-inf"))] == [
        "0x1.8p+1", "-0x1p-1", "0x0p+0", "-0x0p+0", "-inf",
    ]  # fmt: skip
    assert hexadecimal(2.0**-1074) == "0x0.0000000000001p-1022"
    # bfloat16 is the upper half of a float32: 1 is 3f800000.
    assert bits(np.array([1.0, -2.0], ml_dtypes.bfloat16)) == ["3f80", "c000"]
    assert bits(np.array([1.0], np.float16)) == ["3c00"]
    assert encoded(np.array([2**64 - 1], np.uint64), "uint64") == ["18446744073709551615"]
    assert encoded(np.array([1.5 - 2j], np.complex64), "complex64") == [["0x1.8p+0", "-0x1p+1"]]
    assert encoded(np.array([True, False]), "bool") == [1, 0]


@pytest.mark.parametrize("dtype", ["int8", "uint64", "bfloat16", "float16", "float64", "complex64"])
def test_text_loses_nothing(dtype):
    raw = np.random.default_rng(0).bytes(64 * dtype_named(dtype).itemsize)
    values = np.frombuffer(raw, dtype_named(dtype))
    assert from_bits(bits(values), dtype).tobytes() == raw
    with np.errstate(invalid="ignore"):
        again = decoded(encoded(values, dtype), dtype)
        assert np.array_equal(again, values, equal_nan=True)


def test_the_same_seed_gives_the_same_bytes(folder, tmp_path):
    write_vectors(tmp_path / "same")
    write_vectors(tmp_path / "other", [3], ["all_reduce"], seed=1)
    for file in folder.iterdir():
        assert (tmp_path / "same" / file.name).read_bytes() == file.read_bytes()
    other = tmp_path / "other" / "all_reduce-n3.json"
    assert other.read_bytes() != (folder / other.name).read_bytes()


def test_all_of_it_is_small(folder):
    assert sum(file.stat().st_size for file in folder.iterdir()) < 3e6
    assert len(files(folder)) == len(COLLECTIVES) * len(RANKS)


def test_files_follow_the_schema(folder):
    assert (folder / "vectors.schema.json").read_text() == schema()
    for file in files(folder):
        assert violations(json.loads(file.read_text()), json.loads(schema())) == []


def test_ids_are_unique(folder):
    names = [each.id for each in everything(folder)]
    assert len(set(names)) == len(names)


def test_every_flag_is_hit_and_described(folder):
    found = {flag for each in everything(folder) for flag in each.flags}
    assert found == set(FLAGS)
    described = re.findall(r"^\| `([A-Z]\w+)` \|", (DOCS / "vectors.md").read_text(), re.M)
    assert described == list(FLAGS)
    index = json.loads((folder / "index.json").read_text())
    assert index["flags"] == FLAGS
    assert index["vectors"] == len(everything(folder))
    for each in index["files"]:
        inside = read(folder / each["json"])
        assert each["flags"] == sorted({flag for vector in inside for flag in vector.flags})


def test_the_page_shows_a_vector_that_there_is(folder):
    page = (DOCS / "vectors.md").read_text()
    (shown,) = re.findall(r"```json\n(.*?)```", page, re.S)
    known = {each.id: each.record for each in read(folder / "all_reduce-n3.json")}
    vector = json.loads(shown)
    assert vector == known[vector["id"]]
    # 277726430 + 593903095 - 273588901, and so on, as the page says.
    assert "must get 598040624 and 1570744218" in page
    assert vector["results"][0]["values"] == ["598040624", "1570744218"]
    assert f"{len(everything(folder)):,} vectors" in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"ranks": (0,)}, "ranks=0"),
        ({"ranks": (65,)}, "ranks=65 must be at most 64"),
        ({"collectives": ["nonsense"]}, "collective='nonsense' has no vectors"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_wrong_arguments(tmp_path, arguments, said):
    with pytest.raises(ArgumentError, match=re.escape(said)):
        write_vectors(tmp_path, **arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [1, 16])
def test_other_numbers_of_ranks(tmp_path, size):
    index = write_vectors(tmp_path, [size], ["all_reduce", "reduce_scatter", "scan"])
    assert index["vectors"] > 100


def test_what_is_not_a_file_of_vectors(tmp_path):
    for content in ("", "{}", '{"format":"refcoll-vectors","version":2,"vectors":[]}'):
        (tmp_path / "file.json").write_text(content)
        with pytest.raises(ArgumentError, match="vectors"):
            read(tmp_path / "file.json")
