"""A module that one rank of a job cannot import."""

from oracle_implementations import only_sums
from refcoll.launching import launched_rank

if launched_rank() == 1:
    raise RuntimeError("there is no device")

__all__ = ["only_sums"]
