"""The same step event by event, every rank on its own: what the recurrence must agree with.

A rank computes until its next bucket is ready; a bucket's reduction starts when the last rank
has it ready and the one before is over, and slows the computing of all while it lasts.  Nothing
is shared with ``timeline_overlap`` but what goes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from refcoll.planning.machine import Machine
from refcoll.planning.playing import played
from refcoll.planning.timeline import Step, calls
from refcoll.planning.timeline_training import Training, work


@dataclass
class _Rank:
    todo: list[float]
    """Seconds before each mark: of waiting to begin, of work before each bucket and behind the
    last."""
    marks: list[float] = field(default_factory=list)
    """When they were passed: begin, ready times, end of backward."""

    def left(self, slow: float) -> float | None:
        """Seconds until its next mark, at the speed of now; None where it has passed all."""
        if len(self.marks) == len(self.todo):
            return None
        return self.todo[len(self.marks)] * (slow if self.marks else 1)

    def run(self, now: float, seconds: float, slow: float) -> None:
        """So many seconds pass from ``now`` on, not beyond its next mark."""
        left = self.left(slow)
        if left is None:
            return
        if left == seconds:
            self.marks.append(now + seconds)
        else:
            self.todo[len(self.marks)] -= seconds / (slow if self.marks else 1)


def events(
    work: Sequence[float], lengths: Sequence[float], begins: Sequence[float],
    slowdown: float = 1, after: float = 0,
) -> tuple[list[tuple[float, float]], list[list[float]]]:  # fmt: skip
    """Start and end of each bucket; by rank, when each was ready, and when backward ended.

    Time begins at 0; rank r computes from ``begins[r]`` on.
    """
    ranks = [_Rank([begin, *work, after]) for begin in begins]
    spans: list[tuple[float, float]] = []
    now: float = 0
    while True:
        busy = bool(spans) and spans[-1][1] > now
        ready = min(len(each.marks) for each in ranks) - 1
        if not busy and len(spans) < min(len(lengths), ready):
            spans.append((now, now + lengths[len(spans)]))
            continue
        slow = slowdown if busy else 1
        coming = _coming(ranks, slow) + ([spans[-1][1] - now] if busy else [])
        if not coming:
            return spans, [each.marks[1:] for each in ranks]
        passed = min(coming)
        for each in ranks:
            each.run(now, passed, slow)
        now = spans[-1][1] if busy and passed == spans[-1][1] - now else now + passed


def _coming(ranks: Sequence[_Rank], slow: float) -> list[float]:
    """Seconds until the next marks of the ranks that have any left."""
    left = (each.left(slow) for each in ranks)
    return [seconds for seconds in left if seconds is not None]


def played_step(training: Training, machine: Machine) -> float | None:
    """Seconds from the begin of the last backward to its last bucket's end, with each bucket's
    schedule played under the clock and all ranks event by event; None where they cannot be."""
    lengths = []
    known: dict[int, float | None] = {}
    for each in calls(training, machine).buckets:
        if each.nbytes not in known:
            known[each.nbytes] = played(machine, [each]).get(each.algorithm)
        if (length := known[each.nbytes]) is None:
            return None
        lengths.append(length)
    needed = work(training)
    begins = [0.0] * (machine.ranks - 1) + [training.late]
    after = training.backward - sum(needed)
    spans, ready = events(needed, lengths, begins, training.interference, after)
    return max(spans[-1][1], *(each[-1] for each in ready))


def difference(predicted: Step, seconds: float) -> float:
    """Of the played step from the predicted one, as a share of it."""
    return seconds / predicted.timelines[0].wait_end - 1
