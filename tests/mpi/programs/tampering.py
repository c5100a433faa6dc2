"""A transport that sends one message, or one byte, too many: verification must not pass."""

import sys

import numpy as np

from refcoll.connecting import transport
from refcoll.errors import TransportError
from refcoll.testing.verification import Case, verify
from refcoll.transport import Outgoing


def tamper(end, how):
    """Make ``end``, on rank 1, send more than it is told to in the ring's last step."""
    prepare, payloads = end.prepare, []

    def prepared(sends, receives, channel):
        more = list(sends)
        payloads.append(channel > 0)
        if end.rank == 1 and sum(payloads) == end.size - 1 and channel > 0:
            if how == "message":
                more.append(Outgoing(np.zeros(3, np.uint8), sends[0].to))
            else:
                longer = np.zeros(sends[0].view.nbytes + 1, np.uint8)
                more[0] = Outgoing(longer, sends[0].to)
        return prepare(more, receives, channel)

    end.prepare = prepared
    return end


end = tamper(transport("mpi")(), sys.argv[1])
cases = [Case("ring", "all_gather", 100, "float32", None)]
try:
    wrong = [problem for row in verify(end, cases, 5) for problem in row.problems]
except TransportError as error:
    wrong = [str(error)]
print(f"rank {end.rank}: {wrong}", flush=True)
