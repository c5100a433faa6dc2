"""When buckets were ready, were reduced, and how much of that backward did not hide.

backward   |=====compute=====|          seconds from the start of backward
bucket 0         r[--s====e]            r ready, s start, e end of its reduction
bucket 1               r----[s=====e]   one after another on the communication thread
                             ^^^^^^^^   exposed: after backward's end, the ranks wait

start_i = max(ready_i, end_(i-1)) where nothing else delays it
exposed_i = max(0, end_i - max(start_i, end of backward))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from refcoll.clocks import offsets

if TYPE_CHECKING:
    from refcoll.communicator import Communicator


@dataclass(frozen=True)
class BucketTimes:
    """One bucket of one step.  Seconds on the rank's monotonic clock."""

    index: int
    nbytes: int
    ready: float
    """When its last gradient came, or backward ended without one."""
    start: float
    end: float


@dataclass(frozen=True)
class Timeline:
    """One step of one rank.  Seconds on the rank's monotonic clock."""

    rank: int
    begin: float
    """When backward began, ..."""
    backward_end: float
    """... and when it ended."""
    wait_begin: float
    """When the rank began to wait for the gradients' means, ..."""
    wait_end: float
    """... and when it had them all."""
    buckets: tuple[BucketTimes, ...]

    def exposed(self, bucket: BucketTimes) -> float:
        """The part of the bucket's reduction that backward did not hide."""
        return max(0.0, bucket.end - max(bucket.start, self.backward_end))

    @property
    def communication(self) -> float:
        """Seconds that reductions took, hidden or not."""
        return sum(each.end - each.start for each in self.buckets)

    @property
    def total_exposed(self) -> float:
        """From the end of backward to the end of the last bucket."""
        last = max((each.end for each in self.buckets), default=self.backward_end)
        return max(0.0, last - self.backward_end)

    @property
    def hidden(self) -> float:
        """The share of communication that ran while backward went on, from 0 to 1."""
        exposed = sum(self.exposed(each) for each in self.buckets)
        return 1 - exposed / self.communication if self.communication else 1.0

    def shifted(self, seconds: float) -> Timeline:
        """The same on a clock that shows ``seconds`` more."""
        moved = {name: getattr(self, name) + seconds for name in _TIMES}
        buckets = tuple(
            BucketTimes(b.index, b.nbytes, b.ready + seconds, b.start + seconds, b.end + seconds)
            for b in self.buckets
        )
        return Timeline(self.rank, **moved, buckets=buckets)


_TIMES = ("begin", "backward_end", "wait_begin", "wait_end")


def gather(comm: Communicator, timeline: Timeline) -> list[Timeline]:
    """Every rank's timeline of the step, by rank, on rank 0's clock.  Collective."""
    ahead, _ = offsets(comm)
    own = asdict(timeline.shifted(-ahead[comm.rank]))
    everyone = comm.agreement.collect({"collective": "timeline", **own}, (), comm.timeout)
    return [_read(each) for each in everyone]


def _read(record: dict[str, Any]) -> Timeline:
    buckets = tuple(BucketTimes(**each) for each in record["buckets"])
    times = {name: record[name] for name in _TIMES}
    return Timeline(record["rank"], **times, buckets=buckets)


def drawn(timeline: Timeline, width: int = 60) -> str:
    """The step in characters: "=" where something runs, "." where a full bucket waits, for its
    turn or for other ranks, "#" where its reduction is exposed."""
    last = max([timeline.wait_end, *(each.end for each in timeline.buckets)])
    whole = max(last - timeline.begin, 1e-9)

    def place(seconds: float) -> int:
        return min(width, max(0, round((seconds - timeline.begin) / whole * width)))

    def bar(*parts: tuple[float, float, str]) -> str:
        cells = [" "] * width
        for start, end, sign in parts:
            first = min(place(start), width - 1)  # something, however short
            for cell in range(first, max(place(end), first + 1)):
                cells[cell] = sign
        return "".join(cells)

    wide = max(len(name) for name in ("backward ", *map(_label, timeline.buckets)))
    lines = [f"{'backward':{wide}}|{bar((timeline.begin, timeline.backward_end, '='))}|"]
    for each in timeline.buckets:
        parts = [(each.ready, each.start, ".")] if each.start > each.ready else []
        parts.append((each.start, each.end, "="))
        if timeline.exposed(each):
            parts.append((max(each.start, timeline.backward_end), each.end, "#"))
        lines.append(f"{_label(each):{wide}}|{bar(*parts)}|")
    return "\n".join(lines)


def _label(bucket: BucketTimes) -> str:
    return f"bucket {bucket.index}"


def rows(timeline: Timeline) -> list[list[str]]:
    """Bucket, bytes, and milliseconds since backward began: ready, start, end; exposed."""

    def said(seconds: float) -> str:
        return f"{seconds * 1e3:.3f}"

    return [
        [
            str(each.index), str(each.nbytes),
            *(said(when - timeline.begin) for when in (each.ready, each.start, each.end)),
            said(timeline.exposed(each)),
        ]
        for each in timeline.buckets
    ]  # fmt: skip


def chrome_trace(*steps: Sequence[Timeline]) -> dict[str, Any]:
    """What Perfetto and chrome://tracing open: of each step the ranks' timelines.

    One process a rank, with a track each for compute, communication and waiting.  (Trace
    Event Format: "X" is a complete event; ``ts`` and ``dur`` are microseconds.)
    """
    begin = min((each.begin for step in steps for each in step), default=0.0)
    events: list[dict[str, Any]] = []
    for rank in sorted({each.rank for step in steps for each in step}):
        events.append(_named("process_name", rank, 0, f"rank {rank}"))
        events += [_named("thread_name", rank, n, name) for n, name in enumerate(_TRACKS)]
    for number, step in enumerate(steps):
        for each in step:
            events += _events(each, number, begin)
    return {"traceEvents": events, "displayTimeUnit": "ms"}


_TRACKS = ("compute", "communication", "waiting")


def _named(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _events(timeline: Timeline, step: int, begin: float) -> list[dict[str, Any]]:
    def event(track: int, name: str, start: float, end: float, **args: Any) -> dict[str, Any]:
        return {
            "ph": "X", "pid": timeline.rank, "tid": track, "name": name,
            "ts": (start - begin) * 1e6, "dur": max(0.0, end - start) * 1e6,
            "args": {"step": step, **args},
        }  # fmt: skip

    events = [
        event(0, "backward", timeline.begin, timeline.backward_end),
        event(2, "wait", timeline.wait_begin, timeline.wait_end),
    ]
    for each in timeline.buckets:
        exposed = timeline.exposed(each) * 1e6
        said = {"bytes": each.nbytes, "ready": (each.ready - begin) * 1e6, "exposed": exposed}
        events.append(event(1, f"bucket {each.index}", each.start, each.end, **said))
    return events
