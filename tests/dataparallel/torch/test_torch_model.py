"""A torch module as a replica: what is copied, what is averaged, what is left alone."""

import numpy as np
import pytest

import refcoll
from refcoll.dataparallel import differing

torch = pytest.importorskip(
    "torch",
    reason="needs torch: pip install torch==2.13.0 (a CPU build) and run pytest "
    "tests/dataparallel/torch",
)

from refcoll.dataparallel.torch_arrays import as_array  # noqa: E402  (they need torch)
from refcoll.dataparallel.torch_model import TorchReplica  # noqa: E402

TIMEOUT = 30


def network(seed):
    generator = torch.Generator().manual_seed(seed)
    layers = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1)
    )
    with torch.no_grad():
        for each in [*layers.parameters(), layers[1].running_mean]:
            each.copy_(torch.randn(each.shape, generator=generator))
    layers[0].weight.requires_grad = False
    return layers


def arrays(module):
    return {name: as_array(each).copy() for name, each in module.state_dict().items()}


def test_parameters_frozen_ones_and_buffers_begin_as_on_rank_0():
    def run(comm):
        module = network(comm.rank)
        with TorchReplica(comm, module):
            return differing(comm, arrays(module))

    assert refcoll.spawn(3, run, timeout=TIMEOUT) == [{}] * 3


def linear():
    module = torch.nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        module.weight.zero_()
    return module


def test_the_mean_is_in_grad_in_every_step_without_zeroing():
    def run(comm):
        module, seen = linear(), []
        with TorchReplica(comm, module) as replica:
            for _ in range(3):
                x = torch.full((comm.rank + 1, 2), float(comm.rank))
                replica.backward(module(x).mean(), weight=len(x))
                replica.wait()
                seen.append(module.weight.grad.tolist())
        return seen

    assert refcoll.spawn(2, run, timeout=TIMEOUT) == [[[[float(np.float32(2 / 3))] * 2]] * 3] * 2


def test_accumulation_joining_and_the_timeline():
    def run(comm):
        module, seen = linear(), []
        with TorchReplica(comm, module, uneven=True) as replica:
            for _ in range(1 + comm.rank):
                with replica.no_sync():
                    replica.backward(module(torch.ones(1, 2)).mean(), weight=1)
                replica.backward(module(torch.full((3, 2), 5.0)).mean(), weight=3)
                replica.wait()
                seen.append(module.weight.grad.tolist())
            for _ in replica.join():
                replica.wait()
                seen.append(module.weight.grad.tolist())
            assert replica.timeline is not None
        return seen

    assert refcoll.spawn(2, run, timeout=TIMEOUT) == [[[[4.0, 4.0]]] * 2] * 2


def test_a_module_is_left_as_it_was():
    def run(comm):
        module = linear()
        with TorchReplica(comm, module):
            pass
        module(torch.ones(1, 2)).sum().backward()
        return module.weight.grad.tolist()

    assert refcoll.spawn(2, run, timeout=TIMEOUT) == [[[1.0, 1.0]]] * 2


def test_bfloat16_gradients_share_their_bits():
    tensor = torch.tensor([1.0, -2.5], dtype=torch.bfloat16)
    array = as_array(tensor)
    array[0] = 3
    assert tensor.tolist() == [3.0, -2.5]
    assert np.array(array, float).tolist() == [3.0, -2.5]


def test_sparse_tensors_are_refused():
    with pytest.raises(refcoll.ArgumentError, match="use dense tensors on the CPU"):
        as_array(torch.eye(3).to_sparse())
