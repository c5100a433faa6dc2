"""Faulty mechanisms, run on a reported case's own inputs, and judged."""

import numpy as np
import pytest

import refcoll
from refcoll.errors import ArgumentError, DisagreementError
from refcoll.oracle.courts import in_process
from refcoll.oracle.implementation import called
from refcoll.oracle.mutants import MUTANTS
from refcoll.testing.values import dtype_named

MAKERS = {mutant.name: mutant.make for mutant in MUTANTS}


def results(make, call, inputs):
    """What each rank gets from these inputs."""
    dtype = dtype_named(call.dtype)

    def on_rank(comm):
        x = np.array(inputs[comm.rank], dtype)
        length = call.output_length(comm.rank, comm.size)
        out = x[:length] if call.in_place else np.zeros(length, dtype)
        with np.errstate(all="ignore"):
            called(make(comm), call, x, out)
        return out.tolist()

    return refcoll.spawn(len(inputs), on_rank, timeout=20)


def findings(make, size, *calls, timeout=20.0):
    """Verdicts and diagnoses of the first call that is wrong."""
    judged = in_process(make, size, calls, timeout=timeout, first_only=True)
    return [(each.verdict, each.diagnosis) for one in judged for each in one.findings]


def found(make, size, verdict, said, *calls, timeout=20.0):
    """Whether the verdict is among the findings, with these words in its diagnosis."""
    listed = findings(make, size, *calls, timeout=timeout)
    return any(v == verdict and said in words for v, words in listed)


def refusals(size, call):
    """What each rank raises."""

    def on_rank(comm):
        with pytest.raises((ArgumentError, DisagreementError)) as caught:
            call(comm)
        return str(caught.value)

    return refcoll.spawn(size, on_rank, timeout=20)
