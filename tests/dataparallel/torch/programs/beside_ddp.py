"""Train the same network with DDP over Gloo, with refcoll as DDP's hook, and with refcoll alone.

Every rank checks; a failed assertion ends the job.  Run under mpirun, by test_beside_ddp.py.
"""

import sys
from fractions import Fraction

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import refcoll
from refcoll.dataparallel.replicas import differing
from refcoll.dataparallel.torch_arrays import as_array
from refcoll.dataparallel.torch_hook import CommHook, reduce_bucket
from refcoll.dataparallel.torch_model import TorchReplica
from refcoll.peers import _meeting

CAP_MB = 0.01
STEPS = 4


def network():
    torch.manual_seed(5)
    first = [torch.nn.Linear(20, 64), torch.nn.BatchNorm1d(64), torch.nn.ReLU()]
    return torch.nn.Sequential(
        *first, torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 5)
    )


def batch(rank, step):
    generator = torch.Generator().manual_seed(1000 * rank + step)
    x = torch.randn(16, 20, generator=generator)
    return x, torch.randint(0, 5, (16,), generator=generator)


def loss_of(model, rank, step):
    x, labels = batch(rank, step)
    return torch.nn.functional.cross_entropy(model(x), labels)


def gradients(model):
    return {name: as_array(p.grad).copy() for name, p in model.named_parameters()}


def trained(rank, model, backward, module=None):
    """The gradients of each step, the running means it began with, the parameters at the end."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    seen, begun_with = [], []
    norm = (module or model)[1]
    norm.register_forward_pre_hook(lambda *_: begun_with.append(as_array(norm.running_mean).copy()))
    for step in range(STEPS):
        optimizer.zero_grad()
        backward(loss_of(model, rank, step))
        seen.append({**gradients(module or model), "running mean": begun_with[-1]})
        optimizer.step()
    return seen, {name: as_array(p).copy() for name, p in (module or model).named_parameters()}


def with_ddp(rank, hook=None):
    module = network()
    model = DistributedDataParallel(module, bucket_cap_mb=CAP_MB)
    if hook is not None:
        model.register_comm_hook(hook, reduce_bucket)
    return trained(rank, model, lambda loss: loss.backward(), module)


def with_refcoll(comm, **options):
    module = network()
    replica = TorchReplica(comm, module, average="ranks", bucket_cap_mb=CAP_MB, **options)

    def backward(loss):
        replica.backward(loss)
        replica.wait()

    found = trained(comm.rank, module, backward)
    sizes = [each.nbytes for each in replica.replica.buckets_reduced]
    replica.close()
    return found, sizes


def local_gradients(comm, step):
    """Each rank's own, of the first step; gathered, by rank."""
    module = network()
    loss_of(module, comm.rank, step).backward()
    own = gradients(module)
    return {
        name: comm.all_gather(each).reshape(comm.size, *each.shape) for name, each in own.items()
    }


def require_within_bound(found, locals_, size):
    """N quotients and N - 1 sums, each within u: as in tests/dataparallel/test_step.py."""
    unit = Fraction(float(np.finfo(np.float32).eps)) / 2
    for name, parts in locals_.items():
        for place in list(np.ndindex(parts.shape[1:]))[::7]:
            terms = [Fraction(float(parts[(rank, *place)])) for rank in range(size)]
            error = abs(Fraction(float(found[name][place])) - sum(terms) / size)
            assert error <= ((1 + unit) ** (size + 1) - 1) * sum(map(abs, terms)) / size


def require_same(one, other):
    for name in one:
        assert one[name].tobytes() == other[name].tobytes(), name


def orders_of_gloo(comm, count):
    """Of three ranks: by element, the rank that Gloo's all-reduce adds last.

    Revealed by numbers for which each of the three possible trees gives another sum.
    """
    generator = np.random.default_rng(0)
    given = generator.standard_normal((3, count)) * 10.0 ** generator.integers(-3, 4, (3, count))
    given = given.astype(np.float32)
    total = torch.from_numpy(given[comm.rank].copy())
    dist.all_reduce(total)
    matches = np.stack([(folded(given, last) == total.numpy()) for last in range(3)])
    assert (matches.sum(axis=0) >= 1).all()
    for first in range(0, count, 64):  # a stretch of elements has one order; some fit several
        consistent = matches[:, first : first + 64].all(axis=1)
        if consistent.sum() == 1:
            matches[:, first : first + 64] = consistent[:, None]
    return matches


def folded(parts, last):
    """The sum of three rows with the one named added last."""
    one, other = (parts[rank] for rank in range(3) if rank != last)
    return (one + other) + parts[last]


def require_the_revealed_order(comm, found, locals_):
    """DDP's mean of the first step, from the ranks' own gradients, to the bit."""
    names = [*locals_]  # the first bucket holds everything, in the order of the parameters
    parts = np.concatenate([locals_[name].reshape(3, -1) for name in names], axis=1)
    parts *= np.float32(1 / 3)  # DDP scales first, by the reciprocal
    mean = np.concatenate([found[name].ravel() for name in names])
    matches = orders_of_gloo(comm, mean.size)
    sums = np.stack([folded(parts, last) for last in range(3)])
    for place in range(mean.size):
        assert mean[place] in sums[matches[:, place], place]
    assert (matches.sum(axis=0) == 1).mean() > 0.9  # mostly one order only was possible
    assert any((mean != each).any() for each in sums)  # and it is not one for all elements


def main(size):
    comm = refcoll.connect("mpi", timeout=60)
    assert comm.size == size
    dist.init_process_group(
        "gloo", init_method=f"file://{_meeting(comm)}", rank=comm.rank, world_size=comm.size
    )
    plain, parameters = with_ddp(comm.rank)
    locals_ = local_gradients(comm, 0)
    require_within_bound(plain[0], locals_, size)
    if size == 3:
        require_the_revealed_order(comm, plain[0], locals_)
    for name in ("ring", "rabenseifner", "recursive_doubling", "auto"):
        buckets = []
        hook = CommHook(comm, algorithm=name, listener=buckets.append)
        seen, own = with_ddp(comm.rank, hook)
        require_within_bound(seen[0], locals_, size)
        assert differing(comm, own) == {}
        (alone, alone_parameters), sizes = with_refcoll(comm, algorithm=name)
        require_within_bound(alone[0], locals_, size)
        assert differing(comm, alone_parameters) == {}
        # The buckets that DDP has launched, step by step: one at first, then those rebuilt.
        assert [each.nbytes for each in buckets[-len(sizes) :]] == sizes
        assert len(buckets) == 1 + (STEPS - 1) * len(sizes)
        assert len(sizes) > 1
        if size == 2:  # one sum of two numbers, and a division by two that is exact
            for step in range(STEPS):
                require_same(seen[step], plain[step])
                require_same(alone[step], plain[step])
            require_same(own, parameters)
        hook.close()
    for name in ("bf16", "powersgd", "onebit"):
        hook = CommHook(comm, name)
        _, own = with_ddp(comm.rank, hook)
        assert differing(comm, own) == {}
        hook.close()
    # One tree for all elements: DDP's buckets and refcoll's give the same bits.
    hook = CommHook(comm, algorithm="rabenseifner")
    seen, _ = with_ddp(comm.rank, hook)
    (alone, _), _ = with_refcoll(comm, deterministic=True)
    for step in range(STEPS):
        require_same(seen[step], alone[step])
    hook.close()
    dist.destroy_process_group()
    comm.barrier()
    if comm.rank == 0:
        print("held")


main(int(sys.argv[1]))
