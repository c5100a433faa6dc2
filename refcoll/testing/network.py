"""The networks of hosts, as scripts for ``ip`` and ``tc`` that the switch's room runs.

         host 0            host 1
        /      \\          /      \\
      data   management  data   management  ...
       |         |        |         |
      ==== data ====     ==== management ==== mpirun

*data* carries MPI's messages.  Each host's link to it is limited, each way by itself: what
the host sends where it leaves the host, what it receives where it leaves the switch.
*management* is not limited, and carries what MPI's launcher and its daemons say; it stays
when a data link is cut.

Frames are made one TCP segment long before they are counted and limited, as on a wire:
Linux would else hand segments of up to 64 KiB to a virtual link and count each as one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

from refcoll.errors import ArgumentError

DATA, MANAGEMENT = "data", "management"
"""The networks; on every host, and on the switch, also the interfaces' names."""

_SUBNETS = {DATA: "10.1", MANAGEMENT: "10.2"}
_SWITCH = "10.2.255.254"
_QUEUE = 1 << 26
"""Bytes that may wait for a link: so many that none are lost there."""
_LEAST_BURST = 3200
"""Bytes that may pass at once: two frames, or what passes in a millisecond if that is more."""


def bridges() -> str:
    """The networks as such, and mpirun's own way to the hosts."""
    return "\n".join(
        [*(f"ip link add name {net} type bridge; ip link set {net} up" for net in _SUBNETS),
         f"ip address add {_SWITCH}/16 dev {MANAGEMENT}"]
    )  # fmt: skip


def cables(host: int, pid: str, bandwidth: float, delay: str | None) -> str:
    """Both links of a host, whose process 1 is ``pid``; see ``_limits``."""
    lines = []
    for net, subnet in _SUBNETS.items():
        lines += [
            f"ip link add name {net}{host} type veth peer name {net} netns {pid}",
            _in_host(pid, f"ip address add {subnet}.0.{host + 1}/16 dev {net}"),
        ]
    lines += [_in_host(pid, line) for line in _limits(DATA, bandwidth, delay)]
    lines += _limits(f"{DATA}{host}", bandwidth, None)
    for net in _SUBNETS:
        lines += [
            f"ip link set {net}{host} master {net} up",
            _in_host(pid, f"ip link set {net} up"),
        ]
    return "\n".join(lines)


def _in_host(pid: str, line: str) -> str:
    return f"nsenter --target {pid} --net -- {line}"


def _limits(interface: str, bandwidth: float, delay: str | None) -> list[str]:
    """``bandwidth`` bytes of frames a second leave by the interface, ``delay`` later."""
    burst = max(_LEAST_BURST, int(bandwidth / 1000))
    parent = "parent 1:1" if delay else "root"
    lines = [f"ip link set {interface} gso_max_segs 1"]
    if delay:
        lines.append(
            f"tc qdisc add dev {interface} root handle 1: netem delay {delay} limit {_QUEUE >> 10}"
        )
    rate = f"rate {int(bandwidth * 8)}bit burst {burst} limit {_QUEUE}"
    return [*lines, f"tc qdisc add dev {interface} {parent} tbf {rate}"]


def switched(host: int, on: bool) -> str:
    """The host's data link, cut or mended, at the switch: the host sees its carrier go."""
    return f"ip link set {DATA}{host} {'up' if on else 'down'}"


def addresses(names: Sequence[str], switch: str) -> str:
    """/etc/hosts: names are addresses on the management network; with -data, on the other."""
    lines = ["127.0.0.1 localhost", f"{_SWITCH} {switch}"]
    for host, name in enumerate(names, 1):
        lines += [f"{_SUBNETS[MANAGEMENT]}.0.{host} {name}"]
        lines += [f"{_SUBNETS[DATA]}.0.{host} {name}-data"]
    return "".join(f"{line}\n" for line in lines)


_UNITS: Mapping[str, Mapping[str, float]] = {
    "rate": {"kbit": 10**3, "mbit": 10**6, "gbit": 10**9},
    "delay": {"us": 10**-6, "ms": 10**-3, "s": 1},
}


def quantity(name: str, text: str) -> float:
    """ "100mbit" in bits per second, "1ms" in seconds."""
    units = _UNITS[name]
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]+)", text) if isinstance(text, str) else None
    if match is None or match[2] not in units or float(match[1]) == 0:
        known = ", ".join(f"1{unit}" for unit in units)
        raise ArgumentError(f"{name}={text!r} must be above 0 and have a unit, such as {known}")
    return float(match[1]) * units[match[2]]


@dataclass(frozen=True)
class Traffic:
    """What the kernel has counted on a host's data link, in Ethernet frames without checksum."""

    sent_bytes: int
    sent_packets: int
    received_bytes: int
    received_packets: int

    def __sub__(self, before: Traffic) -> Traffic:
        return Traffic(*(a - b for a, b in zip(astuple(self), astuple(before), strict=True)))


def counters(table: str) -> Traffic:
    """The data link's, from a host's /proc/net/dev: eight columns received, eight sent."""
    (line,) = (each for each in table.splitlines() if each.strip().startswith(f"{DATA}:"))
    columns = [int(each) for each in line.partition(":")[2].split()]
    return Traffic(columns[8], columns[9], columns[0], columns[1])
