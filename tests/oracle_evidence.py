"""Right results, changed, as evidence for a diagnosis."""

import numpy as np

from refcoll.oracle.diagnosing.diagnosis import diagnosed
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.probes import inputs
from refcoll.oracle.truth import truth

SIZE = 4


def evidence(call, change, probe="coded", size=SIZE, again=lambda given: None, before=None, seed=0):
    """Right results, changed: change(rank, right, inputs) gives what the rank has."""
    given = inputs(probe, call, size, seed)
    truths = [truth(probe, call, given, rank) for rank in range(size)]
    with np.errstate(all="ignore"):
        outputs = [
            None
            if right is None
            else np.asarray(change(rank, right.wanted.copy(), given), right.wanted.dtype)
            for rank, right in enumerate(truths)
        ]
    earlier = inputs(probe, call, size, seed + 1) if before else None
    return Evidence(call, probe, given, outputs, truths, before and before(earlier), again, earlier)


def said(call, change, probe="coded", **more):
    return diagnosed(evidence(call, change, probe, **more))


def in_full(given):
    """Nobody is missing or doubled in a sum."""
    return [np.sum(given, axis=0).astype(given[0].dtype)] * len(given)
