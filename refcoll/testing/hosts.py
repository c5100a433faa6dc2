"""Hosts on one Linux machine, joined by slow links: for MPI programs across a real network.

    python -m refcoll.testing.hosts 2x4 --rate 100mbit -- refcoll verify

    with Hosts(2, per_host=4, rate="100mbit") as hosts:
        run = hosts.mpirun(sys.executable, "program.py", placement="interleaved", timeout=60)

Each host has a name, processes, a /dev/shm and network interfaces of its own, and shares the
file system.  ``namespaces`` says how, ``network`` what joins them, ``mpirun`` how ranks get
there.  All of it ends with this process, however that ends.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from itertools import count

from refcoll.errors import ArgumentError, RefcollError, integer
from refcoll.testing import mpirun, network
from refcoll.testing.namespaces import HostsUnavailable, Room, require_tools
from refcoll.testing.network import Traffic

__all__ = ["Hosts", "HostsUnavailable", "Traffic"]

_MOST = 64
"""Hosts, or ranks on each, that one machine is asked to be."""
_BUILDS = count()


class Hosts:
    """A context: so many hosts of ``per_host`` ranks each, gone when it ends."""

    def __init__(
        self, hosts: int, per_host: int = 1, rate: str = "100mbit", delay: str | None = None
    ) -> None:
        """``rate`` limits each host's data link, each way; ``delay`` holds up what it sends.

        Raises ArgumentError for what cannot be; entering raises HostsUnavailable where this
        machine cannot be divided.
        """
        for name, value in (("hosts", hosts), ("per_host", per_host)):
            if not 1 <= integer(value, name) <= _MOST:
                raise ArgumentError(f"{name}={value} must be from 1 to {_MOST}")
        self.per_host, self.delay = per_host, delay
        self.bandwidth = network.quantity("rate", rate) / 8
        """Bytes of frames per second of each data link, each way."""
        if delay is not None:
            network.quantity("delay", delay)
        build = f"{os.getpid()}-{next(_BUILDS)}"
        self.names = tuple(f"host{k}-{build}" for k in range(hosts))
        self._switch_name = f"switch-{build}"
        self._rooms: list[Room] = []

    def __enter__(self) -> Hosts:
        require_tools()
        self._switch = Room(self._switch_name)
        try:
            for name in self.names:
                self._rooms.append(Room(name, self._switch))
            self._furnish()
            self._switch.run(network.bridges())
            for host, room in enumerate(self._rooms):
                self._switch.run(network.cables(host, room.pid, self.bandwidth, self.delay))
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._close()

    def _close(self) -> None:
        """The switch first: all that runs is within it."""
        for room in (self._switch, *self._rooms):
            room.close()
        self._rooms.clear()

    def _furnish(self) -> None:
        """Names, and the script that stands in for ssh."""
        names = network.addresses(self.names, self._switch_name)
        for room in (self._switch, *self._rooms):
            room.write("/dev/shm/names", names)
            room.write(mpirun.AGENT, mpirun.AGENT_SCRIPT)  # Open MPI's daemons look for it too
            room.run(f"mount --bind /dev/shm/names /etc/hosts; chmod +x {mpirun.AGENT}")
        for room in self._rooms:
            self._switch.write(f"/dev/shm/pid-{room.name}", f"{room.pid}\n")

    def mpirun(
        self,
        *command: str,
        placement: str = "block",
        timeout: float | None = None,
        capture: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run ``command`` on all ranks of all hosts, and come back when no process is left.

        "block" fills one host after the other, "interleaved" goes round them.  Raises
        subprocess.TimeoutExpired after ``timeout`` seconds, and ArgumentError for another
        placement or where there is no mpirun.  One run at a time.
        """
        launch = mpirun.launch(self.names, self.per_host, placement)
        pipe = subprocess.PIPE if capture else None
        with subprocess.Popen(
            [*self._switch.entrance, "env", "-C", os.getcwd(), *launch, *mpirun.located(command)],
            stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True,
            env={**os.environ, **mpirun.ENVIRONMENT}, start_new_session=True,
        ) as job:  # fmt: skip
            try:
                output, errors = job.communicate(timeout=timeout)
            except subprocess.TimeoutExpired as error:
                error.cmd = list(command)  # what the caller knows of it
                raise
            finally:
                self._end(job)
        return subprocess.CompletedProcess(command, job.returncode, output, errors)

    def _end(self, job: subprocess.Popen[str]) -> None:
        """See to it that nothing of a job is left, whether it has ended or not."""
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)  # mpirun, and what stands in for ssh
        for room in self._rooms:
            room.clear()
        job.wait()

    def traffic(self) -> tuple[Traffic, ...]:
        """What has gone over each host's data link so far."""
        return tuple(network.counters(room.run("cat /proc/net/dev")) for room in self._rooms)

    def cut(self, host: int) -> None:
        """Pull the plug of a host's data link; what is under way is lost."""
        self._switch.run(network.switched(self._checked(host), on=False))

    def mend(self, host: int) -> None:
        """Put it back."""
        self._switch.run(network.switched(self._checked(host), on=True))

    def _checked(self, host: int) -> int:
        if not 0 <= integer(host, "host") < len(self.names):
            raise ArgumentError(f"host={host} must be from 0 to {len(self.names) - 1}")
        return host


def main(arguments: Sequence[str]) -> int:
    """The command line; the exit status is the job's, 2 for bad usage, 1 where it cannot be."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options, command = _parser().parse_args(arguments[:end]), arguments[end + 1 :]
    try:
        hosts, per_host = _shape(options.shape)
        if not command:
            raise ArgumentError("command='' is missing: what is to run comes after --")
        with Hosts(hosts, per_host, options.rate, options.delay) as made:
            run = made.mpirun(
                *command, placement=options.placement, timeout=options.timeout, capture=False
            )
            _tell(made)
    except (RefcollError, subprocess.TimeoutExpired) as error:
        sys.stderr.write(f"hosts: {error}\n")
        return 2 if isinstance(error, ArgumentError) else 1
    return run.returncode


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m refcoll.testing.hosts",
        usage="%(prog)s 2x4 [OPTIONS] -- COMMAND ...",
        description="Run a command under mpirun on hosts that this Linux machine is divided into.",
    )
    parser.add_argument("shape", help="2x4 for 2 hosts of 4 ranks")
    parser.add_argument("--rate", default="100mbit", help="of each data link, each way")
    parser.add_argument("--delay", help="of what a host sends: 1ms (the kernel needs netem)")
    parser.add_argument("--placement", default="block", help=" or ".join(mpirun.PLACEMENTS))
    parser.add_argument("--timeout", type=float, help="seconds that the command may take")
    return parser


def _shape(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text)
    if match is None:
        raise ArgumentError(f"shape={text!r} must be hosts x ranks on each, such as 2x4")
    return int(match[1]), int(match[2])


def _tell(hosts: Hosts) -> None:
    """What went over the data links, on standard error."""
    for name, each in zip(hosts.names, hosts.traffic(), strict=True):
        sys.stderr.write(
            f"hosts: {name} sent {each.sent_bytes} bytes in {each.sent_packets} packets, "
            f"received {each.received_bytes} in {each.received_packets}\n"
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
