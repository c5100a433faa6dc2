"""Faults that were reported of other libraries, and where the tests have each of them.

The table is what is tested: a name for each fault, its kind, how it can be found, and the
public report of it.  It was taken, and checked line by line, from a collection of 54 reports that
is not part of this repository.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One reported fault."""

    name: str
    kind: str
    found_by: str
    """a: results, beside an exact oracle; b: the schedule; c: checks of arguments, the handshake
    or the watchdog; d: a model of costs."""
    report: str
    """The issue or pull request on GitHub."""

    @property
    def test(self):
        """The name of its test."""
        return f"test_{self.name.lower().replace('-', '_')}"


CASES = (
    Case("PART-01", "partition", "ab", "Xilinx/ACCL#25"),
    Case("PART-02", "partition", "abc", "ROCm/rocm-systems#3213"),
    Case("PART-03", "partition", "ab", "NVIDIA/FasterTransformer#672"),
    Case("PART-04", "partition", "bd", "pmodels/mpich#2637"),
    Case("RANK-01", "rank-mapping", "ab", "tile-ai/tilelang#2611"),
    Case("ALIAS-01", "aliasing", "ab", "open-mpi/ompi#9385"),
    Case("ALIAS-02", "aliasing", "ac", "open-mpi/ompi#1636"),
    Case("ALIAS-03", "aliasing", "ac", "pmodels/mpich#1594"),
    Case("ALIAS-04", "aliasing", "ac", "pytorch/pytorch#14632"),
    Case("COUNT-01", "count-overflow", "bc", "open-mpi/ompi#10094"),
    Case("COUNT-02", "count-overflow", "bc", "horovod/horovod#1604"),
    Case("OP-02", "op-semantics", "a", "meta-pytorch/torchcomms#287"),
    Case("OP-03", "op-semantics", "ab", "ROCm/rocm-systems#7851"),
    Case("OP-05", "op-semantics", "a", "open-mpi/ompi#10525"),
    Case("OP-06", "op-semantics", "a", "ml-explore/mlx#4072"),
    Case("OP-07", "op-semantics", "a", "open-mpi/ompi#8045"),
    Case("OP-08", "op-semantics", "ac", "pytorch/pytorch#41959"),
    Case("OP-09", "op-semantics", "c", "open-mpi/ompi#2335"),
    Case("PREC-01", "precision", "ab", "NVIDIA/nccl#1026"),
    Case("ORDER-01", "op-order", "ab", "open-mpi/ompi#8010"),
    Case("DET-01", "determinism", "ab", "open-mpi/ompi#12258"),
    Case("DET-02", "determinism", "ab", "pytorch/pytorch#30509"),
    Case("DET-03", "determinism", "a", "NVIDIA/nccl#1497"),
    Case("LAYOUT-01", "layout", "ac", "open-mpi/ompi#1764"),
    Case("LAYOUT-02", "layout", "ac", "pytorch/pytorch#130251"),
    Case("LAYOUT-03", "layout", "ac", "NVIDIA/Megatron-LM#5337"),
    Case("HANG-01", "mismatch-hang", "c", "NVIDIA/nccl#1394"),
    Case("HANG-02", "mismatch-hang", "c", "ROCm/rccl#429"),
    Case("HANG-03", "mismatch-hang", "bc", "open-mpi/ompi#1669"),
    Case("HANG-04", "mismatch-hang", "bc", "open-mpi/ompi#2427"),
    Case("HANG-06", "mismatch-hang", "c", "chainer/chainermn#236"),
    Case("ZERO-01", "degenerate", "ac", "pytorch/pytorch#85234"),
    Case("GPU-01", "gpu-transport", "ac", "mpi4py/mpi4py#60"),
    Case("GPU-03", "gpu-transport", "c", "mpi4py/mpi4py#115"),
    Case("GPU-04", "gpu-transport", "c", "JuliaGPU/CUDA.jl#1053"),
    Case("GPU-05", "gpu-transport", "c", "pytorch/pytorch#21922"),
    Case("DDP-01", "ddp-sync", "ab", "pytorch/pytorch#69031"),
    Case("DDP-02", "ddp-sync", "ab", "modelscope/FunASR#3472"),
    Case("DDP-03", "ddp-sync", "abc", "pytorch/pytorch#42577"),
    Case("DDP-04", "ddp-sync", "a", "huggingface/transformers#34242"),
    Case("DDP-06", "ddp-sync", "abc", "deepspeedai/DeepSpeed#2343"),
    Case("SHARD-01", "shard-optimizer", "ab", "NVIDIA/Megatron-LM#561"),
    Case("SHARD-02", "shard-optimizer", "a", "deepspeedai/DeepSpeed#3832"),
    Case("SHARD-04", "shard-optimizer", "a", "pytorch/pytorch#155903"),
    Case("COMP-01", "compression", "a", "pytorch/pytorch#57410"),
    Case("PERF-01", "perf-model", "d", "NVIDIA/nccl-tests#45"),
    Case("PERF-02", "perf-model", "bd", "NVIDIA/nccl#946"),
    Case("PERF-03", "perf-model", "bd", "pytorch/gloo#192"),
    Case("PERF-04", "perf-model", "bd", "pytorch/pytorch#48880"),
    Case("PERF-05", "perf-model", "d", "pytorch/pytorch#17159"),
    Case("PERF-06", "perf-model", "d", "NVIDIA/nccl#1712"),
    Case("RUN-01", "launcher", "c", "mpi4py/mpi4py#280"),
    Case("RUN-02", "launcher", "c", "mpi4py/mpi4py#23"),
    Case("RUN-04", "launcher", "cd", "open-mpi/ompi#10426"),
)

OF_COLLECTIVES = {
    "partition", "rank-mapping", "aliasing", "count-overflow", "op-semantics", "precision",
    "op-order", "determinism", "layout", "mismatch-hang", "degenerate",
}  # fmt: skip
"""Kinds of faults that collectives themselves have."""

KNOWN_FAULTS = "tests/dataparallel/test_known_faults.py"
ELSEWHERE = {
    "GPU-03": ("tests/gpu/test_modes.py", "test_direct_needs_somebodys_word"),
    "GPU-04": ("tests/gpu/test_accepting.py", "from_pool=True"),
    "GPU-05": ("tests/gpu/test_cupy.py", "test_an_array_of_another_device_stays_there"),
    "DDP-01": (KNOWN_FAULTS, "pytorch#69031"),
    "DDP-02": (KNOWN_FAULTS, "FunASR#3472"),
    "DDP-03": (KNOWN_FAULTS, "pytorch#42577"),
    "DDP-04": (KNOWN_FAULTS, "transformers#34242"),
    "DDP-06": (KNOWN_FAULTS, "deepspeed#2343"),
    "SHARD-01": (KNOWN_FAULTS, "Megatron-LM#561"),
    "SHARD-02": (KNOWN_FAULTS, "deepspeed#3832"),
    "SHARD-04": (KNOWN_FAULTS, "pytorch#155903"),
    "COMP-01": (KNOWN_FAULTS, "pytorch#57410"),
    "PERF-01": ("tests/test_benchmarking.py", "busbw = algbw x f"),
    "PERF-04": ("tests/dataparallel/test_buckets.py", "pytorch/pytorch#48880"),
    "PERF-05": ("refcoll/planning/published.tsv", "pytorch/pytorch#17159"),
    "RUN-01": ("tests/mpi/test_failures.py", "the wrong launcher"),
    "RUN-02": ("transports/refcoll_mpi/__init__.py", "nothing pickled"),
    "RUN-04": ("docs/mpi.md", "outnumber cores"),
}
"""Those that training, devices, planning or launching has: in which file, by which words."""
