"""The traffic of a guest: every sender and every receiver, in one process beside the agent.

It does what :mod:`.traffic_plan` has planned and says, when asked, what each flow has received and
which transfers there were. Payload is not looked at, neither sent nor received.
"""

from __future__ import annotations

import heapq
import json
import os
import random
import selectors
import socket
import struct
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from vermilion_lab.kernel_plant.namespaces import inside, wake_on_time
from vermilion_lab.kernel_plant.topology import FAR, NEAR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

_PORT: Final = 5001
_BACKLOG: Final = 4096
_PIECE: Final = bytes(1 << 17)
_UNSENT_BYTES: Final = 1 << 16
_UNREAD_BYTES: Final = 1 << 14
_LARGE_BUFFER_BYTES: Final = 1 << 22
_BUFFER_BY_FORCE: Final = 33  # SO_RCVBUFFORCE
_CONGESTION: Final = 13
_MAXIMUM_SEGMENT: Final = 2
_INFO: Final = 11
_NOT_SENT_LOW: Final = 25
_INFO_BYTES: Final = 248
_MOST_PACED: Final = 47  # SO_MAX_PACING_RATE: whoever names one is paced, at no more than that
_RATE_OF_NO_MOMENT: Final = struct.pack("=Q", 1 << 40)
_TIMES_SENT_AGAIN: Final = struct.Struct("=I")
_RECEIVED: Final = struct.Struct("=Q")
_TIMEOUTS: Final = struct.Struct("=H")
_AT_SENT_AGAIN: Final = 100
_AT_RECEIVED: Final = 128
_AT_TIMEOUTS: Final = 240
_ABORT: Final = struct.pack("=ii", 1, 0)


class _Flow:
    """One flow: its plan, its connections of now, and what those of before have come to."""

    def __init__(self, number: int, orders: dict[str, Any]) -> None:
        self.number = number
        self.orders = orders
        self.senders: dict[socket.socket, int] = {}  # bytes still to be sent; below 0: endless
        self.sinks: set[socket.socket] = set()
        self.before = [0, 0, 0]  # bytes received, packets sent again, timeouts
        self.next_transfer = 0
        self.stopped = False

    def counters(self) -> list[int]:
        """Bytes received in order, packets sent again, timeouts."""
        found = list(self.before)
        for sink in self.sinks:
            found[0] += _received(sink)
        for sender in self.senders:
            for place, value in enumerate(_loss_counters(sender), 1):
                found[place] += value
        return found


def _info(connection: socket.socket) -> bytes:
    try:
        return connection.getsockopt(socket.IPPROTO_TCP, _INFO, _INFO_BYTES).ljust(
            _INFO_BYTES, b"\0"
        )
    except OSError:
        return bytes(_INFO_BYTES)


def _received(sink: socket.socket) -> int:
    value: int = _RECEIVED.unpack_from(_info(sink), _AT_RECEIVED)[0]
    return value


def _loss_counters(sender: socket.socket) -> tuple[int, int]:
    told = _info(sender)
    again = _TIMES_SENT_AGAIN.unpack_from(told, _AT_SENT_AGAIN)[0]
    return again, _TIMEOUTS.unpack_from(told, _AT_TIMEOUTS)[0]


class Traffic:
    """Traffic of all flows."""

    def __init__(
        self,
        orders: Sequence[dict[str, Any]],
        begins_ns: int,
        agent: socket.socket,
        inside: Callable[[str], AbstractContextManager[None]] = inside,
    ) -> None:
        """Prepare.

        Args:
            orders: of each flow.
            begins_ns: the time 0 of the plan, by the guest's clock.
            agent: where questions come from and answers go.
            inside: how to be in the namespace of the senders, and in that of the receivers.
        """
        self._inside = inside
        self._begins_ns = begins_ns
        self._agent = agent
        self._flows = [_Flow(number, each) for number, each in enumerate(orders)]
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self._selector = selectors.DefaultSelector()
        self._by_address: dict[tuple[str, int], tuple[_Flow, int]] = {}
        self._transfers: list[list[Any]] = []
        self._open_transfers: dict[tuple[str, int], int] = {}
        with self._inside(FAR):
            self._listener = socket.create_server(("0.0.0.0", _PORT), backlog=_BACKLOG)  # noqa: S104 - a network of its own
            self._listener.settimeout(0.0)
            self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._datagrams.setsockopt(socket.SOL_SOCKET, _BUFFER_BY_FORCE, _LARGE_BUFFER_BYTES)
            self._datagrams.bind(("0.0.0.0", _PORT))  # noqa: S104 - in the guest alone
            self._datagrams.settimeout(0.0)
        self._watch(self._listener, selectors.EVENT_READ, self._accept)
        self._watch(self._datagrams, selectors.EVENT_READ, self._read_datagrams)
        self._watch(agent, selectors.EVENT_READ, self._answer)
        for flow in self._flows:
            self._plan(flow)

    def run(self) -> None:
        """Go on until the agent has gone."""
        while True:
            while self._due and self._due[0][0] <= self._now_ns():
                heapq.heappop(self._due)[2]()
            left_s = (self._due[0][0] - self._now_ns()) / 1e9 if self._due else None
            if left_s is not None and left_s <= 0.0:
                continue
            for key, _ in self._selector.select(left_s):
                key.data()

    def counters(self) -> list[list[int]]:
        """Counters of each flow: bytes received in order, retransmissions, timeouts."""
        return [flow.counters() for flow in self._flows]

    def _now_ns(self) -> int:
        return time.monotonic_ns() - self._begins_ns

    def _schedule(self, time_ns: int, action: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._due, (time_ns, self._count, action))

    def _watch(self, of: socket.socket, events: int, action: Callable[[], None]) -> None:
        self._selector.register(of, events, action)

    def _plan(self, flow: _Flow) -> None:
        start_ns, stop_ns = flow.orders["start_ns"], flow.orders["stop_ns"]
        match flow.orders["kind"]:
            case "bulk":
                self._schedule(start_ns, lambda: self._connect(flow, -1))
            case "transfers":
                self._schedule(start_ns, lambda: self._next_transfer(flow))
            case _:
                sender = _Datagrams(self, flow)
                self._schedule(start_ns, sender.begin)
        if stop_ns is not None:
            self._schedule(stop_ns, lambda: self._stop(flow))

    def _connect(self, flow: _Flow, size: int) -> None:
        with self._inside(NEAR):
            sender = socket.socket()
        orders = flow.orders
        tcp = socket.IPPROTO_TCP
        sender.setsockopt(tcp, _CONGESTION, orders["congestion_control"].encode())
        sender.setsockopt(tcp, _MAXIMUM_SEGMENT, orders["maximum_segment"])
        sender.setsockopt(tcp, _NOT_SENT_LOW, _UNSENT_BYTES)
        if orders["paced"]:
            sender.setsockopt(socket.SOL_SOCKET, _MOST_PACED, _RATE_OF_NO_MOMENT)
        sender.settimeout(0.0)
        sender.bind((orders["source"], 0))
        address = sender.getsockname()
        self._by_address[address] = (flow, size)
        flow.senders[sender] = size
        if size >= 0:
            self._open_transfers[address] = len(self._transfers)
            self._transfers.append([flow.number, self._now_ns(), None])
        sender.connect_ex((orders["sink"], _PORT))
        self._watch(sender, selectors.EVENT_WRITE, lambda: self._send(flow, sender))

    def _send(self, flow: _Flow, sender: socket.socket) -> None:
        left = flow.senders[sender]
        try:
            if left < 0:
                sender.send(_PIECE)
                return
            sent = sender.send(memoryview(_PIECE)[: min(left, len(_PIECE))]) if left else 0
            flow.senders[sender] = left = left - sent
            if left == 0:
                sender.shutdown(socket.SHUT_WR)
                self._selector.modify(
                    sender, selectors.EVENT_READ, lambda: self._close_sender(flow, sender)
                )
        except BlockingIOError:
            return
        except OSError:
            self._close_sender(flow, sender)

    def _close_sender(self, flow: _Flow, sender: socket.socket) -> None:
        if sender in flow.senders:
            for place, value in enumerate(_loss_counters(sender), 1):
                flow.before[place] += value
            del flow.senders[sender]
            self._selector.unregister(sender)
            sender.close()

    def _accept(self) -> None:
        while True:
            try:
                sink, address = self._listener.accept()
            except BlockingIOError:
                return
            found = self._by_address.pop(address, None)
            if found is None or (found[0].stopped and found[1] < 0):
                sink.close()
                continue
            flow, _ = found
            sink.settimeout(0.0)
            sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, _UNREAD_BYTES)
            flow.sinks.add(sink)
            self._watch(sink, selectors.EVENT_READ, self._reader(flow, sink, address))

    def _reader(
        self, flow: _Flow, sink: socket.socket, address: tuple[str, int]
    ) -> Callable[[], None]:
        def read() -> None:
            try:
                if sink.recv_into(_room, len(_room), socket.MSG_TRUNC):
                    return
                ended = self._open_transfers.pop(address, None)
                if ended is not None:
                    self._transfers[ended][2] = self._now_ns()
                    if flow.orders.get("one_after_another"):
                        self._next_transfer(flow)
            except BlockingIOError:
                return
            except OSError:
                pass
            self._close_sink(flow, sink)

        return read

    def _close_sink(self, flow: _Flow, sink: socket.socket) -> None:
        if sink in flow.sinks:
            flow.sinks.remove(sink)
            flow.before[0] += _received(sink)
            self._selector.unregister(sink)
            sink.close()

    def _next_transfer(self, flow: _Flow) -> None:
        """Plan the flow's next transfer: its pause begins now."""
        planned = flow.orders["transfers"]
        if flow.stopped or flow.next_transfer >= len(planned):
            return
        pause_ns, size = planned[flow.next_transfer]
        flow.next_transfer += 1

        def begin() -> None:
            if not flow.stopped:
                self._connect(flow, size)
                if not flow.orders["one_after_another"]:
                    self._next_transfer(flow)

        self._schedule(self._now_ns() + pause_ns, begin)

    def _stop(self, flow: _Flow) -> None:
        """End a flow by order: an endless one at once; transfers under way go on."""
        flow.stopped = True
        if flow.orders["kind"] == "bulk":
            for sender in list(flow.senders):
                sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
                self._close_sender(flow, sender)
            for sink in list(flow.sinks):
                self._close_sink(flow, sink)

    def add_datagram_sender(self, flow: _Flow) -> socket.socket:
        """A socket that sends a flow's datagrams."""
        with self._inside(NEAR):
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.bind((flow.orders["source"], 0))
        self._by_address[sender.getsockname()] = (flow, -1)
        sender.connect((flow.orders["sink"], _PORT))
        sender.settimeout(0.0)
        return sender

    def after(self, flow: _Flow, time_ns: int, action: Callable[[], None]) -> None:
        """Do something at a time, unless the flow has been stopped by then."""
        self._schedule(time_ns, lambda: None if flow.stopped else action())

    def _read_datagrams(self) -> None:
        while True:
            try:
                size, address = self._datagrams.recvfrom_into(_room, 0, socket.MSG_TRUNC)
            except BlockingIOError:
                return
            found = self._by_address.get(address)
            if found is not None:
                found[0].before[0] += size

    def _answer(self) -> None:
        if not self._agent.recv(1):
            os._exit(0)
        document = {"flows": self.counters(), "transfers": self._transfers}
        text = json.dumps(document).encode()
        self._agent.settimeout(None)
        self._agent.sendall(struct.pack("=Q", len(text)) + text)


class _Datagrams:
    """Sends the datagrams of one flow."""

    def __init__(self, traffic: Traffic, flow: _Flow) -> None:
        self._traffic = traffic
        self._flow = flow
        self._payload = bytes(flow.orders["payload"])
        self._stretches = flow.orders["on_off"]
        self._draw = random.Random(flow.orders.get("draw"))  # noqa: S311 - no secret
        self._stretch = 0
        self._left_ns = 0.0
        self._at_ns = 0.0

    def begin(self) -> None:
        """The flow's first packet."""
        self._socket = self._traffic.add_datagram_sender(self._flow)
        self._at_ns = float(self._flow.orders["start_ns"])
        if self._stretches is not None:
            self._left_ns = self._stretches[0][0]
        self._send()

    def _send(self) -> None:
        with suppress(OSError):  # nobody listens any more, or the first wire is full
            self._socket.send(self._payload)
        gap_ns = self._gap_ns()
        if self._stretches is not None:
            while gap_ns > self._left_ns:  # the rest of the gap is waited for in the next on time
                gap_ns -= self._left_ns
                self._at_ns += self._left_ns + self._stretches[self._stretch][1]
                self._stretch += 1
                if self._stretch >= len(self._stretches):
                    return
                self._left_ns = self._stretches[self._stretch][0]
            self._left_ns -= gap_ns
        self._at_ns += gap_ns
        self._traffic.after(self._flow, round(self._at_ns), self._send)

    def _gap_ns(self) -> float:
        orders = self._flow.orders
        if "gap_ns" in orders:
            return float(orders["gap_ns"])
        return self._draw.expovariate(1.0) * float(orders["mean_gap_ns"])


_room = bytearray(1 << 20)


def run_traffic(orders: Sequence[dict[str, Any]], begins_ns: int, agent: socket.socket) -> None:
    """Run the process of the traffic."""
    wake_on_time()
    Traffic(orders, begins_ns, agent).run()
