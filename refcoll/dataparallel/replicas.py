"""Are the replicas alike, to the bit?"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from refcoll.communicator import Communicator
from refcoll.operators import Array


def digest(parameters: Mapping[str, Array]) -> str:
    """SHA-256 of names, dtypes, shapes and bits."""
    made = hashlib.sha256()
    for name, array in sorted(parameters.items()):
        made.update(f"{name} {array.dtype} {array.shape}".encode())
        made.update(np.ascontiguousarray(array).tobytes())
    return made.hexdigest()


def differing(comm: Communicator, parameters: Mapping[str, Array]) -> dict[str, list[int]]:
    """By parameter, the ranks on which it is not as on rank 0; empty if all are.  Collective."""
    own = {name: digest({name: array}) for name, array in parameters.items()}
    everyone = comm.agreement.collect({"collective": "replicas", "digests": own}, (), comm.timeout)
    first = everyone[0]["digests"]
    found: dict[str, list[int]] = {}
    for rank, record in enumerate(everyone):
        for name in {**first, **record["digests"]}:
            if record["digests"].get(name) != first.get(name):
                found.setdefault(name, []).append(rank)
    return found
