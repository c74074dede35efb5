"""Program in the guest: a home behind a modem whose rate nobody knows.

Two namespaces, ``home`` and ``net``, each with a TUN device. Between them this program is the
modem: a FIFO in the direction of interest that follows a delivery trace in Mahimahi's format, and
constant delays. In ``home`` a shaper stands before it (upwards) or behind it (downwards, on an
ifb). TCP flows fill the line, a call crosses it, and the product keeps the shaper's rate.
"""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import traceback
from bisect import bisect_left
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vermilion_lab.kernel_plant.guest_start import JOB
from vermilion_lab.kernel_plant.namespaces import inside, set_kernel, wake_on_time

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.process import BaseProcess

    from vermilion.monitor.waits import Direction

_SET_TUN: Final = 0x400454CA
_TUN_WITHOUT_HEADER: Final = 0x1001
_MTU: Final = 1500
_PORT: Final = 5000
_CALL_PORT: Final = 6000
_CALL_BYTES: Final = 172
_CALL_EVERY: Final = 20_000_000
_OPPORTUNITY: Final = 1500
_MS: Final = 1_000_000
_BUFFERS: Final = "4096 131072 33554432"
HOME, NET = "10.9.0.1", "10.9.1.1"
REFLECTORS: Final = tuple(f"10.9.1.{number}" for number in range(11, 17))


def run(*words: str) -> None:
    """Run a program.

    Raises:
        RuntimeError: it fails.
    """
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        message = f"{' '.join(words)}: {done.stderr}"
        raise RuntimeError(message)


def tun(namespace: str, name: str) -> int:
    """Make a TUN device in a namespace; the descriptor of its packets."""
    with inside(namespace):
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(device, _SET_TUN, struct.pack("=16sH22x", name.encode(), _TUN_WITHOUT_HEADER))
    return device


def build(case: dict[str, Any]) -> tuple[int, int]:
    """Set up namespaces, devices and the shaper; the descriptors of both devices."""
    if not Path("/dev/net/tun").exists():
        Path("/dev/net").mkdir(exist_ok=True)
        os.mknod("/dev/net/tun", 0o020666, os.makedev(10, 200))
    Path("/run/netns").mkdir(exist_ok=True)
    for name in ("home", "net"):
        run("ip", "netns", "add", name)
        with inside(name):
            for variable, value in {
                "net.ipv4.tcp_congestion_control": case.get("congestion_control", "cubic"),
                "net.ipv4.tcp_no_metrics_save": "1",
                "net.ipv4.tcp_rmem": _BUFFERS,
                "net.ipv4.tcp_wmem": _BUFFERS,
                "net.ipv4.conf.all.rp_filter": "0",
            }.items():
                set_kernel(variable, value)
    devices = tun("home", "wan"), tun("net", "isp")
    for name, device, address, peer in (
        ("home", "wan", HOME, "10.9.1.0/24"),
        ("net", "isp", NET, "10.9.0.0/24"),
    ):
        run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "-n", name, "addr", "add", address, "dev", device)
        run("ip", "-n", name, "link", "set", device, "up", "txqueuelen", "1000")
        run("ip", "-n", name, "route", "add", peer, "dev", device)
    for address in REFLECTORS:
        run("ip", "-n", "net", "addr", "add", f"{address}/32", "dev", "lo")
    shape(case)
    return devices


def shape(case: dict[str, Any]) -> None:
    """Put the shapers in their places."""
    rate = f"{round(case['start_bit_per_s'])}bit"
    cake = ("cake", "bandwidth", rate, *case.get("cake", ("besteffort", "raw")))
    if case.get("kind") == "tbf":  # for kernels without CAKE
        cake = ("tbf", "rate", rate, "burst", "5k", "limit", "60k")
    in_home = ("tc", "-n", "home")
    if case["direction"] == "up" or case.get("both"):
        if case.get("shaper", True):
            run(*in_home, "qdisc", "add", "dev", "wan", "root", *cake)
        else:
            run(*in_home, "qdisc", "add", "dev", "wan", "root", "pfifo", "limit", "1000")
    if case["direction"] == "up" and not case.get("both"):
        return
    run("ip", "-n", "home", "link", "add", "ifb4wan", "type", "ifb")
    run("ip", "-n", "home", "link", "set", "ifb4wan", "up", "txqueuelen", "1000")
    if case.get("shaper", True):
        run(*in_home, "qdisc", "add", "dev", "wan", "handle", "ffff:", "ingress")
        run(
            *(*in_home, "filter", "add", "dev", "wan", "parent", "ffff:", "matchall"),
            *("action", "mirred", "egress", "redirect", "dev", "ifb4wan"),
        )
        run(*in_home, "qdisc", "add", "dev", "ifb4wan", "root", *cake, "ingress")


class Modem:
    """FIFO that follows a trace, and delays of both directions.

    Attributes:
        drops: packets lost.
        served: bytes that have left the FIFO in each tenth of a second.
    """

    def __init__(self, case: dict[str, Any], devices: tuple[int, int], began: int) -> None:
        home, net = devices
        # From, to: the direction of interest first.
        self._ways = (
            ((home, net), (net, home))
            if case["direction"] == "up"
            else (
                (net, home),
                (home, net),
            )
        )
        self._trace: list[int] = [each * _MS for each in case["trace_ms"]]
        self._span = max(self._trace[-1], _MS)
        self._delay = round(case["rtt_s"] * 1e9 / 2)
        self._limit = case["buffer_bytes"]
        self._probe_loss: float = case.get("lost_probes", 0.0)
        self._deaf = {socket.inet_aton(each): at for each, at in case.get("deaf", {}).items()}
        self._first_to = case.get("prioritised_probes", False)
        self._began = began
        self._round = self._index = 0
        self._queue: deque[tuple[bytes, int]] = deque()
        self._queued = 0
        self._left = 0
        self._lines: tuple[deque[tuple[int, bytes]], ...] = (deque(), deque())
        self._lost = 0
        self.drops = 0
        self.served: list[int] = []

    def run(self, until: int) -> None:
        """Carry packets until a time."""
        poll = select.poll()
        for source, _ in self._ways:
            poll.register(source, select.POLLIN)
        while (now := time.monotonic_ns()) < until:
            coming = [until]
            coming += [line[0][0] for line in self._lines if line]
            if self._queue:
                coming.append(self._next())
            wait = max(0, min(coming) - now)
            # Poll counts in milliseconds; what comes earlier is slept for.
            if 0 < wait < _MS:
                time.sleep(wait / 1e9)
                ready = poll.poll(0)
            else:
                ready = poll.poll(wait // _MS)
            now = time.monotonic_ns()
            for source, _ in ready:
                self._take(0 if source == self._ways[0][0] else 1, source, now)
            self._serve(now)
            self._deliver(now)

    def _next(self) -> int:
        return self._began + self._round * self._span + self._trace[self._index]

    def _take(self, way: int, source: int, now: int) -> None:
        while True:
            try:
                packet = os.read(source, 65536)
            except BlockingIOError:
                return
            if packet[0] >> 4 != 4:  # noqa: PLR2004 - IPv6 has nothing to say here
                continue
            if packet[9] == 1 and self._loses(packet, now):
                continue
            if way or (self._first_to and packet[9] == 1):
                self._lines[way].append((now + self._delay, packet))
            elif self._queued + len(packet) > self._limit:
                self.drops += 1
            else:
                self._queue.append((packet, now))
                self._queued += len(packet)

    def _loses(self, packet: bytes, now: int) -> bool:
        for address in (packet[12:16], packet[16:20]):
            at = self._deaf.get(address)
            if at is not None and now - self._began > at * 1e9:
                return True
        self._lost = (1103515245 * self._lost + 12345) & 0x7FFFFFFF
        return self._lost / 0x7FFFFFFF < self._probe_loss

    def _serve(self, now: int) -> None:
        """Use the trace's opportunities up to now."""
        while self._next() <= now:
            at = self._next()
            self._left = self._left + _OPPORTUNITY if self._queue else 0
            while self._queue and len(self._queue[0][0]) <= self._left and self._queue[0][1] <= at:
                packet, _ = self._queue.popleft()
                self._queued -= len(packet)
                self._left -= len(packet)
                slot = max(0, at - self._began) // (100 * _MS)
                self.served += [0] * (slot + 1 - len(self.served))
                self.served[slot] += len(packet)
                self._lines[0].append((at + self._delay, packet))
            if not self._queue:
                self._left = 0
            self._index += 1
            if self._index == len(self._trace):
                self._index, self._round = 0, self._round + 1

    def _deliver(self, now: int) -> None:
        for line, (_, target) in zip(self._lines, self._ways, strict=True):
            while line and line[0][0] <= now:
                try:
                    os.write(target, line.popleft()[1])
                except OSError:
                    self.drops += 1


def send_tcp(case: dict[str, Any], began: int, until: int) -> None:
    """Send as much as TCP lets through."""
    payload = bytes(65536)
    flows = []
    for _ in range(case["flows"]):
        flow = socket.socket()
        flow.connect((NET if case["direction"] == "up" else HOME, _PORT))
        flow.settimeout(0.0)
        flows.append(flow)
    del began
    while (now := time.monotonic_ns()) < until:
        _, ready, _ = select.select([], flows, [], (until - now) / 1e9)
        for flow in ready:
            try:
                flow.send(payload)
            except BlockingIOError:
                continue


def receive_tcp(listener: socket.socket, began: int, until: int) -> list[int]:
    """Receive; bytes in each tenth of a second."""
    counts: list[int] = []
    sockets = [listener]
    while (now := time.monotonic_ns()) < until:
        ready, _, _ = select.select(sockets, [], [], (until - now) / 1e9)
        for each in ready:
            if each is listener:
                sockets.append(listener.accept()[0])
                continue
            try:
                count = len(each.recv(1 << 20))
            except OSError:
                count = 0
            if not count:
                sockets.remove(each)
                continue
            slot = max(0, time.monotonic_ns() - began) // (100 * _MS)
            counts += [0] * (slot + 1 - len(counts))
            counts[slot] += count
    return counts


def send_call(case: dict[str, Any], began: int, until: int) -> None:
    """Send a packet of a call each 20 ms, with its time in it."""
    target = (NET if case["direction"] == "up" else HOME, _CALL_PORT)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as call:
        due = began
        while (now := time.monotonic_ns()) < until:
            if now < due:
                time.sleep((due - now) / 1e9)
                continue
            due += _CALL_EVERY
            try:
                call.sendto(struct.pack("=q", now).ljust(_CALL_BYTES, b"."), target)
            except OSError:
                continue


def receive_call(call: socket.socket, began: int, until: int) -> list[tuple[float, float]]:
    """Receive the call; when each packet was sent, and its delay, seconds."""
    found = []
    while (now := time.monotonic_ns()) < until:
        if select.select([call], [], [], (until - now) / 1e9)[0]:
            (sent,) = struct.unpack_from("=q", call.recv(2048))
            found.append(((sent - began) / 1e9, (time.monotonic_ns() - sent) / 1e9))
    return found


class Oracle:
    """Law that knows the trace: 0.95 of what the line can in the next 0.1 s."""

    def __init__(self, case: dict[str, Any], began: int) -> None:
        self._trace, self._began, self._rate = case["trace_ms"], began, 0.0

    def probe_sent(self, *_: object) -> None:
        """Nothing to learn."""

    answered = lost = probe_sent

    def rate(self, now_ns: int, bytes_out: int) -> float:
        """The rate from now on."""
        del bytes_out
        now = (now_ns - self._began) // _MS
        ahead = bisect_left(self._trace, now + 100) - bisect_left(self._trace, now)
        self._rate = max(0.95 * 8 * _OPPORTUNITY * ahead / 0.1, 1e4)
        return self._rate

    def state(self) -> dict[str, Any]:
        """Facts as of the last rate."""
        return {"rate_bit_per_s": self._rate, "capacity_bit_per_s": self._rate / 0.95}


def keep(case: dict[str, Any], until: int) -> dict[str, Any]:
    """Run the product; what it says of its run, and the rates it set."""
    from vermilion import _core
    from vermilion.files.document import as_json
    from vermilion.line.drive import Law, Wish, keep_line
    from vermilion.routers.linux.shaper_rate import LinuxShaper

    rates: list[tuple[float, float]] = []
    time.sleep(case.get("keep_after_s", 0.0))  # the modem's queue is full by then
    began = time.monotonic_ns()

    class Noted(LinuxShaper):
        def set_rate(self, bit_per_s: float, now: Any = None) -> None:  # noqa: ANN401 - as above
            super().set_rate(bit_per_s, now)
            rates.append(((time.monotonic_ns() - began) / 1e9, bit_per_s))

    def law(direction: str, excess_s: float, start: float) -> Law:
        if case["law"] == "oracle":
            return Oracle(case, until - round(1e9 * case["duration_s"]))
        settings = case.get("settings", {})
        if case["law"] == "service-curve":
            settings = {"direction": direction, "start": start, "excess": excess_s, **settings}
        made: Law = _core.RateLaw(case["law"], json.dumps(settings))
        return made

    shapers: list[tuple[Direction, LinuxShaper]] = []
    if case["direction"] == "up" or case.get("both"):
        shapers.append(("up", Noted("linux:wan")))
    if case["direction"] == "down" or case.get("both"):
        shapers.append(("down", Noted.of_arrivals("wan")))
    excess = {"excess_s": case["excess_s"]} if "excess_s" in case else {}
    done = keep_line(
        "wan",
        shapers,
        Wish(mode=case.get("mode", "control"), at_exit=case.get("at_exit", "keep"), **excess),
        REFLECTORS,
        journal_path=Path(JOB, "journal.sqlite") if case.get("journal") else None,
        for_s=(until - began) / 1e9,
        law=law,
    )
    return {"run": as_json(done), "rates": rates}


def child(namespace: str, name: str, work: Callable[[], Any]) -> BaseProcess:
    """Start a program in a namespace; it leaves what it returns in the job's folder."""

    def body() -> None:
        wake_on_time()
        try:
            with inside(namespace):
                found = work()
            Path(JOB, f"{name}.json").write_text(json.dumps(found), encoding="utf-8")
        except BaseException:  # noqa: BLE001 - the host is told
            Path(JOB, "failure").write_text(traceback.format_exc(), encoding="utf-8")

    process = multiprocessing.get_context("fork").Process(target=body)
    process.start()
    return process


def main() -> None:
    """Run one case."""
    case = json.loads(Path(JOB, "case.json").read_text(encoding="utf-8"))
    wake_on_time()
    devices = build(case)
    until = time.monotonic_ns() + round(1e9 * case["duration_s"])
    began = time.monotonic_ns()
    up = case["direction"] == "up"
    sender, receiver = ("home", "net") if up else ("net", "home")
    with inside(receiver):
        listener = socket.create_server(("", _PORT), backlog=64)
        call = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        call.bind(("", _CALL_PORT))
    children = [
        child(receiver, "tcp", lambda: receive_tcp(listener, began, until)),
        child(receiver, "call", lambda: receive_call(call, began, until)),
        child(sender, "sent", lambda: send_tcp(case, began, until)),
        child(sender, "called", lambda: send_call(case, began, until)),
    ]
    if case["law"] not in {"fixed", "none"}:
        children.append(child("home", "kept", lambda: keep(case, until)))
    if case.get("program"):
        children.append(child("home", "program", lambda: program(case, until)))
    modem = Modem(case, devices, began)
    modem.run(until + 200 * _MS)
    for each in children:
        each.join(5.0)
        if each.is_alive() and each.pid is not None:
            os.kill(each.pid, signal.SIGKILL)
    outcome: dict[str, Any] = {"drops": modem.drops, "served": modem.served}
    for name in ("tcp", "call", "kept", "program"):
        path = Path(JOB, f"{name}.json")
        if path.exists():
            outcome[name] = json.loads(path.read_text(encoding="utf-8"))
    Path(JOB, "outcome.json").write_text(json.dumps(outcome), encoding="utf-8")


def program(case: dict[str, Any], until: int) -> list[dict[str, Any]]:
    """Run commands of the product, one after another, and say what they print.

    Each is a list of words, with ``for_s`` and ``kill_after_s`` beside it where that matters.
    """
    found = []
    for each in case["program"]:
        output = Path(JOB, "said")
        with output.open("w", encoding="utf-8") as said:
            process = subprocess.Popen(
                [*(sys.executable, "-m", "vermilion"), *each["words"]]
                if each.get("vermilion", True)
                else each["words"],
                stdout=said,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NO_COLOR": "1"},
            )
            end = time.monotonic() + each.get("kill_after_s", (until - time.monotonic_ns()) / 1e9)
            while process.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
            if process.poll() is None:
                process.send_signal(each.get("signal", signal.SIGKILL))
                process.wait()
        time.sleep(each.get("then_wait_s", 0.0))
        text = output.read_text(encoding="utf-8")
        found.append({"code": process.returncode, "said": text})
    return found


if __name__ == "__main__":
    main()
