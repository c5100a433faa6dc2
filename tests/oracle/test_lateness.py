"""A call is over when it returns: what is written or read later is seen, and told apart."""

import pytest

from refcoll.oracle.buffers import buffers
from refcoll.oracle.calls import Call
from refcoll.oracle.comparing import exactly
from refcoll.oracle.courts import in_process
from refcoll.oracle.mutants.beyond import padded
from refcoll.oracle.mutants.sound import Sound
from refcoll.oracle.run import seen

CALL = Call("all_reduce", 37, "int32")


class Late(Sound):
    """Does something to the buffers of call number ``after`` when the next one begins."""

    after = 1

    def __init__(self, comm):
        super().__init__(comm)
        self.calls, self.old = 0, None

    def all_reduce(self, x, out, op):
        if self.calls == self.after:
            self.late(*self.old)
        self.calls, self.old = self.calls + 1, (x, out)
        super().all_reduce(x, out, op)


class Result(Late):
    def late(self, x, out):
        out[3:5] += 1


class Input(Late):
    def late(self, x, out):
        x[:] = 0


class Guard(Late):
    def late(self, x, out):
        padded(out, 2)[out.size :] = 0


class Incomplete(Late):
    """The last chunk is there only when the next call begins."""

    def all_reduce(self, x, out, op):
        super().all_reduce(x, out, op)
        if self.calls == self.after:
            self.rest, out[-9:] = out[-9:].copy(), 0

    def late(self, x, out):
        out[-9:] = self.rest


def found(make, *calls):
    judged = in_process(make, 4, calls or [CALL])
    return [(str(f.call), f.verdict, f.diagnosis) for each in judged for f in each.findings]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Result, "the result was written to after the call had returned: elements 3-4"),
        (Input, "the input was written to after the call had returned"),
        (Guard, "memory up to 8 bytes behind the end of a buffer was written to after the call "
                "had returned"),
        (Incomplete, "returned before its result was complete: elements 28-36 (chunk 3 of 4, as in "
                     "a ring) came later"),
    ],
)  # fmt: skip
def test_what_is_late(kind, words):
    assert found(kind) == [(str(CALL), "finished", f"ranks 0-3: {words}")]


@pytest.mark.parametrize("after", [2, 3, 5, 6])
def test_after_whichever_run(after):
    """Three runs are a trial, two trials a call of integers: the one before is not forgotten."""
    made = type("Made", (Result,), {"after": after})
    other = Call("all_reduce", 50, "int32")
    (only,) = found(made, CALL, other)
    assert only[:2] == (str(CALL), "finished")


def test_other_bits_that_are_right_as_well_are_late_too_and_nothing_was_incomplete():
    call = Call("all_reduce", 3)
    held = buffers(call, 0, 1)
    held.target[:] = [0.0, 1.0, 2.0]
    right = exactly(held.target.copy())
    run = seen(call, 1, held, held.source.copy(), "done")
    assert run.late(right) is None
    held.target[0] = -0.0
    assert run.late(right) == ("the result was written to after the call had returned: element 0")


class Reads(Sound):
    """Takes its own input after it has returned, in the next call."""

    old = None

    def all_reduce(self, x, out, op):
        mine = x if self.old is None or self.old.size != x.size else self.old
        self.old = x
        super().all_reduce(mine.copy(), out, op)


def test_what_is_read_late_is_poison():
    (first, *_) = found(Reads)
    assert first[1] == "value"
    assert "what the output held before" in first[2] or "wrong" in first[2]


def test_what_has_raised_is_not_called_late():
    class Raises(Result):
        def all_reduce(self, x, out, op):
            super().all_reduce(x, out, op)
            raise ValueError("no")

    assert all("raised ValueError" in words for _, _, words in found(Raises, CALL, CALL))


def test_nothing_is_late_in_what_is_right():
    assert found(Sound, CALL, Call("scan", 9), Call("reduce", 5, root=1, in_place=True)) == []
