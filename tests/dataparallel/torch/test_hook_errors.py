"""What goes wrong in the hook is told by DDP's backward in its own words."""

import pytest

import refcoll

torch = pytest.importorskip(
    "torch",
    reason="needs torch: pip install torch==2.13.0 (a CPU build) and run pytest "
    "tests/dataparallel/torch",
)

import ddp_watched  # noqa: E402  (they need torch)
from refcoll.dataparallel.torch_hook import CommHook, reduce_bucket  # noqa: E402

TIMEOUT = 30


@pytest.fixture(scope="module", autouse=True)
def world(tmp_path_factory):
    ddp_watched.join(tmp_path_factory.mktemp("gloo") / "store", rank=0, size=1)
    yield
    torch.distributed.destroy_process_group()


def stepped(comm, module, given, **options):
    model = torch.nn.parallel.DistributedDataParallel(module)
    hook = CommHook(comm, **options)
    model.register_comm_hook(hook, reduce_bucket)
    model(given).sum().backward()


def test_an_error_in_a_reduction_says_what_it_is():
    """Of an exception that is set on its future torch says "Unable to cast ... to Tensor"."""

    def broken(bucket):
        raise ValueError("the disk is full")

    def run(comm):
        with pytest.raises(RuntimeError, match="ValueError: the disk is full"):
            stepped(comm, torch.nn.Linear(2, 1), torch.ones(1, 2), listener=broken)

    refcoll.spawn(1, run, timeout=TIMEOUT)


def test_a_sparse_gradient_is_refused_by_its_bucket():
    def run(comm):
        words = torch.nn.Embedding(5, 2, sparse=True)
        with pytest.raises(refcoll.ArgumentError, match="bucket 0 of DDP is sparse"):
            stepped(comm, words, torch.tensor([1, 2]))

    refcoll.spawn(1, run, timeout=TIMEOUT)
