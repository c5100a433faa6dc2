"""The conformance kit over device memory of a stand-in, carried by the MPI that is loaded.

Arguments: "direct" or "staged"; how eager the stand-in is; "spare" for the spare checks too.
"""

import sys

from late_stream import LateRuntime
from refcoll.testing.conformance import CHECKS, SPARE_CHECKS
from refcoll_cupy.direct import Direct
from refcoll_cupy.staged import Staged
from refcoll_cupy.transport import connect

mode, eagerness, *spare = sys.argv[1:]
runtime = LateRuntime(devices=64, eagerness=float(eagerness))


def transport():
    end = connect(None, mode, True, None, runtime, {})
    # Parts so short that most messages have several, the last of them shorter.
    make = Direct if mode == "direct" else Staged
    end.way = make(end.arrays, end.host.comm, 100_000)
    return end


for check in (*CHECKS, *(SPARE_CHECKS if spare else ())):
    check(transport())
    print(f"kept: {check.__name__}.", flush=True)
