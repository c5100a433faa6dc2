"""Error feedback: what a lossy reduction leaves out of one step, it adds to the next.

    x = flat / (divisor / N)       this rank's share: the mean over ranks of x is the mean wanted
    c = x + e                      e: what earlier steps left out, zero to begin with
    e = c - what was applied of c

Then the errors of successive steps cancel, and after any number of steps

    sum of what was applied + mean over ranks of e  =  sum of the true means,

up to rounding.  So nothing is ever lost, only late.  Shares, not sums, are what errors are
added to, since the divisor may differ from step to step.

A NaN or an infinity must not enter e, where it would stay for good.  If any rank's c has
one, every rank gets NaN throughout the bucket, and all state stays as it was: a trainer that
skips such a step, as loss scaling does, goes on as if it had not been.

Sources: Seide, Fu, Droppo, Li, Yu 2014, "1-bit stochastic gradient descent and its
application to data-parallel distributed training of speech DNNs"; Karimireddy, Rebjock,
Stich, Jaggi 2019, "Error feedback fixes SignSGD and other gradient compression schemes".
"""

from __future__ import annotations

import numpy as np

from refcoll.dataparallel.reductions import working
from refcoll.operators import Array


def share(flat: Array, divisor: float, size: int) -> Array:
    """A new array, in the working dtype: what this rank brings to the mean over ``size`` ranks."""
    mine = flat.astype(working(flat.dtype))
    if divisor != size:
        mine /= mine.dtype.type(divisor / size)
    return mine


def finite(values: Array) -> bool:
    """Whether there is neither a NaN nor an infinity."""
    return bool(np.isfinite(values).all())
