"""PowerSGD beside PyTorch's own hook, on the same matrices from the same start."""

from __future__ import annotations

import numpy as np
import pytest

from reducing import bucket_of, reduced, steps_of
from refcoll.dataparallel.low_rank import LowRank
from refcoll.dataparallel.orthonormal import orthonormalise
from refcoll.dataparallel.powersgd import PowerSGD

try:
    import torch
    import torch.distributed as dist
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as theirs
except ImportError:
    pytest.skip(
        "needs torch: pip install torch==2.13.0 (a CPU build) and run pytest "
        "tests/dataparallel/torch",
        allow_module_level=True,
    )

SHAPES = [(20, 30), (25, 12)]


class Bucket:
    """What the hook asks of a GradBucket, of which Python can make none."""

    def __init__(self, flat):
        self.flat = torch.tensor(flat)

    def index(self):
        return 0

    def is_last(self):
        return True

    def buffer(self):
        return self.flat

    def gradients(self):
        parts = torch.split(self.flat, [n * m for n, m in SHAPES])
        return [part.view(shape) for part, shape in zip(parts, SHAPES, strict=True)]


@pytest.fixture
def group(tmp_path):
    store = f"file://{tmp_path / 'store'}"
    dist.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    yield dist.group.WORLD
    dist.destroy_process_group()


def by_torch(group, rank, steps, feedback, warm):
    state = theirs.PowerSGDState(
        group, matrix_approximation_rank=rank, start_powerSGD_iter=2,
        use_error_feedback=feedback, warm_start=warm,
    )  # fmt: skip
    state.iter = 2  # the steps before are not compressed
    return [theirs.powerSGD_hook(state, Bucket(step)).wait().numpy().copy() for step in steps]


def starts(rank, steps):
    """The hook's Qs of each step: normal numbers, from seeds that a generator gives."""
    seeds = np.random.RandomState(0)
    for _ in range(steps):
        torch.manual_seed(seeds.randint(1_000_000_000))
        yield [torch.randn(1, m, rank, dtype=torch.float64)[0].numpy() for _, m in SHAPES]


@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("feedback", [True, False])
@pytest.mark.parametrize("warm", [True, False])
def test_it_is_what_the_hook_gives(group, monkeypatch, rank, feedback, warm):
    """The hook on one rank has the mean of what three ranks have here."""
    steps = steps_of(6, 3, sum(n * m for n, m in SHAPES))
    expected = by_torch(group, rank, steps.mean(axis=1), feedback, warm)
    drawn = [each for step in starts(rank, len(steps) + 1) for each in step]

    def start(self, shape):
        self.started = getattr(self, "started", -1) + 1
        q = drawn[self.started].copy()
        assert q.shape == shape
        orthonormalise(q, self._drawn)
        return q

    monkeypatch.setattr(LowRank, "_start", start)
    how = PowerSGD(rank, warm_start=warm, error_feedback=feedback)
    means, _ = reduced(how, bucket_of(*SHAPES, dtype="float64"), steps)
    np.testing.assert_allclose(means, expected, atol=1e-9)
