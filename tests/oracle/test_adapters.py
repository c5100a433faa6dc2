"""What the adapters of other libraries say that these do not do, and what they make of calls.

That they judge real libraries is in tests/mpi/test_judge.py.
"""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from refcoll import spawn
from refcoll.errors import ArgumentError
from refcoll.oracle.adapters import mpi
from refcoll.oracle.adapters.torch import TorchDistributed, make
from refcoll.oracle.calls import MOVING, REDUCING, Call, calls
from refcoll.oracle.courts import in_process
from refcoll.oracle.implementation import factory, takes_comm
from refcoll.oracle.monitoring import monitor


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("MPICH Version:      5.0.2\nMPICH Release date: ...", "MPICH 5.0.2"),
        ("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4\0", "Open MPI 4.1.4"),
        ("Intel(R) MPI Library 2021.11 for Linux* OS\n", "Intel(R) MPI Library 2021.11"),
        ("Something else", "Something else"),
    ],
)
def test_names_of_mpi_libraries(told, name):
    assert mpi.library_name(told) == name


def test_mpi_needs_its_own_ranks():
    """In a process of its own: MPI is not to be started within pytest's."""
    program = (
        "from refcoll import spawn\n"
        "from refcoll.oracle.implementation import factory\n"
        "spawn(3, lambda comm: factory('mpi')(comm))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode != 0
    assert "ArgumentError" in done.stderr
    assert "start the same command by mpirun -n 3" in done.stderr


@pytest.mark.parametrize("name", ["mpi", "torch:gloo", "oracle_implementations:only_processes"])
def test_these_are_processes(name):
    assert not takes_comm(name)


@pytest.mark.parametrize("name", ["refcoll", "oracle_implementations:drops_last"])
def test_these_take_a_communicator(name):
    assert takes_comm(name)


def test_a_default_is_no_communicator():
    assert not takes_comm("oracle_implementations:with_defaults")
    assert takes_comm("oracle_implementations:with_comm_by_default")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nonsense", "must be one of mpi, refcoll, torch:gloo, or module:function"),
        ("no.such:thing", "cannot be loaded: ModuleNotFoundError: No module named 'no'"),
        ("refcoll.words:nothing", "has no attribute 'nothing'"),
    ],
)
def test_what_is_not_there(name, said):
    with pytest.raises(ArgumentError, match=said):
        factory(name)


def test_open_mpi_is_asked_to_count_unless_the_user_has_said_how(monkeypatch):
    settings = {"OMPI_MCA_pml_monitoring_enable": "1", "OMPI_MCA_osc": "^monitoring"}
    environment = {"OMPI_COMM_WORLD_SIZE": "2"}
    monkeypatch.setattr("os.environ", environment)
    monitor()
    assert environment == {"OMPI_COMM_WORLD_SIZE": "2", **settings}
    environment["OMPI_MCA_osc"] = "ucx"
    monitor()
    assert environment["OMPI_MCA_osc"] == "ucx"
    environment.clear()
    monitor()
    assert not environment


@pytest.mark.parametrize(
    ("components", "counts"),
    [
        ("basic,libnbc,tuned,self,inter", False),
        ("^monitoring", False),
        ("^han,monitoring", False),
        ("tuned,self,monitoring", True),
        ("^han", True),
    ],
)
def test_open_mpi_is_not_asked_to_count_where_it_would_crash(monkeypatch, components, counts):
    """OMPI_MCA_coll=^monitoring OMPI_MCA_pml_monitoring_enable=1: MPI_Comm_free is a segmentation
    fault, in Open MPI 4.1.4 and 5.0.11."""
    environment = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_MCA_coll": components}
    monkeypatch.setattr("os.environ", environment)
    monitor()
    assert ("OMPI_MCA_pml_monitoring_enable" in environment) == counts


# ---- torch, on one rank: the group needs no job ----------------------------------------------

needs_torch = pytest.mark.skipif(
    find_spec("torch") is None, reason="torch is missing: pip install torch==2.13.0"
)


@pytest.fixture(scope="module")
def gloo():
    made = spawn(1, lambda comm: make(comm, "gloo"))[0]
    yield made
    made._dist.destroy_process_group()


@needs_torch
def test_a_backend_that_is_not_there():
    with pytest.raises(ArgumentError, match=r"there are .*torch:gloo"):
        spawn(1, lambda comm: make(comm, "nonsense"))


@needs_torch
def test_it_tells_its_version(gloo):
    assert gloo.name.startswith("torch 2.")
    assert gloo.name.endswith(" gloo")


@needs_torch
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "int8", "uint8", "bool"])
def test_arrays_and_tensors_share_their_memory(gloo, dtype):
    from refcoll.testing.values import dtype_named

    x = np.arange(3).astype(dtype_named(dtype))
    tensor = gloo._tensor(x)
    assert str(tensor.dtype) == f"torch.{dtype}"
    tensor += 1 if dtype != "bool" else True
    assert [float(each) for each in x] == [float(each) for each in tensor]


@needs_torch
def test_what_it_refuses_is_not_supported_and_what_it_raises_otherwise_is_raised(gloo):
    x = np.ones(3, np.uint64)
    with pytest.raises(NotImplementedError, match="Invalid scalar type"):
        gloo.all_reduce(x, x.copy(), "sum")
    with pytest.raises(NotImplementedError, match="non-integral"):
        gloo.all_reduce(x.astype("f"), np.empty(3, "f"), "bitwise_or")
    with pytest.raises((RuntimeError, ValueError)):
        gloo.all_gather(x.astype("f"), np.empty(7, "f"))


@needs_torch
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_alone_it_is_right():
    asked = list(calls(1, dtypes=("float32", "bfloat16"), lengths=(0, 5)))
    found = in_process(lambda comm: TorchDistributed(comm, "gloo"), 1, asked)
    assert [str(f) for each in found for f in each.findings if f.probe != "special"] == []
    right = {each.call.collective for each in found if each.right}
    assert right == {*REDUCING, *MOVING} - {"scan", "exscan"}
    (why,) = {each.skipped for each in found if each.call.collective == "scan"}
    assert why == "there is no scan"


@needs_torch
def test_what_torch_has_no_name_for(gloo):
    assert "logical_or" in gloo.unsupported(Call("all_reduce", 1, "int32", "logical_or"))
    assert "in place" in gloo.unsupported(Call("all_gather", 1, op=None, in_place=True))
    assert gloo.unsupported(Call("all_reduce", 1, in_place=True)) is None
