"""What a reader looks for by name: one table for each of the published comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from refcoll.cli.validate_training import training
from refcoll.cli.validate_words import said_error, said_size, told_cells
from refcoll.planning.validation import Group
from refcoll.planning.validation_report import Validation
from refcoll.planning.validation_rows import Compared
from refcoll.words import said_seconds

Section: TypeAlias = tuple[str, str, Sequence[str], Sequence[Sequence[str]]]
"""Title, text, header, rows."""
_SIZES = (1 << 20, 1 << 24, 1 << 25, 1 << 34)


def named(made: Validation) -> Iterator[Section]:
    """In the order of the page."""
    yield _nccl_tests(made)
    yield _ratios(made)
    yield _again(made)
    yield _decline(made)
    yield from training(made)


def short(made: Validation) -> str:
    """What to remember: a list."""
    groups = {each.title: each for each in made.groups}
    below, middle, upper, long = (
        f"{_group(groups, size).median:.0%}"
        for size in ("below 1 MiB", "1 to 64 MiB", "64 MiB to 1 GiB", "1 GiB and more")
    )
    half = made.repeated[0]
    rates = {
        (each.row.source, each.row.nodes): each
        for each in made.rows
        if each.row.subject == "ResNet-50" and each.predicted is not None
    }
    good, bad = (rates[f"horovod/horovod#{issue}", 4].error for issue in (779, 396))
    slower = next(
        each for each in made.rows
        if each.row.quantity == "slowdown" and each.row.ranks == 16 and each.predicted is not None
    )  # fmt: skip
    assert slower.predicted is not None
    return _SHORT.format(
        below=below, middle=middle, upper=upper, long=long, good=good, bad=bad,
        half=abs(half.second / half.first - 1), share=slower.predicted / slower.measured,
    )  # fmt: skip


def _group(groups: dict[str, Group], size: str) -> Group:
    return groups[f"all-reduce, {size}"]


_SHORT = """
* **Vectors of 1 GiB and more**: half of the errors are below {long}. The worst are on 8 B200, whose
measured rate jumps by 13 % between 4 and 8 GiB.
* **1 MiB to 1 GiB**: the model is too fast, by {middle} up to 64 MiB and {upper} above (medians).
NCCL changes protocols and channels there; the model does not. Put a measured table into the
machine: it is asked first, and off by a few per cent.
* **Below 1 MiB**: {below}. Calls are latency there, and how and with which NCCL it was measured
decides: the same author's two tables of 8 H200 differ by {half:.0%}.
* **Training steps** are as good as what the model is told. ResNet-50 on four nodes is {good:+.0%}
off on one network, and {bad:+.0%} on another that gave a fifth of its nominal rate. What
compressing costs, how steps vary, what a framework does besides: not told, so not predicted.
* **Signs**: told of no interference, the model has 1 MiB buckets ahead of 25 MiB, which is wrong.
With what the same benchmark shows of it elsewhere the sign is right, and the loss {share:.0%} of
the measured one."""


def _nccl_tests(made: Validation) -> Section:
    by_table = {
        (name, nbytes): told / seconds - 1
        for name, each in made.held_out
        if each.method.startswith("interpolated") and each.table.ranks == 8
        for nbytes, seconds, told in each.points
    }

    def cells(each: Compared) -> list[str]:
        row = each.row
        error = by_table.get((row.machine, row.bytes or 0))
        title = f"{row.machine}, {said_size(row.bytes or 0)}"
        return [title, *told_cells(each), "-" if error is None else said_error(error)]

    rows = [
        cells(each) for each in made.rows
        if each.row.machine in ("a100-node", "h200-node")
        and each.row.algorithm == "NCCL" and each.row.bytes in _SIZES
    ]  # fmt: skip
    header = ("8 ranks", "measured", "model", "error", "error of its table without the row")
    text = "The rows of 16 GiB gave the presets their achieved rates."
    return "## nccl-tests on 8 A100 and 8 H200", text, header, rows


def _ratios(made: Validation) -> Section:
    rows = [
        [each.title, said_size(each.nbytes), f"{each.measured:.2f}", f"{each.predicted:.2f}",
         said_error(each.predicted / each.measured - 1)]
        for each in made.ratios
    ]  # fmt: skip
    text = "How many times: 32 B200 against 8, and NVLink SHARP against NCCL's ring."
    header = ("", "", "measured", "predicted", "error")
    return "## One node and four; SHARP and the ring", text, header, rows


def _again(made: Validation) -> Section:
    rows = [
        [f"{each.machine}, {each.ranks} ranks", said_size(each.nbytes), said_seconds(each.first),
         said_seconds(each.second), said_error(each.second / each.first - 1)]
        for each in made.repeated
        if each.nbytes.bit_length() % 2  # every other size
    ]  # fmt: skip
    text = (
        "The same author, the same kind of machine, another NCCL, and calls queued so that the "
        "host does not show. No model can be nearer to both; presets have seen the first alone."
    )
    header = ("", "", "first", "second", "differs")
    return "## Two measurements of one thing", text, header, rows


def _decline(made: Validation) -> Section:
    rows = [
        [str(nodes), f"{chosen / 1e9:.1f}", f"{ring / 1e9:.1f}"]
        for nodes, chosen, ring in made.decline
    ]
    text = (
        "Fernandez et al. (arXiv:2411.13055) show in a plot how busbw falls from 4 to 512 nodes of "
        "8 H100. It has no figures, so there is no error to tell. The model has it fall too: a "
        "ring alone collapses, double trees lose less than half."
    )
    header = ("nodes", "NCCL, GB/s", "ring alone, GB/s")
    return "## 64 MiB on 4 to 512 nodes", text, header, rows
