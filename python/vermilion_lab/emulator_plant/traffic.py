"""The traffic of a scenario at the two ends of an emulated link, in one process.

It is the traffic of the kernel's guest (:mod:`vermilion_lab.kernel_plant.traffic`), told by this
machine's clock. At the times at which something measured begins or ends it writes down what each
flow has received; at its end all of that goes into a file that the emulator has opened.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vermilion.link import kernel
from vermilion.link.inside import INTERFACE
from vermilion_lab.emulator_plant.routes import own_network, route_to
from vermilion_lab.kernel_plant.namespaces import set_kernel, wake_on_time
from vermilion_lab.kernel_plant.topology import NEAR
from vermilion_lab.kernel_plant.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vermilion_lab.kernel_plant.hosts import Host

SENDERS: Final = "10.1.0.0/16"
RECEIVERS: Final = "10.2.0.0/16"
READY: Final = b"r"
BEGIN: Final = struct.Struct("=Q")

_INITIAL_WINDOW, _FEATURES, _ACKNOWLEDGE_AT_ONCE = 11, 12, 15
"""``RTAX_INITCWND``, ``RTAX_FEATURES``, ``RTAX_QUICKACK`` of linux/rtnetlink.h."""

_ECN: Final = 1
_SETTINGS: Final = {
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
}
"""A connection is not to begin with what another one has learnt."""


@dataclass(frozen=True)
class TrafficProgram:
    """Program that runs in place of a command.

    Attributes:
        hosts: all pairs of addresses.
        orders: of each flow.
        boundaries_ns: when to write down what flows have received.
        agent: a socket to the emulator: it says when time begins, and when it is over.
        notes: a file for what was written down.
    """

    hosts: Sequence[Host]
    orders: Sequence[dict[str, Any]]
    boundaries_ns: Sequence[int]
    agent: socket.socket
    notes: int

    def __call__(self, near: int, far: int) -> int:
        """Runs it, with the namespaces of the senders and of the receivers."""
        wake_on_time()

        @contextmanager
        def inside(name: str) -> Iterator[None]:
            kernel.enter(near if name == NEAR else far)
            yield

        with inside(NEAR):
            _settle(SENDERS)
            for host in self.hosts:
                metrics = {_FEATURES: _ECN} if host.ecn else {}
                if host.initial_window is not None:
                    metrics[_INITIAL_WINDOW] = host.initial_window
                route_to(host.sink, INTERFACE, host.source, metrics)
        with inside("far"):
            _settle(RECEIVERS)
            for host in self.hosts:
                metrics = {_ACKNOWLEDGE_AT_ONCE: 1} if host.acknowledges_at_once else {}
                route_to(host.source, INTERFACE, host.sink, metrics)
        _TimedTraffic(self, inside).run()
        return 0


def _settle(network: str) -> None:
    for name, value in _SETTINGS.items():
        set_kernel(name, value)
    own_network(network)


class _TimedTraffic(Traffic):
    """Traffic that starts at the emulator's signal."""

    def __init__(self, program: TrafficProgram, inside: Any) -> None:  # noqa: ANN401 - see Traffic
        self._program = program
        super().__init__(program.orders, 0, program.agent, inside)
        self._notes: dict[int, list[list[int]]] = {}
        for at_ns in program.boundaries_ns:
            self._schedule(at_ns, lambda at_ns=at_ns: self._note(at_ns))  # type: ignore[misc] # a default binds the loop's value
        program.agent.sendall(READY)
        told = program.agent.recv(BEGIN.size, socket.MSG_WAITALL)
        if len(told) < BEGIN.size:
            os._exit(1)
        (self._begins_ns,) = BEGIN.unpack(told)

    def _note(self, at_ns: int) -> None:
        self._notes[at_ns] = self.counters()

    def _write(self) -> None:
        for at_ns in self._program.boundaries_ns:
            if at_ns not in self._notes:  # time is over, and that of it was just coming
                self._note(at_ns)
        told = {"traffic": list(self._notes.items()), "transfers": self._transfers}
        with os.fdopen(self._program.notes, "w", encoding="ascii", closefd=False) as file:
            json.dump(told, file)

    def _answer(self) -> None:
        """The emulator has gone, or says that it is over."""
        if self._agent.recv(1):
            self._write()
        os._exit(0)
