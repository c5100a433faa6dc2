"""Flags: the class of bugs that a vector is there to find."""

from __future__ import annotations

from collections.abc import Iterator

from refcoll.oracle.calls import IN_PLACE, Call

FLAGS = {
    "CountZero": "no elements: nothing may be read or written, and nothing may hang",
    "CountOne": "one element, in a vector or a part: there is nothing to cut",
    "FewerThanRanks": "fewer elements than ranks: some chunks are empty",
    "TailShorterThanRanks": "the length is no multiple of the number of ranks: chunks differ in "
    "length, and a remainder is easily forgotten",
    "LoopTail": "longer than 128 by 3: the remainder of an unrolled or vectorised loop",
    "InPlace": "may be run in place too: inputs may be overwritten before they are sent",
    "RootNotZero": "another root than rank 0: ranks relative to the root are easily mixed up",
    "MisplacedChunk": "values differ by rank and element: a chunk in the wrong place shows",
    "RankMissing": "rank r puts in 4^r, so that a digit 0 in base 4 names a rank left out",
    "RankDoubled": "rank r puts in 4^r, so that a digit 2 in base 4 names a rank counted twice",
    "WrongOperator": "a value that another operator would not give",
    "AverageByRanks": "divided by N, once",
    "ComplexParts": "real and imaginary parts differ: mixing or dropping one shows",
    "LogicalOfNonBooleans": "truth values other than 0 and 1: bitwise is not logical",
    "NarrowDtype": "16-bit floats: converting them wrongly shows",
    "NarrowAccumulator": "a partial sum kept in too few bits is out of bounds",
    "Cancellation": "large values of opposite sign leave a small one",
    "NaNOnEachRank": "a NaN, on each rank in turn: the sum is NaN",
    "NaNInMinMax": "a NaN, on each rank in turn: min and max propagate all, or ignore all",
    "InfinityOnEachRank": "an infinity of either sign, on each rank in turn",
    "OppositeInfinities": "inf - inf is NaN",
    "SignedZeros": "zeros of both signs; either sign is right",
    "Subnormal": "subnormal numbers must not be flushed to zero",
    "Overflow": "the sum is beyond the largest number: inf, and nothing else",
    "NearOverflow": "no partial sum in any order overflows, though it comes near",
    "SignedExtremes": "integers at both ends of a signed range",
    "UnsignedExtremes": "integers with the top bit set, which are not negative",
    "WrapAround": "unsigned integers wrap modulo 2^bits",
    "IntegerBeyondDouble": "more than 53 bits: lost where integers are summed as doubles",
    "NonCommutative": "associative, but the lower rank's operand must stand on the left",
    "ElementWidth": "elements of 1, 2, 4, 8 and 16 bytes are moved as they are",
    "NaNPayload": "bits that are a signalling NaN, or a NaN with a payload, are moved as they are",
}
"""By name, what it means."""


def flags_of_shape(call: Call, size: int) -> Iterator[str]:
    """Those that follow from the call alone."""
    if call.count == 0:
        yield "CountZero"
    if call.count == 1:
        yield "CountOne"
    if call.collective in _CUT and 0 < call.count < size:
        yield "FewerThanRanks"
    if call.collective in _CUT and call.count > size and call.count % size:
        yield "TailShorterThanRanks"
    if call.count == LOOP_TAIL:
        yield "LoopTail"
    if call.collective in IN_PLACE:
        yield "InPlace"
    if call.root:
        yield "RootNotZero"
    if call.dtype in ("float16", "bfloat16"):
        yield "NarrowDtype"


LOOP_TAIL = 131
_CUT = ("all_reduce", "reduce", "broadcast", "scan", "exscan")
"""Collectives of a whole vector, which an algorithm may cut into chunks; others have parts."""
