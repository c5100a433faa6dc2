"""CuPy itself, with a stand-in for CUDA beneath it: what it is asked for, in which order.

It shows that refcoll_cupy and CuPy fit together, and nothing of a device.
"""

from __future__ import annotations

import pytest

pytest.importorskip("cupy", reason="cupy is not installed: pip install 'refcoll[cupy]'")


@pytest.mark.parametrize(
    ("ranks", "parts"),
    [
        (1, ["conformance", "two devices", "bits", "random", "race", "speed", "cupys", "foreign",
             "algorithms"]),
        (3, ["staged", "direct"]),
    ],
)  # fmt: skip
def test_the_parts_of_check_are_right_over_cupy_itself(ranks, parts, program):
    """Among threads of one process, and by MPI on two devices."""
    run = program(ranks, "over_cupy.py", *parts)
    assert run.returncode == 0, run.stderr
    assert [part for part in parts if f"right: {part}." not in run.stdout] == []
