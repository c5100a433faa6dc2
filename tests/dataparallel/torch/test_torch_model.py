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


def normed(comm, steps=2, **options):
    """Running means at the end of each step: rank r has inputs 10 r + step, momentum is 1/2."""
    norm, seen = torch.nn.BatchNorm1d(1, momentum=0.5), []
    with TorchReplica(comm, norm, average="ranks", **options) as replica:
        for step in range(steps):
            with replica.no_sync():  # a micro-batch of zeros before it: halves the mean
                replica.backward(norm(torch.zeros(2, 1)).sum())
            replica.backward(norm(torch.full((2, 1), 10.0 * comm.rank + step)).sum())
            replica.wait()
            seen.append(norm.running_mean.item())
        for _ in replica.join() if options.get("uneven") else ():
            replica.wait()
            seen.append(norm.running_mean.item())
    return seen


def test_buffers_are_rank_0s_at_the_end_of_each_step():
    assert refcoll.spawn(3, normed, timeout=TIMEOUT) == [[0.0, 0.5]] * 3


def test_buffers_stay_each_rank_s_own_if_told_so():
    own = refcoll.spawn(2, lambda comm: normed(comm, broadcast_buffers=False), timeout=TIMEOUT)
    assert own == [[0.0, 0.5], [5.0, 6.75]]


def test_buffers_are_those_of_the_highest_rank_that_has_a_batch():
    """As in DDP's join.  Rank 1 has two steps, the others one."""

    def run(comm):
        return normed(comm, steps=1 + (comm.rank == 1), uneven=True)

    first, second = 20 / 2, 10 / 4 + 11 / 2
    assert refcoll.spawn(3, run, timeout=TIMEOUT) == [[first, second]] * 3


def test_ranks_agree_on_what_becomes_of_buffers():
    def run(comm):
        TorchReplica(comm, torch.nn.BatchNorm1d(1), broadcast_buffers=comm.rank == 0)

    with pytest.raises(refcoll.DisagreementError, match="broadcast_buffers"):
        refcoll.spawn(2, run, timeout=TIMEOUT)


def test_bfloat16_gradients_share_their_bits():
    tensor = torch.tensor([1.0, -2.5], dtype=torch.bfloat16)
    array = as_array(tensor)
    array[0] = 3
    assert tensor.tolist() == [3.0, -2.5]
    assert np.array(array, float).tolist() == [3.0, -2.5]


def test_a_sparse_gradient_is_refused_by_its_name():
    """A list of tokens, of which few are in a batch: torch would leave out the other rows."""

    def run(comm):
        words = torch.nn.Embedding(5, 2, sparse=True)
        with TorchReplica(comm, words) as replica:
            replica.backward(words(torch.tensor([1, 2])).sum(), weight=2)

    with pytest.raises(
        refcoll.ArgumentError, match=r"gradient of 'weight' is sparse .* sparse=True"
    ):
        refcoll.spawn(2, run, timeout=TIMEOUT)


def test_a_module_elsewhere_than_on_the_cpu_is_refused():
    with pytest.raises(refcoll.ArgumentError, match="weight is on meta; move the module"):
        refcoll.spawn(1, lambda comm: TorchReplica(comm, torch.nn.Linear(2, 1, device="meta")))


def test_a_module_without_anything_to_train_is_refused():
    def run(comm):
        TorchReplica(comm, linear().requires_grad_(False))

    with pytest.raises(refcoll.ArgumentError, match=r"Linear\(.* has no parameter that requires"):
        refcoll.spawn(2, run, timeout=TIMEOUT)


def test_a_parameter_that_is_thawed_later_is_not_left_out_in_silence():
    def run(comm):
        module = network(0)
        with TorchReplica(comm, module) as replica:
            module[0].weight.requires_grad = True
            replica.backward(module(torch.ones(2, 3)).sum(), weight=2)

    with pytest.raises(refcoll.ArgumentError, match=r"0\.weight did not require a gradient when"):
        refcoll.spawn(2, run, timeout=TIMEOUT)


def test_to_call_the_loss_s_own_backward_is_an_error_and_not_only_now_and_then():
    def run(comm, ours):
        module = linear()
        with TorchReplica(comm, module) as replica:
            module(torch.ones(1, 2)).sum().backward()
            if ours:
                replica.backward(module(torch.ones(1, 2)).sum(), weight=1)
                replica.wait()

    with pytest.raises(refcoll.ArgumentError, match=r"call replica\.backward\(loss\)"):
        refcoll.spawn(2, run, False, timeout=TIMEOUT)
    refcoll.spawn(2, run, True, timeout=TIMEOUT)


def tied():
    """An embedding that is the last layer, too; rank 1 begins elsewhere."""
    module = torch.nn.Sequential(torch.nn.Embedding(3, 2), torch.nn.Linear(2, 3, bias=False))
    module[1].weight = module[0].weight
    return module


def test_tied_parameters_are_one_and_are_clipped_as_one():
    """One process with both batches is the reference; torch clips the means in ``p.grad``."""
    batches = [torch.tensor([0, 2]), torch.tensor([1, 2])]

    def loss(module, batch):
        return module(batch).pow(2).mean(dim=1).sum() / len(batch)

    torch.manual_seed(0)
    alone = tied()
    begin = {name: each.clone() for name, each in alone.state_dict().items()}
    loss(alone, torch.cat(batches)).backward()
    norm = torch.nn.utils.clip_grad_norm_(alone.parameters(), 0.1)

    def run(comm):
        module = tied()
        if comm.rank == 0:
            module.load_state_dict(begin)
        with TorchReplica(comm, module) as replica:
            replica.backward(loss(module, batches[comm.rank]), weight=2)
            replica.wait()
            found = torch.nn.utils.clip_grad_norm_(module.parameters(), 0.1)
            return found.item(), module[0].weight.grad.tolist()

    for found, gradient in refcoll.spawn(2, run, timeout=TIMEOUT):
        assert found == pytest.approx(norm.item(), rel=1e-6)
        np.testing.assert_allclose(gradient, alone[0].weight.grad.tolist(), rtol=1e-5)


def test_a_grad_scaler_leaves_out_the_same_step_on_all_ranks():
    """Rank 1's second batch is infinite.  Of 1024 the scale is doubled, halved and doubled."""

    def run(comm):
        module, scales = linear(), []
        optimizer = torch.optim.SGD(module.parameters(), 0.5)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=1)
        with TorchReplica(comm, module) as replica:
            for step in range(3):
                x = torch.full((1, 2), np.inf if (comm.rank, step) == (1, 1) else 1.0)
                replica.backward(scaler.scale(module(x).sum()), weight=1)
                replica.wait()
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(module.parameters(), 2.0)
                scaler.step(optimizer)
                scaler.update()
                scales.append(scaler.get_scale())
        return scales, module.weight.tolist()

    right = [2048.0, 1024.0, 2048.0], [[-1.0, -1.0]]
    assert refcoll.spawn(2, run, timeout=TIMEOUT) == [right] * 2
