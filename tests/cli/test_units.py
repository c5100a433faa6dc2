"""Sizes, rates, times and node shapes, read and written as people do."""

from __future__ import annotations

import pytest

from refcoll import ArgumentError
from refcoll.cli.units import bytes_per_second, nbytes, nodes, said_bytes, seconds
from refcoll.words import said_seconds


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), ("1000", 1000), ("12B", 12), ("1kB", 10**3), ("1KB", 10**3), ("1 MB", 10**6),
        ("14GB", 14 * 10**9), ("14G", 14 * 10**9), ("2TB", 2 * 10**12), ("1KiB", 2**10),
        ("25MiB", 25 * 2**20), ("1GiB", 2**30), ("1TiB", 2**40), ("1.5GB", 1_500_000_000),
        ("0.001kB", 1), ("2.5KiB", 2560), ("1e9", 10**9), (" 3 kB ", 3000),
        ("9007199254740993", 2**53 + 1), ("1.1TB", 1_100_000_000_000),
    ],
)  # fmt: skip
def test_bytes(text, value):
    assert nbytes(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "GB", "-1GB", "1Gb", "1GiBit", "1.5", "1.0001kB", "1XB", "1GB/s", "one", "1,5GB", "1 2"],
)
def test_what_is_no_number_of_bytes(text):
    with pytest.raises(ArgumentError) as caught:
        nbytes(text, "size")
    assert f"size={text!r}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("450GB/s", 450e9), ("400Gb/s", 50e9), ("400Gbit/s", 50e9), ("1GiB/s", 2.0**30),
        ("1Gib/s", 2.0**27), ("8b/s", 1.0), ("8B/s", 8.0), ("12.5 GB/s", 12.5e9),
        ("100Mbit/s", 12.5e6),
    ],
)  # fmt: skip
def test_bandwidths_in_bytes_and_bits(text, value):
    assert bytes_per_second(text) == value


@pytest.mark.parametrize(
    "text",
    ["450", "450GB", "450GB/h", "GB/s", "-1GB/s", "1GB/s/s", "1GBps", "1GBbit/s", "1GBb/s", "1X/s"],
)
def test_what_is_no_bandwidth(text):
    with pytest.raises(ArgumentError) as caught:
        bytes_per_second(text)
    assert f"bandwidth={text!r}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [("3us", 3e-6), ("3µs", 3e-6), ("0.5ms", 5e-4), ("2s", 2), ("250 ns", 2.5e-7), ("0s", 0)],
)
def test_times(text, value):
    assert seconds(text) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("text", ["3", "us", "-3us", "3m", "3min", "3 u s", "three us"])
def test_what_is_no_time(text):
    with pytest.raises(ArgumentError) as caught:
        seconds(text)
    assert f"latency={text!r}" in str(caught.value)


@pytest.mark.parametrize("text", ["1e999999999GB", "1e-100ms", "1e400"])
def test_what_would_take_for_ever_to_be_written_out(text):
    for read in (nbytes, seconds, bytes_per_second):
        with pytest.raises(ArgumentError, match=f"='{text}': use an exponent of at most 2 digits"):
            read(text)
    assert nbytes("1e12") == 10**12
    assert seconds("25e-3ms") == pytest.approx(25e-6)


def test_node_shapes():
    assert nodes(None, 5) is None
    assert nodes("2x3", 6).nodes == ((0, 1, 2), (3, 4, 5))
    assert nodes("3,1,2", 6).nodes == ((0, 1, 2), (3,), (4, 5))
    assert nodes("4", 4).nodes == ((0, 1, 2, 3),)
    assert nodes("1x1", 1).nodes == ((0,),)
    assert nodes("2x3", 6).switches == ((0, 1),)


def test_node_shapes_on_switches():
    two = nodes("2x3x1", 6)
    assert two.nodes == ((0,), (1,), (2,), (3,), (4,), (5,))
    assert two.switches == ((0, 1, 2), (3, 4, 5))
    uneven = nodes("2,1/3")
    assert uneven.nodes == ((0, 1), (2,), (3, 4, 5))
    assert uneven.switches == ((0, 1), (2,))


@pytest.mark.parametrize(
    "text", ["", "0x4", "2x", "x2", "4,0", "4,,2", "-4", "2x3x1x1", "a", "4/", "2x2/2", "0x2x2"]
)
def test_what_is_no_node_shape(text):
    with pytest.raises(ArgumentError, match="use 4x8"):
        nodes(text, 4)


def test_a_node_shape_holds_all_ranks():
    with pytest.raises(ArgumentError, match="nodes='4x8' holds 32 ranks, not 8"):
        nodes("4x8", 8)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0 B"), (12, "12 B"), (999, "999 B"), (1000, "1 kB"), (24_500_000_000, "24.5 GB"),
        (1.5e12, "1.5 TB"), (123_456_789, "123.5 MB"), (0.5, "0.5 B"), (12_345.678, "12.35 kB"),
    ],
)  # fmt: skip
def test_bytes_in_words(value, said):
    assert said_bytes(value) == said


@pytest.mark.parametrize("value", [999_999, 999_999_999, 9_999_600])
def test_bytes_in_words_have_four_digits_at_most(value):
    """Rounding may carry into the next prefix; either way, no exponents."""
    assert "e" not in said_bytes(value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0 ns"), (2.5e-7, "250 ns"), (3e-6, "3 us"), (0.0544864, "54.49 ms"), (0.49, "490 ms"),
        (1, "1 s"), (75.25, "75.25 s"),
    ],
)  # fmt: skip
def test_times_in_words(value, said):
    assert said_seconds(value) == said
