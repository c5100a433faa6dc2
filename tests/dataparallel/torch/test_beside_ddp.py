"""Beside PyTorch's DistributedDataParallel over Gloo, in real processes, on one model and data."""

import sys
from pathlib import Path

import pytest

from mpi_jobs import launch

pytest.importorskip(
    "torch",
    reason="needs torch: pip install torch==2.13.0 (a CPU build) and run pytest "
    "tests/dataparallel/torch",
)

PROGRAM = Path(__file__).parent / "programs" / "beside_ddp.py"


@pytest.mark.parametrize("size", [2, 3])
def test_gradients_buckets_and_the_hook(size):
    """Gradients of DDP, of DDP with refcoll as its hook, and of refcoll alone: within the
    rigorous bound, to the bit at two ranks and, at three, with the order that Gloo has."""
    done = launch(size, sys.executable, str(PROGRAM), str(size))
    assert (done.returncode, done.stdout.split()) == (0, ["held"]), done.stderr
