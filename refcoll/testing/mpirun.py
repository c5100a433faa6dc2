"""How MPI's own launchers start ranks on hosts that are rooms of this machine.

A launcher reaches other hosts by ssh.  Here a script stands in for it, which enters the
host's namespaces; the rest is telling each launcher so, and which network is for what.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from refcoll.errors import ArgumentError
from refcoll.testing.network import DATA, MANAGEMENT

PLACEMENTS = ("block", "interleaved")
AGENT = "/dev/shm/agent"
AGENT_SCRIPT = """#!/bin/sh
# In place of ssh: agent [-OPTION ...] HOST COMMAND ...
while [ "${1#-}" != "$1" ]; do shift; done
read -r pid < "/dev/shm/pid-$1"
shift
exec nsenter --target "$pid" --net --uts --ipc --mount --pid -- sh -c "$*"
"""

ENVIRONMENT: Mapping[str, str] = {
    # MPICH: its launcher, hydra, and what carries its messages, UCX or libfabric.
    "HYDRA_LAUNCHER": "ssh",
    "HYDRA_LAUNCHER_EXEC": AGENT,
    "UCX_NET_DEVICES": DATA,
    "FI_PROVIDER": "tcp",
    "FI_TCP_IFACE": DATA,
    # Open MPI 4 (OMPI) and 5 (PRTE for the launcher).  Each host believes that it has all
    # cores, so both would bind their first rank to the same one.  The daemons' files go to
    # the host's own /dev/shm, which ends with it.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_plm_rsh_agent": AGENT,
    "PRTE_MCA_plm_ssh_agent": AGENT,
    "OMPI_MCA_plm_rsh_no_tree_spawn": "1",  # no host can enter another
    "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
    "OMPI_MCA_oob_tcp_if_include": MANAGEMENT,
    "PRTE_MCA_prte_if_include": MANAGEMENT,
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_osc": "^ucx",
    "OMPI_MCA_btl_tcp_if_include": DATA,
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "OMPI_MCA_orte_tmpdir_base": "/dev/shm",
    "PRTE_MCA_prte_tmpdir_base": "/dev/shm",
}


def launch(names: Sequence[str], per_host: int, placement: str) -> list[str]:
    """mpirun and its options for ``per_host`` ranks on each host.

    Raises ArgumentError for another placement, or where there is no mpirun.
    """
    if placement not in PLACEMENTS:
        raise ArgumentError(f"placement={placement!r} must be one of {', '.join(PLACEMENTS)}")
    program, ranks = mpirun(), str(len(names) * per_host)
    in_turn = placement == "interleaved"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    if "HYDRA" in said.stdout:
        each = 1 if in_turn else per_host  # it starts again with the first host
        return [program, "-hosts", ",".join(f"{name}:{each}" for name in names), "-n", ranks]
    slots = ",".join(f"{name}:{per_host}" for name in names)
    return [program, "--host", slots, "--map-by", "node" if in_turn else "slot", "-n", ranks]


def located(command: Sequence[str]) -> list[str]:
    """The same, with a program that belongs to this Python found beside it, as mpirun is."""
    if not command:
        raise ArgumentError("command=() must name a program")
    return [_beside(command[0]) or command[0], *command[1:]]


def mpirun() -> str:
    """$REFCOLL_MPIRUN, or the one beside this Python, or the first on the path."""
    named = os.environ.get("REFCOLL_MPIRUN") or _beside("mpirun") or "mpirun"
    found = shutil.which(named)
    if found is None:
        raise ArgumentError(
            f"mpirun={named!r} is not there: pip install 'refcoll[mpi]', or name one in "
            "$REFCOLL_MPIRUN"
        )
    return found


def _beside(name: str) -> str | None:
    path = Path(sys.executable).parent / name
    return str(path) if path.exists() else None
