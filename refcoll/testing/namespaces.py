"""Linux namespaces that live as long as this process: a machine's worth of isolation each.

A ``Room`` has network, host name, processes, System V objects and mounts of its own, among
them an empty /dev/shm.  It is held by a process that waits for the end of its standard input,
which comes when this process closes it or dies, however it dies; the holder is process 1 of
the room, so the kernel then ends all processes in it, and with them go its networks and
mounts.  Nothing has a name that could be left behind.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

from refcoll.errors import RefcollError

_NEW = ("--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child")
_TOOLS = {"unshare": "util-linux", "nsenter": "util-linux", "ip": "iproute2", "tc": "iproute2"}
"""What is called, and the package that brings it."""

# The first line gives the room's process 1 as it is numbered outside.  Processes whose parents
# have ended become its children, those in rooms within it too; while it leaves one unreaped,
# the kernel does not end the room.  Ignoring SIGCHLD reaps them, which not every shell can.
_FURNISH = """
read -r pid rest < /proc/self/stat
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /dev/shm
for each in all default; do
    file=/proc/sys/net/ipv6/conf/$each/disable_ipv6
    if [ -e $file ]; then echo 1 > $file; fi
done
ip link set lo up
exec "$1" -ISc "$2" "$3" "$pid"
"""
_HOLD = """
import signal, socket, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
socket.sethostname(sys.argv[1])
print(sys.argv[2], flush=True)
sys.stdin.read()
"""


class HostsUnavailable(RefcollError):
    """This machine cannot be divided into hosts; the message says why, and what to do."""


class Room:
    """Namespaces of their own, within ``outer`` if there is one."""

    def __init__(self, name: str, outer: Room | None = None) -> None:
        """Raises HostsUnavailable where the kernel, or the lack of a tool, forbids it."""
        self.name = name
        user = [] if outer or os.geteuid() == 0 else ["--user", "--map-root-user"]
        shell = ["sh", "-euc", _FURNISH, "sh", sys.executable, _HOLD, name]
        self._holder = subprocess.Popen(
            [*(outer.entrance if outer else ()), "unshare", *user, *_NEW, *shell],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True,
        )  # fmt: skip
        assert self._holder.stdout is not None
        self.pid = self._holder.stdout.readline().strip()
        """Its process 1, as numbered in ``outer``."""
        if not self.pid:
            raise unavailable(f"unshare for {name}", self._holder.communicate()[1])
        entrance = ["nsenter", "--target", self.pid, "--net", "--uts", "--ipc", "--mount", "--pid"]
        if user:
            entrance += ["--user", "--preserve-credentials"]
        self.entrance: Sequence[str] = (*(outer.entrance if outer else ()), *entrance, "--")
        """What goes before a command to have it run in here."""

    def run(self, script: str, given: str = "") -> str:
        """What a shell script says in here.  Raises HostsUnavailable where it fails."""
        done = subprocess.run(
            [*self.entrance, "sh", "-euc", script],
            input=given, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise unavailable(f"the set-up of {self.name}", done.stderr)
        return done.stdout

    def write(self, path: str, text: str) -> None:
        """A file in here."""
        self.run(f"cat > {path}", text)

    def clear(self) -> None:
        """End all processes in here, but for the one that holds the room."""
        if self._holder.poll() is None:  # else its number may mean another process by now
            self.run(f'[ "$(hostname)" = {self.name} ] && kill -9 -1 || true')

    def close(self) -> None:
        """End it, all processes in it, and all rooms within it."""
        assert self._holder.stdin is not None
        self._holder.stdin.close()
        try:
            self._holder.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._holder.kill()
            self._holder.wait()
        for pipe in (self._holder.stdout, self._holder.stderr):
            assert pipe is not None
            pipe.close()


def require_tools() -> None:
    """Raise HostsUnavailable where a program that is called is not installed."""
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        packages = " ".join(sorted({_TOOLS[tool] for tool in missing}))
        raise HostsUnavailable(
            f"hosts need Linux with {', '.join(missing)}: apt-get install {packages}"
        )


def unavailable(what: str, said: str) -> HostsUnavailable:
    """The error for what a tool has said, with the remedy as far as it can be told."""
    reason = " ".join(said.split()) or "no reason was given"
    remedy = "run as root on Linux, in a container with CAP_SYS_ADMIN and CAP_NET_ADMIN"
    if "qdisc kind is unknown" in said:
        remedy = "leave delay out, or load the kernel's modules: modprobe sch_netem sch_tbf"
    elif os.geteuid() != 0:
        remedy += ", or allow namespaces: sysctl kernel.unprivileged_userns_clone=1"
    return HostsUnavailable(f"hosts cannot be made here: {what} failed ({reason}); {remedy}")
