"""The agent: what in the guest does what the host says.

It builds the network, starts the traffic, lets time pass, reads and changes the queues through the
same netlink codecs and the same monitor as on a real router (:class:`LinuxRouter`,
:class:`InterfaceMonitor`). Between two orders the guest stands still (:mod:`.calendar`).
"""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vermilion.routers.base import RouterError, RouterSilent
from vermilion_lab.kernel_plant.guest_start import JOB
from vermilion_lab.kernel_plant.namespaces import (
    inside,
    send_packets_as_they_are,
    set_kernel,
    wake_on_time,
)
from vermilion_lab.kernel_plant.topology import OUT, SHAPED_CLASS, router

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.routers.linux.router import LinuxRouter
    from vermilion_lab.kernel_plant.management import Management
    from vermilion_lab.kernel_plant.tap import Tap

_CALL: Final = "/sys/kernel/um-ext-time/bc-message"
_BUFFERS: Final = "4096 131072 33554432"
_VARIABLES: Final[Mapping[str, str]] = {
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
    "net.ipv4.conf.all.accept_local": "1",
    "net.ipv4.ip_forward": "1",
    # What passes through on its way to another router must not be given to its socket yet.
    "net.ipv4.ip_early_demux": "0",
    # Packets bring their sender's own hash along, by which FQ-CoDel would sort them, and a sender
    # takes a new one after a timeout. A router elsewhere never sees that: one hash for each flow.
    "net.core.txrehash": "0",
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.ip_local_port_range": "1024 65000",
    "net.ipv4.tcp_rmem": _BUFFERS,
    "net.ipv4.tcp_wmem": _BUFFERS,
}


class Agent:
    """State behind the host's orders: one network, its traffic, its queues."""

    def __init__(self) -> None:
        self._routers: list[LinuxRouter] = []
        self._taps: dict[int, Tap] = {}
        self._management: Management | None = None
        self._traffic: socket.socket | None = None
        self._begins_ns = 0
        self._sample_ns = 0
        self._samples = 0
        self._timetable: list[dict[str, Any]] = []
        self._boundaries: list[int] = []

    def build(
        self,
        namespaces: Sequence[str],
        wires: Sequence[str],
        ip: Mapping[str, Sequence[str]],
        tc: Mapping[str, Sequence[str]],
        rates_bit_per_s: Sequence[float],
    ) -> None:
        """Set the network up."""
        Path("/run/netns").mkdir(exist_ok=True)
        _batch(["ip"], [*(f"netns add {name}" for name in namespaces), *wires])
        for name in namespaces:
            with inside(name):
                for variable, value in _VARIABLES.items():
                    set_kernel(variable, value)
                send_packets_as_they_are()
            _batch(["ip", "-n", name], ip[name])
            _batch(["tc", "-n", name], tc[name])
        from vermilion.routers.linux.router import LinuxRouter

        for link, rate in enumerate(rates_bit_per_s):
            with inside(router(link)):
                address = f"linux:{OUT}/{SHAPED_CLASS}"
                self._routers.append(LinuxRouter(address, rate_bit_per_s=rate))

    def watch(self, links: Sequence[int]) -> None:
        """Have the packets at the exits of some links' queues watched."""
        from vermilion_lab.kernel_plant.tap import Tap, new_secret

        secret = new_secret()
        self._taps = {link: Tap(router(link), secret) for link in links}

    def manage(self, links: Sequence[int], **user: str) -> None:
        """Start an SNMP agent in the routers of some links."""
        from vermilion_lab.kernel_plant.management import Management

        self._management = Management(links, **user)

    def relay(self, link: int, datagram: str) -> str | None:
        """Ask a router's SNMP agent; question and answer as hexadecimal digits."""
        if self._management is None:
            return None
        answer = self._management.relay(link, bytes.fromhex(datagram))
        return None if answer is None else answer.hex()

    def begin(
        self,
        flows: Sequence[dict[str, Any]],
        timetable: Sequence[dict[str, Any]],
        boundaries_ns: Sequence[int],
        sample_ns: int,
    ) -> None:
        """Start the traffic: this is time 0."""
        own, other = socket.socketpair()
        self._begins_ns = time.monotonic_ns()
        self._sample_ns = sample_ns
        self._timetable = list(timetable)
        self._boundaries = list(boundaries_ns)
        if os.fork() == 0:
            own.close()
            try:
                from vermilion_lab.kernel_plant.traffic import run_traffic

                run_traffic(flows, self._begins_ns, other)
            except BaseException:  # noqa: BLE001 - the host is told
                Path(JOB, "failure").write_text(traceback.format_exc(), encoding="utf-8")
            os._exit(1)
        other.close()
        self._traffic = own

    def advance(self, until_ns: int) -> dict[str, Any]:
        """Let time pass; what was sampled, and what the traffic said at the boundaries.

        A sample is, of each link, time (ns), packets and bytes forwarded, drops, marks, packets and
        bytes waiting.
        """
        samples: list[list[list[int]]] = []
        traffic: list[dict[str, Any]] = []
        while True:
            now_ns = self._now_ns()
            while self._timetable and self._timetable[0]["at_ns"] <= now_ns:
                self._change(self._timetable.pop(0))
            due_ns = self._samples * self._sample_ns
            if now_ns >= due_ns:
                samples.append([self._sample(link) for link in range(len(self._routers))])
                self._samples = now_ns // self._sample_ns + 1
            while self._boundaries and self._boundaries[0] <= now_ns:
                traffic.append({"at_ns": self._boundaries.pop(0), **self._ask_traffic()})
            if now_ns >= until_ns:
                for tap in self._taps.values():
                    tap.empty()
                return {"samples": samples, "traffic": traffic}
            coming = [until_ns, self._samples * self._sample_ns]
            coming += [each["at_ns"] for each in self._timetable[:1]]
            coming += self._boundaries[:1]
            time.sleep(max(0, min(coming) - now_ns) / 1e9)

    def observe(self, link: int) -> dict[str, Any]:
        """Return the observations of a link that a controller may see."""
        return {"reading": self._sample(link), **self.traffic(link)}

    def traffic(self, link: int) -> dict[str, Any]:
        """Return the observations of the monitor beside a link's queue; empty without one."""
        tap = self._taps.get(link)
        if tap is None:
            return {}
        tap.empty()
        return {
            "active_flows": tap.active_flows(),
            "round_trips": tap.round_trips(),
            "traffic": tap.traffic(),
            "unseen": tap.lost(),
        }

    def flows(self, link: int) -> list[tuple[int, str]]:
        """End the monitor beside a link's queue; which flows it followed, see :meth:`Tap.flows`."""
        return self._taps.pop(link).flows()

    def run(self, namespace: str, command: Sequence[str]) -> str:
        """Run a program in a namespace; what it prints. For whoever looks into the guest."""
        with inside(namespace):
            done = subprocess.run(command, check=True, capture_output=True, text=True)
        return done.stdout

    def parameters(self, link: int) -> dict[str, Any]:
        """Parameters that the kernel reports of a queue."""
        return dict(self._routers[link].parameters())

    def described(self, link: int) -> dict[str, Any]:
        """Return the constant properties of a queue."""
        own = self._routers[link]
        price = own.push_price
        return {
            "discipline": own.configuration.discipline,
            "settable": list(own.settable),
            "flushes_queue": price.flushes_queue,
            "forgets_average": price.forgets_average,
        }

    def apply(self, link: int, parameters: Mapping[str, Any]) -> None:
        """Put parameters of a queue in force.

        Raises:
            RouterError: they are refused.
        """
        self._routers[link].apply(parameters)

    def _now_ns(self) -> int:
        return time.monotonic_ns() - self._begins_ns

    def _sample(self, link: int) -> list[int]:
        now_ns = self._now_ns()
        now = self._routers[link].read()
        return [
            now_ns,
            now.forwarded_packets,
            now.forwarded_bytes,
            now.drops,
            now.marks,
            now.backlog_packets,
            now.backlog_bytes,
        ]

    def _change(self, change: Mapping[str, Any]) -> None:
        """Do what the timetable says."""
        for namespace, lines in change["tc"].items():
            _batch(["tc", "-n", namespace], lines)
        if change["parameters"]:
            self.apply(change["link"], change["parameters"])

    def _ask_traffic(self) -> dict[str, Any]:
        if self._traffic is None:
            return {}
        self._traffic.sendall(b"?")
        (length,) = struct.unpack("=Q", self._read(8))
        found: dict[str, Any] = json.loads(self._read(length))
        return found

    def _read(self, length: int) -> bytes:
        parts = b""
        while self._traffic is not None and len(parts) < length:
            more = self._traffic.recv(min(1 << 20, length - len(parts)))
            if not more:
                message = "the traffic has ended"
                raise RuntimeError(message)
            parts += more
        return parts


def _batch(command: Sequence[str], lines: Sequence[str]) -> None:
    """Calls ``ip`` or ``tc`` once with many lines.

    Raises:
        RuntimeError: what it says where it fails.
    """
    if not lines:
        return
    done = subprocess.run(
        [*command, "-batch", "-"],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        message = f"{' '.join(command)}: {done.stderr.strip()}"
        raise RuntimeError(message)


def reply_to(order: Mapping[str, Any], verbs: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
    """Do what the host says; what it is told of that."""
    try:
        return {"value": verbs[order["verb"]](**order["arguments"])}
    except RouterError as error:
        return {"value": None, "refused": str(error), "silent": isinstance(error, RouterSilent)}
    except Exception:  # noqa: BLE001 - the host is told
        return {"failure": traceback.format_exc()}


def main() -> None:
    """Do what the host says, until it lets go of the guest."""
    wake_on_time()
    agent = Agent()
    verbs: dict[str, Callable[..., Any]] = {
        each.__name__: each
        for each in (
            agent.build,
            agent.watch,
            agent.manage,
            agent.relay,
            agent.begin,
            agent.advance,
            agent.observe,
            agent.traffic,
            agent.flows,
            agent.run,
            agent.parameters,
            agent.described,
            agent.apply,
        )
    }
    calls = os.open(_CALL, os.O_WRONLY)
    number = 0
    while True:
        number += 1
        os.pwrite(calls, b"%d" % number, 0)  # the guest stands still here until the host answers
        order = json.loads(Path(JOB, "order").read_text(encoding="utf-8"))
        reply = reply_to(order, verbs)
        Path(JOB, "reply").write_text(json.dumps(reply), encoding="utf-8")


if __name__ == "__main__":
    main()
