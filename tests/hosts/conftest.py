"""Hosts are built once per shape and session; where they cannot be, tests are skipped, unless
REFCOLL_REQUIRE_HOSTS is set: then they fail, with the same reason."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from refcoll.testing.hosts import Hosts, HostsUnavailable

PROGRAMS = Path(__file__).parent / "programs"
LIMIT = 60
"""Seconds after which a job is taken to hang."""


@pytest.fixture(scope="session")
def entered() -> Callable[[Hosts], AbstractContextManager[Hosts]]:
    """A context of the hosts, built, in which the test skips or fails where that cannot be."""
    return _entered


@contextmanager
def _entered(hosts: Hosts) -> Iterator[Hosts]:
    with ExitStack() as ending:
        try:
            ending.enter_context(hosts)
        except HostsUnavailable as error:
            if os.environ.get("REFCOLL_REQUIRE_HOSTS"):
                pytest.fail(f"REFCOLL_REQUIRE_HOSTS is set, and {error}")
            pytest.skip(str(error))
        yield hosts


@pytest.fixture(scope="session")
def built() -> Iterator[Callable[..., Hosts]]:
    """Hosts of a shape and rate, the same ones for all who ask for them."""
    made: dict[tuple[Any, ...], Hosts] = {}
    with ExitStack() as ending:

        def get(hosts: int, per_host: int, rate: str = "1gbit") -> Hosts:
            key = (hosts, per_host, rate)
            if key not in made:
                made[key] = ending.enter_context(_entered(Hosts(hosts, per_host, rate)))
            return made[key]

        yield get


@pytest.fixture(scope="session")
def program() -> Callable[..., Any]:
    """Runs one of ``programs`` on hosts, and gives what its rank 0 has written, as JSON."""

    def run(hosts: Hosts, name: str, *arguments: str, placement: str = "block") -> Any:
        path = str(PROGRAMS / name)
        done = hosts.mpirun(sys.executable, path, *arguments, placement=placement, timeout=LIMIT)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout)

    return run
