"""One call, tried with each probe: what every rank saw, and the verdict.

Each probe runs three times: once; once with other inputs, so that what is left over from a
call shows in the next; and once more with the first inputs, whose results must be the same
bits.  The last run stands one element further from an aligned address.  Buffers are looked at
when a call returns, and again after the calls that follow.  Everything that ranks tell each
other goes through a communicator that is not the implementation's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.errors import ArgumentError
from refcoll.operators import Array
from refcoll.oracle.agreement import NaNRules
from refcoll.oracle.buffers import Buffers, buffers
from refcoll.oracle.calls import Call
from refcoll.oracle.endings import ended, failed
from refcoll.oracle.history import History
from refcoll.oracle.implementation import Implementation, called, unsupported
from refcoll.oracle.making import NotMadeError, made
from refcoll.oracle.probes import probes_for
from refcoll.oracle.run import Seen, Watched, seen
from refcoll.oracle.trial import Trial
from refcoll.oracle.verdicts import VERDICTS, Finding, Judgement
from refcoll.oracle.watchdog import Watch
from refcoll.testing.values import dtype_named

__all__ = ["VERDICTS", "Finding", "Judge", "Judgement"]


class Judge:
    """An implementation on trial, on this rank.  All ranks judge the same calls in turn."""

    def __init__(
        self,
        comm: Communicator,
        make: Callable[[], Implementation],
        seed: int = 0,
        watch: Watch | None = None,
    ) -> None:
        """``watch`` tells others what is being done.  Collective; raises NotMadeError."""
        self._comm, self._make, self._seed = comm, make, seed
        self._watch = watch or Watch()
        self.implementation = made(comm, make, self._watch)
        self.watched: list[Watched] = []
        """The last run of the last trial."""
        self.nan_rules = NaNRules()
        self.history = History(comm.size)

    def judge(self, call: Call) -> Judgement:
        """The verdict, the same on all ranks.  Collective."""
        reasons = [each["why"] for each in self.collect({"why": self._unsupported(call)})]
        if all(reasons):
            return Judgement(call, skipped=reasons[0])
        judgement = Judgement(call, probes=tuple(probes_for(call)))
        if any(reasons):
            said = ended(["done" if why is None else f"refused: {why}" for why in reasons])
            finding = Finding(call, judgement.probes[0], self._seed, "finished", said)
            judgement.findings.append(finding)
            return judgement
        for probe in judgement.probes:
            trial = Trial(self, call, probe)
            if trial.refused:
                return Judgement(call, skipped=trial.refused)
            judgement.findings += trial.findings()
            if trial.broken:
                self._renew(judgement, probe)
                break
        return judgement

    def _renew(self, judgement: Judgement, probe: str) -> None:
        """Make another: what has raised may be out of step."""
        try:
            self.implementation = made(self._comm, self._make, self._watch)
        except (NotMadeError, ArgumentError) as error:
            said = f"after that, it could not be made again: {error}"
            judgement.findings.append(Finding(judgement.call, probe, self._seed, "finished", said))
            judgement.last = True

    def _unsupported(self, call: Call) -> str | None:
        try:
            with self._watch.watching():
                return unsupported(self.implementation, call)
        except Exception as error:
            return failed(error)

    # ---- one run -------------------------------------------------------------------------

    def try_once(self, call: Call, given: Sequence[Array], shift: int = 0) -> Seen:
        """Make the call on these inputs, ``given`` by rank, in guarded buffers."""
        mine, held = given[self.rank], buffers(call, self.rank, self.size, shift)
        if held.source is not None:
            held.source[:] = mine
        found = seen(call, self.size, held, mine, self._made(call, held))
        self.history.note(call, given, found.output)
        return found

    def _made(self, call: Call, held: Buffers) -> str:
        """How the call ends."""
        try:
            with self._watch.watching(), np.errstate(all="ignore"):
                called(self.implementation, call, held.source, held.target)
        except NotImplementedError as error:
            return f"refused: {error}"
        except (Exception, SystemExit) as error:
            return failed(error)
        return "done"

    def collect(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        """Everybody's records, by rank.  Collective."""
        record = {"collective": "judge", **record}
        everyone = self._comm.agreement.collect(record, (), self._comm.timeout)
        self._watch.met()
        return everyone

    def gathered(self, output: Array | None, call: Call) -> list[Array | None]:
        """Everybody's outputs, by rank.  Collective."""
        size, dtype = self._comm.size, dtype_named(call.dtype)
        lengths = [call.output_length(rank, size) for rank in range(size)]
        counts = [0 if each is None else each * dtype.itemsize for each in lengths]
        raw = np.zeros(0, np.uint8) if output is None else output.view(np.uint8)
        whole = self._comm.all_gather(raw, counts=counts)
        ends = [int(end) for end in np.cumsum(counts)]
        return [
            None if length is None else whole[end - count : end].view(dtype)
            for length, end, count in zip(lengths, ends, counts, strict=True)
        ]

    @property
    def seed(self) -> int:
        """That inputs follow from."""
        return self._seed

    @property
    def rank(self) -> int:
        """This one."""
        return self._comm.rank

    @property
    def size(self) -> int:
        """How many there are."""
        return self._comm.size
