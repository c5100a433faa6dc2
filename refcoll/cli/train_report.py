"""What refcoll train tells: progress, epochs, and what came of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from refcoll.cli.output import console, table
from refcoll.cli.units import said_bytes
from refcoll.dataparallel.tasks import How, Task
from refcoll.dataparallel.timeline import drawn, rows
from refcoll.dataparallel.training import Listener, Outcome
from refcoll.dataparallel.trials import Trial
from refcoll.words import said_seconds


class Telling(Listener):
    """On rank 0: a bar on the terminal's standard error and, unless quiet, a line an epoch.

    Where standard error is no terminal (under mpirun, say), and epochs are not told of, it gets a
    line for each of several ``ways``.
    """

    def __init__(self, rank: int, task: Task, ways: int = 1, quiet: bool = False) -> None:
        self._rank, self._task, self._ways, self._quiet = rank, task, ways, quiet
        self._begun = 0
        self._steps = sum(1 for _ in task.steps(0))
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
        self._bar = Progress(
            *columns, console=Console(stderr=True), transient=True,
            disable=rank != 0 or not sys.stderr.isatty(),
        )  # fmt: skip

    def begin(self, how: How) -> Telling:
        """Another training begins."""
        self._begun += 1
        if self._rank == 0 and self._ways > 1 and self._bar.disable:
            said = f"training: {how.name}, {self._begun} of {self._ways}"
            print(said, file=sys.stderr, flush=True)
        self._bar.start()
        self._doing = self._bar.add_task(how.name, total=self._steps * self._task.epochs)
        return self

    def step(self, epoch: int, number: int) -> None:
        """One further."""
        self._bar.advance(self._doing)
        if (epoch, number) == (self._task.epochs - 1, self._steps - 1):
            self._bar.remove_task(self._doing)
            self._bar.stop()

    def epoch(self, epoch: int, outcome: Outcome) -> None:
        """Loss, accuracy and speed so far."""
        if self._rank == 0 and not self._quiet:
            speed = (epoch + 1) * len(self._task.train) / outcome.seconds
            print(
                f"epoch {epoch + 1:>{len(str(self._task.epochs))}} of {self._task.epochs}: "
                f"loss {outcome.losses[-1]:.4f}, accuracy {outcome.accuracies[-1]:.1%}, "
                f"{speed:,.0f} samples/s",
                flush=True,
            )


def verdict(trial: Trial) -> str:
    """In one line."""
    if trial.differing:
        names = ", ".join(f"{name} on ranks {ranks}" for name, ranks in trial.differing.items())
        return f"FAILS: replicas differ from rank 0's in {names}"
    alike = f"{trial.ranks} replicas alike to the bit"
    gap = f"within {trial.gap:.1e} of one process's"
    if trial.within is None:
        return f"holds: {alike}; compressed, so the loss curve is another: {gap}, relatively"
    if not trial.stable:
        return (
            "FAILS: the loss is not finite, or rounding alone moves it so much that its curve "
            "tells nothing: training diverges; try a smaller --lr"
        )
    if not trial.holds:
        return f"FAILS: the loss curve is {gap}, and rounding explains {trial.within:.0e}"
    return f"holds: {alike}; the loss curve is {gap} (rounding: up to {trial.within:.0e})"


def report(trial: Trial) -> None:
    """Bytes and times of one training, and its last step."""
    print(verdict(trial))
    print(
        f"S = {said_bytes(trial.nbytes)} of gradients; sent a step, at most by a rank: "
        f"{trial.sent:,.0f} B; 2(N-1)/N S = {trial.least:,.0f} B"
    )
    print(
        f"reductions {said_seconds(trial.communication, 3)} a step, {trial.hidden:.0%} of that "
        f"hidden behind backward; after backward the ranks wait {said_seconds(trial.exposed, 3)} "
        "(for one another, too)"
    )
    if trial.stragglers is not None:
        print(f"\nwho was late, in the last epoch:\n{trial.stragglers}")
    first = trial.last_step[0]
    print(
        "\nthe last step on rank 0 (= runs, . waits for its turn or other ranks, # runs after "
        "backward), and in ms:"
    )
    print(drawn(first))
    header = ("bucket", "bytes", "ready", "start", "end", "exposed")
    console().print(table(None, header, rows(first)))


def report_all(trials: Sequence[Trial]) -> None:
    """The trainings side by side."""
    header = (
        "way", "loss", "accuracy", "off one process", "sent a step", "of 2(N-1)/N S",
        "samples/s", "communication", "exposed", "hidden", "holds",
    )  # fmt: skip
    failing = [each for each in trials if not each.holds]
    for each in failing:
        print(f"{each.way}: {verdict(each)}")
    if not failing:
        print("holds: all replicas alike to the bit, loss curves right")
    epochs = len(trials[0].losses)
    print(
        f"{trials[0].ranks} ranks, {epochs} epoch{'s' * (epochs != 1)}, "
        f"S = {said_bytes(trials[0].nbytes)}; times and bytes a step"
    )
    console().print(table(None, header, [_cells(each) for each in trials]))


def _cells(trial: Trial) -> list[str]:
    share = f"{trial.sent / trial.least:.3f}" if trial.least else "-"
    return [
        trial.way, f"{trial.losses[-1]:.4f}", f"{trial.accuracies[-1]:.1%}", f"{trial.gap:.1e}",
        f"{trial.sent:,.0f}", share, f"{trial.samples_per_second:,.0f}",
        said_seconds(trial.communication, 3), said_seconds(trial.exposed, 3),
        f"{trial.hidden:.0%}", "yes" if trial.holds else "NO",
    ]  # fmt: skip
