"""Sockets for probes: sent as raw ICMP or, to servers of IRTT, UDP; heard on the interface itself.

A packet socket hears a probe when it has left the shaper, and an answer before it goes into one for
arrivals, so that no wait of one's own is in the delay. Without CAP_NET_RAW an unprivileged socket
(icmp(7), ``ping_group_range``) sends and receives echoes alone, that of UDP receives as well, and
departures are not heard.
"""

from __future__ import annotations

import ctypes
import os
import select
import socket
import struct
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.line.irtt import server_of
from vermilion.line.probes import Heard, parse_icmp, parse_irtt, parse_packet, request
from vermilion.monitor.packet_filter import encoded
from vermilion.routers.base import RouterError
from vermilion.scenario.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vermilion.line.probes import Probe

_ALL: Final = 3
_LEAVING: Final = 4  # PACKET_OUTGOING, include/uapi/linux/if_packet.h
_SO_ATTACH_FILTER: Final = 26
_SO_TIMESTAMPNS: Final = 35
_SO_BINDTODEVICE: Final = 25
_TIME: Final = struct.Struct("@ll")
_BYTES: Final = 256
_PLAUSIBLE_NS: Final = 1_000_000_000
_DROP: Final = [(0x06, 0, 0, 0)]
HOW_TO_ALLOW: Final = (
    "probes need the capability CAP_NET_RAW; or allow unprivileged ones: "
    "sysctl net.ipv4.ping_group_range='0 2147483647'"
)


@dataclass(frozen=True, slots=True)
class Event:
    """A probe that left, or an answer that came.

    Attributes:
        heard: what it is.
        at: when, nanoseconds of the monotonic clock.
        wall_offset: the wall clock less that one.
    """

    heard: Heard
    at: int
    wall_offset: int


class ProbeSockets:
    """Sockets on one interface. A context manager's ``close`` ends them.

    Attributes:
        hears_departures: whether probes are heard when they leave.

    Raises:
        RouterError: no probe can be sent.
    """

    def __init__(self, interface: str) -> None:
        self._interface = interface
        self._identifier = int.from_bytes(os.urandom(2), "big")
        self._open()

    def reopen(self) -> None:
        """Listen to the interface that has the name now.

        Raises:
            RouterError: there is none; the sockets stay as they are.
        """
        old = self._sends, self._hears, self._datagrams
        self._open()
        for each in old:
            each.close()

    def _open(self) -> None:
        interface = self._interface
        self.hears_departures = True
        try:
            self._sends = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
            self._attach(self._sends, _DROP)  # answers are heard on the interface
            self._bind(self._sends, interface)
            self._hears = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
            self._open_datagrams(interface)
            self._attach(self._datagrams, _DROP)
            self._attach(self._hears, _own_probes(self._identifier, self._port))
            self._hears.bind((interface, _ALL))
        except PermissionError:
            self.hears_departures = False
            self._open_unprivileged(interface)
        except OSError as error:
            message = f'"{printable(interface)}": no probe can be sent ({error.strerror})'
            raise RouterError(message) from None
        for each in (self._hears, self._datagrams):
            each.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            each.settimeout(0.0)

    def _open_datagrams(self, interface: str) -> None:
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._bind(self._datagrams, interface)
        self._datagrams.bind(("", 0))
        self._port = int(self._datagrams.getsockname()[1])

    def _open_unprivileged(self, interface: str) -> None:
        try:
            self._hears = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
            self._bind(self._hears, interface)
            self._hears.bind(("", 0))
            self._open_datagrams(interface)
        except OSError:
            raise RouterError(HOW_TO_ALLOW) from None
        self._sends = self._hears
        self._identifier = int(self._hears.getsockname()[1])

    @staticmethod
    def _bind(each: socket.socket, interface: str) -> None:
        each.setsockopt(socket.SOL_SOCKET, _SO_BINDTODEVICE, interface.encode() + b"\0")

    @staticmethod
    def _attach(each: socket.socket, program: list[tuple[int, int, int, int]]) -> None:
        instructions = ctypes.create_string_buffer(encoded(program))
        place = struct.pack("@HP", len(program), ctypes.addressof(instructions))
        each.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, place)

    def close(self) -> None:
        """Close the sockets."""
        for each in (self._sends, self._hears, self._datagrams):
            each.close()

    def send(self, probe: Probe) -> str:
        """Send a probe; why it could not be sent, "" if it was."""
        if probe.payload:
            return self.post(probe.address, probe.payload)
        message = request(probe.kind, self._identifier, probe.sequence, time.time_ns())
        try:
            self._sends.sendto(message, (probe.address, 0))
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def post(self, address: str, payload: bytes) -> str:
        """Send a datagram to a server of IRTT; why it could not be sent, "" if it was."""
        try:
            self._datagrams.sendto(payload, server_of(address))
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def wait(self, seconds: float) -> list[Event]:
        """Wait for something to be heard, at most so long; what was heard."""
        listening = [self._hears, *([] if self.hears_departures else [self._datagrams])]
        readable, _, _ = select.select(listening, [], [], max(0.0, seconds))
        return [event for each in readable for event in self._events(each)]

    def _events(self, readable: socket.socket) -> Iterator[Event]:
        while True:
            try:
                data, notes, _, sender = readable.recvmsg(_BYTES, 128)
            except BlockingIOError:
                return
            except OSError:
                return  # the interface went down
            now, wall = time.monotonic_ns(), time.time_ns()
            heard = self._parse(readable, data, sender)
            if heard is None:
                continue
            offset = wall - now
            at = now
            for level, kind, text in notes:
                if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
                    seconds_, nanoseconds = _TIME.unpack_from(text)
                    stamped = seconds_ * 1_000_000_000 + nanoseconds - offset
                    at = stamped if 0 <= now - stamped < _PLAUSIBLE_NS else now
            yield Event(heard, at, offset)

    def _parse(
        self, readable: socket.socket, data: bytes, sender: tuple[str, int, int]
    ) -> Heard | None:
        if self.hears_departures:
            heard = parse_packet(data, self._identifier, self._port)
            is_leaving = sender[2] == _LEAVING
            return heard if heard and heard.is_answer is not is_leaving else None
        source = socket.inet_aton(sender[0])
        if readable is self._datagrams:
            return parse_irtt(data, source, sender[1])
        return parse_icmp(data, self._identifier, source)


def _own_probes(identifier: int, port: int) -> list[tuple[int, int, int, int]]:
    """Return the program of a socket filter that keeps ICMP with an identifier, UDP with a port."""
    return [
        (0x28, 0, 0, 0xFFFFF000),  # load the protocol
        (0x15, 0, 13, 0x0800),  # IPv4
        (0x28, 0, 0, 0xFFF00006),
        (0x45, 11, 0, 0x1FFF),  # no later fragment
        (0xB1, 0, 0, 0xFFF00000),  # length of the IP header
        (0x30, 0, 0, 0xFFF00009),  # load the protocol in the IP header
        (0x15, 0, 2, 1),  # ICMP
        (0x48, 0, 0, 0xFFF00004),  # identifier behind the IP header
        (0x15, 5, 6, identifier),
        (0x15, 0, 5, 17),  # UDP
        (0x48, 0, 0, 0xFFF00000),
        (0x15, 2, 0, port),  # of the sender
        (0x48, 0, 0, 0xFFF00002),
        (0x15, 0, 1, port),  # of the receiver
        (0x06, 0, 0, _BYTES),
        (0x06, 0, 0, 0),
    ]
