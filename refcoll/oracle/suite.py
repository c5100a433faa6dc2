"""Tests of an implementation, for pytest: one a collective, operator and dtype.

    pytest --refcoll-implementation mylib.testing:make --pyargs refcoll.oracle.suite
    mpirun -n 4 python -m pytest --refcoll-implementation mpi --pyargs refcoll.oracle.suite

Under mpirun each rank runs pytest, and all of them the same tests in the same order: neither
xdist nor a random order goes with that.  Verdicts are the same on all ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from refcoll.errors import ArgumentError
from refcoll.launching import launched_size
from refcoll.oracle.calls import Call, calls
from refcoll.oracle.courts import in_process
from refcoll.oracle.implementation import factory, takes_comm
from refcoll.oracle.judging import Finding, Judgement
from refcoll.oracle.reporting.report import Report, Setting
from refcoll.oracle.xfails import Xfails, read


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for each of the cases."""
    if "case" in metafunc.fixturenames:
        if metafunc.config.getoption("--refcoll-implementation") is None:
            raise pytest.UsageError("--refcoll-implementation is missing: module:function")
        size = launched_size() or metafunc.config.getoption("--refcoll-ranks")
        found = cases(size, metafunc.config.getoption("--refcoll-thorough"))
        metafunc.parametrize("case", list(found.values()), ids=list(found))


def cases(size: int, thorough: bool = False) -> dict[str, list[Call]]:
    """The calls by what a test is named after: all_reduce-sum-float32."""
    found: dict[str, list[Call]] = {}
    for call in calls(size, thorough=thorough):
        name = "-".join(filter(None, (call.collective, call.op, call.dtype)))
        found.setdefault(name, []).append(call)
    return found


class Court:
    """Judges on threads, or with the other processes of a job."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.name, self.seed = self._option("implementation"), self._option("seed")
        self.xfails: Xfails = read(self._option("xfails"))
        self._make = factory(self.name)
        self.size = launched_size() or self._option("ranks")
        self._jury: Any = None
        if launched_size() is not None:
            self._jury = self._called_together()
        elif not takes_comm(self.name):
            raise ArgumentError(
                f"implementation={self.name!r} takes no communicator, so its ranks are processes: "
                f"mpirun -n {self.size} python -m pytest ..."
            )

    def _option(self, name: str) -> Any:
        return self.config.getoption(f"--refcoll-{name}")

    def _called_together(self) -> Any:
        from refcoll.oracle.processes import Jury

        capture = self.config.pluginmanager.getplugin("capturemanager")
        show = (lambda: None) if capture is None else capture.suspend_global_capture
        timeout = self._option("timeout")
        return Jury(self._make, seed=self.seed, timeout=timeout, on_hang=show)

    def judge(self, asked: Sequence[Call]) -> list[Judgement]:
        """Collective, in a job."""
        if self._jury is not None:
            found: list[Judgement] = self._jury.judge(asked)
            return found
        timeout = min(self._option("timeout"), 2.0)
        return in_process(self._make, self.size, asked, seed=self.seed, timeout=timeout)

    def report(self) -> Report:
        """Empty; it knows how to reproduce."""
        launched = self._jury is not None
        return Report(Setting(self.name, self.name, self.size, launched, self.seed), self.xfails)

    def close(self) -> None:
        """Nothing more is judged."""
        if self._jury is not None:
            self._jury.close()


@pytest.fixture(scope="session")
def court(request: pytest.FixtureRequest) -> Iterator[Court]:
    """One for all tests: an implementation is made once, and again after it has raised."""
    try:
        made = Court(request.config)
    except ArgumentError as error:
        pytest.exit(f"refcoll: {error}", returncode=4)
    yield made
    made.close()


def test_collective(case: list[Call], court: Court, request: pytest.FixtureRequest) -> None:
    """Right in all calls: lengths, roots, in place and out of place, and all kinds of inputs."""
    report = court.report()
    report.judgements += court.judge(case)
    outcomes = report.outcomes()
    if outcomes["failed"]:
        pytest.fail(_said(report), pytrace=False)
    if outcomes["declared"]:
        pytest.xfail(_reasons(report))
    if outcomes["unsupported"] == len(case):
        pytest.skip(str(report.judgements[0].skipped))
    for pattern in report.xfails.unneeded(report.judgements):
        request.applymarker(pytest.mark.xfail(reason=f"declared: {pattern}"))  # shows as XPASS


def _said(report: Report) -> str:
    """What is wrong, in words, and how to see it again."""
    groups = report.groups()
    lines = [f"{report.outcomes()['failed']} of {len(report.judgements)} calls are wrong"]
    for group in groups:
        lines += ["", str(group.smallest), group.others(), report.reproducer(group.smallest)]
    return "\n".join(lines)


def _reasons(report: Report) -> str:
    findings: list[Finding] = [f for judged in report.judgements for f in judged.findings]
    return "; ".join(sorted({str(report.xfails.reason(each)) for each in findings}))
