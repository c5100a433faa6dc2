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

CAP_MB = 0.02
STEPS = 4


def network():
    torch.manual_seed(5)
    layers = [torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(64, 5))


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
    """The gradients of each step, and the parameters at the end."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    seen = []
    for step in range(STEPS):
        optimizer.zero_grad()
        backward(loss_of(model, rank, step))
        seen.append(gradients(module or model))
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


def main(size):
    comm = refcoll.connect("mpi", timeout=60)
    assert comm.size == size
    dist.init_process_group(
        "gloo", init_method=f"file://{_meeting(comm)}", rank=comm.rank, world_size=comm.size
    )
    plain, parameters = with_ddp(comm.rank)
    locals_ = local_gradients(comm, 0)
    require_within_bound(plain[0], locals_, size)
    for name in ("ring", "rabenseifner", "recursive_doubling", "auto"):
        hook = CommHook(comm, algorithm=name)
        seen, own = with_ddp(comm.rank, hook)
        require_within_bound(seen[0], locals_, size)
        assert differing(comm, own) == {}
        (alone, alone_parameters), sizes = with_refcoll(comm, algorithm=name)
        require_within_bound(alone[0], locals_, size)
        assert differing(comm, alone_parameters) == {}
        # The buckets that DDP has launched, step by step: one at first, then those rebuilt.
        assert [each.nbytes for each in hook.buckets[-len(sizes) :]] == sizes
        assert len(hook.buckets) == 1 + (STEPS - 1) * len(sizes)
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
