"""One rank connects over what is no communicator, and does not catch what it is told."""

import os

import refcoll

odd = "1" in (os.environ.get("PMI_RANK"), os.environ.get("OMPI_COMM_WORLD_RANK"))
refcoll.connect("mpi", comm=7 if odd else None, timeout=30).barrier()
