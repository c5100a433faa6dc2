"""One bit an element: signs and a scale, in both directions of the all-reduce.

Rank k serves chunk k.  As worker, each rank compresses its whole vector; as server, the mean
of what it has got for its chunk:

    worker   c = x + worker error;       s = |c| / sqrt(n);    send signs of chunk k, and s, to k
    server   c = mean of s * sign over workers + server error;   s likewise of its chunk
             send signs and s to all
    result   s * sign, chunk after chunk;   each error = c - s * sign

|c| is the Euclidean norm; sign(0) is +1, of -0.0 too.  n counts real elements: the vector is
padded to a multiple of 8 N, that chunks be whole bytes, but padding has no part in scales or
errors.  Both errors are kept for the next step, so that what was applied over all steps, plus
the server errors, plus the mean of the worker errors, is the sum of the true means.

    N = 4, n = 70:   padded to 96, chunks of 24 elements; a message is 4 bytes of scale and
                     3 of signs; 3 + 3 messages come to each rank: 42 bytes, where a ring
                     brings 420 of float32

Bytes: 2 (N - 1) (ceil(n / 8N) + 4) sent and received by each rank; about n / 4 for large n,
against 8 n for float32 in a ring.  A scale travels with its signs: two collectives, not four.

Bits: the result is decoded on every rank from the same bytes.  Scales are float32; one that
is beyond its range counts as not finite.  For N = 1 the same is done, twice, without messages.

Source: Seide et al. 2014 for signs with error feedback; Tang, Gan, Awan, Rajbhandari, Li,
Lian, Liu, Zhang, He 2021, "1-bit Adam: communication efficient large-scale training with
Adam's convergence speed", for both directions and the scale (DeepSpeed's compressed_allreduce).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.dataparallel.feedback import finite, share
from refcoll.dataparallel.reductions import Options, working
from refcoll.dataparallel.tensors import Bucket
from refcoll.errors import flag
from refcoll.operators import Array


class OneBit(Options):
    """Signs and scales with error feedback on both sides."""

    keeps_state = True

    def __init__(self, error_feedback: bool = True) -> None:
        self.error_feedback = flag(error_feedback, "error_feedback")

    def bind(self, comm: Communicator, bucket: Bucket) -> TwoSided:
        """Plans of an all-to-all and an all-gather of bytes, and the errors."""
        return TwoSided(self, comm, bucket)

    def nbytes_received(self, bucket: Bucket, size: int) -> int:
        """Bytes that come to each rank in a step."""
        return 2 * (size - 1) * message(bucket.count, size).itemsize


def message(count: int, size: int) -> np.dtype[Any]:
    """What one rank sends another of ``count`` elements on ``size`` ranks: a scale and signs."""
    nbytes = -(-count // (8 * size))
    return np.dtype([("scale", np.float32), ("signs", np.uint8, (nbytes,))])


class TwoSided:
    """One bit, bound to a bucket."""

    def __init__(self, how: OneBit, comm: Communicator, bucket: Bucket) -> None:
        self._size, kind = comm.size, message(bucket.count, comm.size)
        chunk = 8 * kind["signs"].shape[0]
        own = min(max(bucket.count - comm.rank * chunk, 0), chunk)
        self._dtype = bucket.dtype
        self._flat = comm.empty(bucket.count, working(bucket.dtype))
        dtype = working(bucket.dtype)
        self.worker = Quantizer(bucket.count, dtype, how.error_feedback)
        """Of this rank's whole vector."""
        self.server = Quantizer(own, dtype, how.error_feedback)
        """Of this rank's chunk of the mean."""
        asked, came, answers = (comm.empty(comm.size * kind.itemsize, np.uint8) for _ in range(3))
        answer = comm.empty(kind.itemsize, np.uint8)
        self._ask = comm.plan("all_to_all", asked, out=came, algorithm="pairwise")
        self._tell = comm.plan("all_gather", answer, out=answers)
        self._asked, self._came, self._answer, self._answers = (
            each.view(kind) for each in (asked, came, answer, answers)
        )

    def memory(self) -> Array:
        """Where the step's local sums go."""
        return self._flat

    def run(self, divisor: float) -> Array:
        """The mean, in one bit an element; NaN throughout where anything is not finite."""
        with np.errstate(all="ignore"):
            self._work(share(self._flat, divisor, self._size))
            self._serve()
            # A worker's scale that is not finite makes those of its servers so, which all see.
            if finite(self._answers["scale"]):
                self.worker.keep()
                self.server.keep()
                values = decoded(self._answers["signs"], self._answers["scale"][:, None])
                self._flat[...] = values.reshape(-1)[: self._flat.size]
            else:
                self._flat[...] = np.nan
        return self._flat.astype(self._dtype, copy=False)

    def _work(self, values: Array) -> None:
        """Compress all, and send each chunk to its server."""
        scale, signs = self.worker.compress(values)
        padded = np.zeros(self._asked["signs"].size, np.uint8)
        padded[: signs.size] = signs
        self._asked["scale"], self._asked["signs"] = scale, padded.reshape(self._size, -1)
        self._ask.run()

    def _serve(self) -> None:
        """Average what has come, compress it again, and tell all."""
        mean = np.zeros_like(self.server.error)
        for each in self._came:  # in rank order
            mean += decoded(each["signs"], each["scale"])[: mean.size]
        mean /= self._size
        scale, signs = self.server.compress(mean)
        self._answer["scale"], self._answer["signs"] = scale, 0
        self._answer["signs"][0, : signs.size] = signs
        self._tell.run()


class Quantizer:
    """Signs and a scale for vectors of one length; what they miss is added to the next."""

    def __init__(self, count: int, dtype: np.dtype[Any], feedback: bool) -> None:
        self.error = np.zeros(count, dtype)
        self._feedback, self._missed = feedback, self.error

    def compress(self, values: Array) -> tuple[np.float32, Array]:
        """The scale, and signs packed into bytes; the error stays as it was until ``keep``."""
        whole = values + self.error
        scale, signs = rms(whole), np.packbits(whole >= 0)
        self._missed = whole - decoded(signs, scale)[: whole.size]
        return scale, signs

    def keep(self) -> None:
        """Keep what the last ``compress`` missed."""
        if self._feedback:
            self.error = self._missed


def rms(values: Array) -> np.float32:
    """The root of the mean square: with any signs, a vector of the same length as ``values``."""
    if not values.size:
        return np.float32(0)
    return np.float32(np.sqrt(np.mean(np.square(values, dtype=np.float64))))


def decoded(signs: Array, scale: Any) -> Array:
    """``scale`` where a bit is set, and ``-scale`` elsewhere; 8 elements a byte."""
    values: Array = np.where(np.unpackbits(signs, axis=-1), scale, -scale)
    return values
