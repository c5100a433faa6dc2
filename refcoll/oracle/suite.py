"""Tests of an implementation, for pytest: one a collective, operator and dtype.

    pytest --refcoll-implementation mylib.testing:make --pyargs refcoll.oracle.suite
    mpirun -n 4 python -m pytest --refcoll-implementation mpi --pyargs refcoll.oracle.suite

Under mpirun each rank runs pytest, and all of them the same tests in the same order: neither
xdist nor a random order goes with that.  Verdicts are the same on all ranks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from refcoll.errors import ArgumentError, RefcollError
from refcoll.launching import launched_size
from refcoll.oracle.calls import Call, calls
from refcoll.oracle.courts import in_process
from refcoll.oracle.hanging import leave, places
from refcoll.oracle.implementation import Factory, factory, takes_comm
from refcoll.oracle.judging import Finding, Judgement
from refcoll.oracle.making import NotMadeError
from refcoll.oracle.reporting.report import Report
from refcoll.oracle.reporting.setting import Setting
from refcoll.oracle.xfails import Xfails, read
from refcoll.words import counted


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
        """Raises ArgumentError for what cannot be judged; in a job on all ranks."""
        self.config = config
        self.name, self.seed = self._option("implementation"), self._option("seed")
        self.xfails, self.size = Xfails(), launched_size() or self._option("ranks")
        self._make: Factory = lambda comm: None
        self._jury: Any = None
        self._lost = False
        """Whether what had to be made again could not be."""
        if launched_size() is None:
            self._make = self._prepared()
        else:
            self._jury = self._called_together()

    def _option(self, name: str) -> Any:
        return self.config.getoption(f"--refcoll-{name}")

    def _prepared(self) -> Factory:
        self.xfails = read(self._option("xfails"))
        made = factory(self.name)
        if launched_size() is None and not takes_comm(self.name):
            raise ArgumentError(
                f"implementation={self.name!r} takes no communicator, so its ranks are processes: "
                f"mpirun -n {self.size} python -m pytest ..."
            )
        return made

    def _called_together(self) -> Any:
        from refcoll.oracle.processes import Jury

        error = None
        try:
            self._make = self._prepared()
        except ArgumentError as found:
            error = found
        jury = Jury(seed=self.seed, timeout=self._option("timeout"), on_hang=self._told)
        try:
            jury.require(error)
            jury.begin(self._make)
        except RefcollError:
            jury.close()
            raise
        return jury

    def _told(self, judgement: Judgement | None, said: str) -> None:
        """Of a hang, just before it ends all."""
        capture = self.config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.suspend_global_capture()
        sys.stderr.write(f"\n{said}\n")

    def judge(self, asked: Sequence[Call]) -> list[Judgement]:
        """Collective, in a job."""
        if self._jury is not None:
            if self._lost:
                self._jury.begin(self._make)
            found: list[Judgement] = self._jury.judge(asked)
            self._lost = found[-1].last
            return found
        limit = self._option("timeout")
        timeout = min(limit / 2, 2.0)
        return in_process(
            self._make, self.size, asked, seed=self.seed, timeout=timeout, limit=limit
        )

    def report(self, asked: int) -> Report:
        """Empty; it knows how to reproduce."""
        launched = self._jury is not None
        setting = Setting(self.name, self.name, self.size, launched, self.seed)
        return Report(setting, self.xfails, asked=asked)

    def close(self) -> None:
        """Nothing more is judged."""
        if self._jury is not None:
            self._jury.close()


class _Leaving:
    """A plugin that ends the process after pytest: threads that hang might keep it for ever."""

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Note the status."""
        self._status = int(exitstatus)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """All is told."""
        leave(self._status)


@pytest.fixture(scope="session")
def court(request: pytest.FixtureRequest) -> Iterator[Court]:
    """One for all tests: in a job an implementation is made once, and again after it has raised."""
    with _ending_the_run():
        made = Court(request.config)
    yield made
    made.close()


@contextmanager
def _ending_the_run() -> Iterator[None]:
    """What cannot be judged at all is no failure of any test."""
    try:
        yield
    except ArgumentError as error:
        pytest.exit(f"refcoll: {error}", returncode=4)
    except NotMadeError as error:
        pytest.exit(f"refcoll: the implementation cannot be made: {error}", returncode=4)


def test_collective(case: list[Call], court: Court, request: pytest.FixtureRequest) -> None:
    """Right in all calls: lengths, roots, in place and out of place, and all kinds of inputs."""
    report = court.report(len(case))
    with _ending_the_run():
        report.judgements += court.judge(case)
    if any(each.hangs for each in report.judgements):
        request.session.shouldfail = "what hangs is still at work, and would slow other tests"
        request.config.pluginmanager.register(_Leaving())
    outcomes = report.outcomes()
    if outcomes["failed"] or report.stopped is not None:
        pytest.fail(_said(report), pytrace=False)
    if outcomes["declared"]:
        pytest.xfail(_reasons(report))
    if outcomes["unsupported"] == len(case):
        pytest.skip(str(report.judgements[0].skipped))
    for pattern in report.xfails.unneeded(report.judgements):
        request.applymarker(pytest.mark.xfail(reason=f"declared: {pattern}"))  # shows as XPASS


def _said(report: Report) -> str:
    """What is wrong, in words, and how to see it again."""
    failed, judged = report.outcomes()["failed"], counted(len(report.judgements), "call")
    lines = [f"{failed} of {judged} wrong"]
    lines += [report.stopped] if report.stopped is not None else []
    for group in report.groups():
        simplest = group.simplest
        lines += ["", str(simplest), *places(simplest.standing)]
        lines += [each for each in (group.others(), report.reproducer(simplest)) if each]
    return "\n".join(lines)


def _reasons(report: Report) -> str:
    findings: list[Finding] = [f for judged in report.judgements for f in judged.findings]
    return "; ".join(sorted({str(report.xfails.reason(each)) for each in findings}))
