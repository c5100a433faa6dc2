"""More than 2 GiB over MPI."""

from __future__ import annotations

import pytest

from big_arrays import BIG, available_memory


@pytest.mark.long
@pytest.mark.parametrize(
    ("algorithm", "how"),
    [("ring", "shared"), ("ring", "empty"), ("ring", "off"), ("recursive_doubling", "off")],
)
def test_two_gibibytes_and_more(algorithm, how, program):
    if available_memory() < 6 * BIG:
        pytest.skip(f"needs {6 * BIG >> 30} GiB of free memory")
    run = program(2, "big.py", algorithm, how)
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout.count("right.") == 2
