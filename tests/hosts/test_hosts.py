"""The tool itself: what it isolates, limits, cuts, refuses, and leaves behind (nothing)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from refcoll.errors import ArgumentError
from refcoll.testing import hosts as tool
from refcoll.testing.hosts import Hosts, HostsUnavailable
from refcoll.testing.namespaces import unavailable

KINDS = ("net", "uts", "ipc", "mnt")


def namespaces(hosts):
    """Those that the hosts and their switch are made of, as the kernel names them."""
    script = f"for kind in {' '.join(KINDS)}; do readlink /proc/self/ns/$kind; done"
    return {line for room in (hosts._switch, *hosts._rooms) for line in room.run(script).split()}


def inside(wanted):
    """The processes of this machine that are in one of these namespaces."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            mine = {os.readlink(process / "ns" / kind) for kind in KINDS}
            if mine & wanted:
                found.append((process.name, (process / "cmdline").read_text()))
        except OSError:  # it has ended meanwhile, or is another user's
            continue
    return found


def require_no_zombie_soon(hosts):
    states = "grep -h ^State: /proc/[0-9]*/status || true"
    deadline = time.monotonic() + 5
    while "zombie" in (said := hosts._switch.run(states)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert "zombie" not in said


def require_none_soon(wanted):
    deadline = time.monotonic() + 5
    while inside(wanted) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert inside(wanted) == []


# ---- what it refuses ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"hosts": 0}, "hosts=0"),
        ({"hosts": "two"}, "hosts='two'"),
        ({"hosts": 2, "per_host": 100}, "per_host=100"),
        (
            {"hosts": 2, "rate": "fast"},
            "rate='fast' must be above 0 and have a unit, such as 1kbit",
        ),
        ({"hosts": 2, "rate": "0mbit"}, "rate='0mbit'"),
        ({"hosts": 2, "rate": 100}, "rate=100"),
        ({"hosts": 2, "delay": "1mbit"}, "delay='1mbit'"),
    ],
)
def test_bad_arguments_are_named_with_the_remedy(arguments, named):
    with pytest.raises(ArgumentError, match="^" + named):
        Hosts(**arguments)


def test_calls_with_bad_arguments(built):
    hosts = built(2, 2)
    with pytest.raises(ArgumentError, match="placement='random' must be one of block"):
        hosts.mpirun("true", placement="random")
    with pytest.raises(ArgumentError, match=r"command=\(\)"):
        hosts.mpirun()
    with pytest.raises(ArgumentError, match="host=2 must be from 0 to 1"):
        hosts.cut(2)


@pytest.mark.parametrize("shape", ["4", "2x", "0x2", "2x2x2"])
def test_a_bad_shape_is_bad_usage(shape, capsys):
    assert tool.main([shape, "--", "true"]) == 2
    assert capsys.readouterr().err.startswith("hosts: ")


def test_no_command_is_bad_usage(capsys):
    assert tool.main(["2x2"]) == 2
    assert "what is to run comes after --" in capsys.readouterr().err


def test_without_iproute2_the_remedy_is_its_package(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(HostsUnavailable, match="apt-get install iproute2 util-linux"):
        Hosts(2).__enter__()


def test_what_the_kernel_refuses_is_said_with_the_remedy():
    """Texts of unshare 2.38 without rights, and of tc 6.1 on a kernel without netem."""
    no_rights = str(unavailable("unshare", "unshare: unshare failed: Operation not permitted"))
    assert "Operation not permitted" in no_rights
    assert "run as root" in no_rights
    assert "modprobe sch_netem" in str(unavailable("x", "Error: Specified qdisc kind is unknown."))


def test_a_delay_is_there_or_refused_with_the_remedy(built):
    built(2, 2)
    taken, refused = 0.0, ""
    try:
        with Hosts(2, delay="20ms") as hosts:
            taken = round_trip(hosts)
    except HostsUnavailable as error:  # a kernel without netem
        refused = str(error)
    assert taken > 0.04 or "leave delay out" in refused


def round_trip(hosts):
    """Seconds until the second host has refused a connection of the first's."""
    program = (
        "import socket, time; started = time.monotonic();"
        f"socket.socket().connect_ex(({hosts.names[1] + '-data'!r}, 9));"
        "print(time.monotonic() - started)"
    )
    return float(hosts._rooms[0].run(f'{sys.executable} -c "{program}"'))


# ---- what it isolates ---------------------------------------------------------------------


def test_only_the_network_joins_hosts(built):
    hosts = built(2, 2)
    first, second = hosts._rooms
    first.write("/dev/shm/mine", "")
    assert "mine" not in second.run("ls /dev/shm")
    assert not Path("/dev/shm/mine").exists()
    assert [room.run("hostname").strip() for room in hosts._rooms] == list(hosts.names)
    kinds = len(KINDS)
    assert len(namespaces(hosts)) == 3 * kinds
    here = {os.readlink(f"/proc/self/ns/{kind}") for kind in KINDS}
    assert not here & namespaces(hosts)


def test_several_builds_stand_side_by_side(built, entered):
    with entered(Hosts(2, 1)) as other:
        assert not namespaces(other) & namespaces(built(2, 2))
        said = other.mpirun("hostname", timeout=30).stdout.split()
    assert sorted(said) == sorted(other.names)


def test_ranks_start_where_the_caller_is(built, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert built(2, 2).mpirun("pwd", timeout=30).stdout.split() == [str(tmp_path)] * 4


# ---- what it leaves behind ----------------------------------------------------------------


def test_nothing_is_left_after_an_exception(entered):
    made = set()

    def interrupted():
        with entered(Hosts(2, 2)) as hosts:
            made.update(namespaces(hosts))
            assert inside(made)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert made
    require_none_soon(made)


def test_a_job_that_takes_too_long_is_ended_whole(built):
    """What has left its launcher's session too, and no process stays a zombie."""
    hosts = built(2, 2)
    idle = len(inside(namespaces(hosts)))
    with pytest.raises(subprocess.TimeoutExpired, match="'setsid', 'sleep', '1000'"):
        hosts.mpirun("setsid", "sleep", "1000", timeout=1)
    assert len(inside(namespaces(hosts))) == idle
    require_no_zombie_soon(hosts)
    assert hosts.mpirun("true", timeout=30).returncode == 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_tool_that_is_killed(how, built):
    built(2, 2)  # skips where there are no hosts
    script = "readlink /proc/self/ns/net; sleep 1000"
    command = [sys.executable, "-m", "refcoll.testing.hosts", "2x2", "--", "sh", "-c", script]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's `&` ignores it
    ) as killed:
        made = {killed.stdout.readline().decode().strip() for _ in range(4)}
        assert len(made) == 2  # one a host
        assert len(inside(made)) >= 4
        killed.send_signal(how)
        assert killed.wait(20) != 0
        require_none_soon(made)


def test_the_exit_status_is_the_jobs(built, capfd):
    built(2, 2)
    assert tool.main(["2x1", "--", "sh", "-c", "exit 7"]) == 7
    assert "sent 0 bytes in 0 packets" in capfd.readouterr().err
