"""PyTorch's DistributedDataParallel, watched: what it reduces together, and when.

As a program, with a store's file and a rank, it is one of two processes, which use their
parameters in opposite orders, and writes what it saw as JSON.
"""

from __future__ import annotations

import json
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

STEPS = 4


def join(store, rank, size):
    """Become one process of a world."""
    dist.init_process_group(
        "gloo", f"file://{store}", timedelta(seconds=60), world_size=size, rank=rank
    )


class Chain(torch.nn.Module):
    """Parameters that are used one after another, in an order of its own; some not at all."""

    def __init__(self, shapes, uses):
        super().__init__()
        self.uses = uses
        for name, shape, dtype in shapes:
            self.register_parameter(name, torch.nn.Parameter(torch.ones(shape, dtype=dtype)))

    def forward(self, x):
        for name in self.uses:
            x = torch.tanh(x + getattr(self, name).to(torch.float32).mean())
        return x


def watched(model, **options):
    """For each step the buckets, as lists of names, and the order in which gradients came."""
    parallel = torch.nn.parallel.DistributedDataParallel(model, **options)
    names = {id(each): name for name, each in model.named_parameters()}
    steps = []

    def hook(state, bucket):
        steps[-1][0].append([names[id(each)] for each in bucket.parameters()])
        done = torch.futures.Future()
        done.set_result(bucket.buffer())
        return done

    parallel.register_comm_hook(None, hook)
    for each in model.parameters():
        each.register_post_accumulate_grad_hook(lambda of: steps[-1][1].append(names[id(of)]))
    for _ in range(STEPS):
        steps.append(([], []))
        parallel(torch.ones(1)).sum().backward()
    return steps, parallel._get_ddp_logging_data()


def main(store, rank):
    join(store, rank, size=2)
    shapes = [(f"p{i}", (100_000 * i + 1,), torch.float32) for i in range(6)]
    uses = [name for name, _, _ in shapes][:: -1 if rank else 1]
    steps, _ = watched(Chain(shapes, uses))
    print(json.dumps({"shapes": [each[:2] for each in shapes], "steps": steps}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
