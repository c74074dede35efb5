"""Program in the guest: a home behind a modem whose rate nobody knows.

Two namespaces, ``home`` and ``net``, each with a TUN device. Between them this program is the
modem: constant delays, and in the direction of interest, or in both, a FIFO that follows a delivery
trace in Mahimahi's format. In ``home`` a shaper stands before it (upwards) or behind it (downwards,
on an ifb). TCP flows fill the line, a call crosses it, and the product keeps the shaper's rate.
"""

from __future__ import annotations

import fcntl
import heapq
import json
import math
import multiprocessing
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from bisect import bisect_left
from collections import deque
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vermilion_lab.kernel_plant.guest_start import JOB
from vermilion_lab.kernel_plant.namespaces import inside, set_kernel, wake_on_time

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.process import BaseProcess

    from vermilion.line.law import Law
    from vermilion.monitor.waits import Direction

_SET_TUN: Final = 0x400454CA
_TUN_WITHOUT_HEADER: Final = 0x1001
_MTU: Final = 1500
_PORTS: Final = {"home": 5001, "net": 5000}
"""Of TCP, by the end that receives."""

_CALL_PORT: Final = 6000
_CALL_BYTES: Final = 172
_CALL_EVERY: Final = 20_000_000
_OPPORTUNITY: Final = 1500
_MS: Final = 1_000_000
_JUDGED_FROM: Final = 10_000_000_000
_MODEM_NICENESS: Final = -15
_BUFFERS: Final = "4096 131072 33554432"
HOME, NET = "10.9.0.1", "10.9.1.1"
_ADDRESSES: Final = {"home": HOME, "net": NET}
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
    cake = ["cake", "bandwidth", rate, *case.get("cake", ("besteffort", "raw"))]
    of_arrivals = [*cake, "ingress"]
    if case.get("kind") == "tbf":  # for kernels without CAKE
        cake = of_arrivals = ["tbf", "rate", rate, "burst", "5k", "limit", "60k"]
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
            *(*in_home, "filter", "add", "dev", "wan", "parent", "ffff:", "protocol", "all"),
            *("u32", "match", "u32", "0", "0"),
            *("action", "mirred", "egress", "redirect", "dev", "ifb4wan"),
        )
        run(*in_home, "qdisc", "add", "dev", "ifb4wan", "root", *of_arrivals)


class Way:
    """One direction of the modem: a FIFO that follows a trace, if there is one, and a delay.

    Attributes:
        drops: packets lost.
        served: bytes that have left the FIFO in each tenth of a second.
        waits_ms: how many packets have waited in it so many milliseconds, from the tenth second on.
        late_ms: likewise how much later than the trace says they have left it.
    """

    def __init__(self, case: dict[str, Any], trace: str, target: int, began: int) -> None:
        self._target = target
        self._trace: list[int] = [each * _MS for each in case.get(trace, ())]
        self._span = max(self._trace[-1], _MS) if self._trace else 0
        self._delay = round(case["rtt_s"] * 1e9 / 2)
        self._limit = case["buffer_bytes"]
        self._began = began
        self._round = self._index = 0
        self._queue: deque[tuple[bytes, int]] = deque()
        self._queued = 0
        self._left = 0
        self._line: deque[tuple[int, bytes]] = deque()
        self._late: list[tuple[int, bytes]] = []
        self.drops = 0
        self.served: list[int] = []
        self.waits_ms: list[int] = []
        self.late_ms: list[int] = []

    def next(self) -> int | None:
        """When something is to be done, if anything."""
        coming = [each[0][0] for each in (self._line, self._late) if each]
        if self._queue:
            coming.append(self._opportunity())
        return min(coming, default=None)

    def _opportunity(self) -> int:
        return self._began + self._round * self._span + self._trace[self._index]

    def take(self, packet: bytes, now: int, *, first: bool = False, later: int = 0) -> None:
        """Take a packet, which may go past the FIFO, and may come later than others."""
        if later:
            heapq.heappush(self._late, (now + self._delay + later, packet))
        elif first or not self._trace:
            self._line.append((now + self._delay, packet))
        elif self._queued + len(packet) > self._limit:
            self.drops += 1
        else:
            self._queue.append((packet, now))
            self._queued += len(packet)

    def serve(self, now: int) -> None:
        """Use the trace's opportunities up to now, and deliver what is due."""
        while self._trace and self._opportunity() <= now:
            at = self._opportunity()
            self._left = self._left + _OPPORTUNITY if self._queue else 0
            while self._queue and len(self._queue[0][0]) <= self._left and self._queue[0][1] <= at:
                packet, came = self._queue.popleft()
                self._queued -= len(packet)
                self._left -= len(packet)
                slot = max(0, at - self._began) // (100 * _MS)
                _add(self.served, slot, len(packet))
                if at - self._began > _JUDGED_FROM:
                    _add(self.waits_ms, (at - came) // _MS)
                    _add(self.late_ms, (now - at) // _MS)
                self._line.append((at + self._delay, packet))
            if not self._queue:
                self._left = 0
            self._index += 1
            if self._index == len(self._trace):
                self._index, self._round = 0, self._round + 1
        while self._line and self._line[0][0] <= now:
            self._deliver(self._line.popleft()[1])
        while self._late and self._late[0][0] <= now:
            self._deliver(heapq.heappop(self._late)[1])

    def _deliver(self, packet: bytes) -> None:
        try:
            os.write(self._target, packet)
        except OSError:
            self.drops += 1


def _add(counts: list[int], place: int, number: int = 1) -> None:
    counts += [0] * (place + 1 - len(counts))
    counts[place] += number


class Modem:
    """Both directions of the line, and what becomes of probes.

    Attributes:
        ways: the direction of interest, and the other.
    """

    def __init__(self, case: dict[str, Any], devices: tuple[int, int], began: int) -> None:
        home, net = devices if case["direction"] == "up" else devices[::-1]
        self.ways = Way(case, "trace_ms", net, began), Way(case, "back_trace_ms", home, began)
        self._sources = home, net
        self._probe_loss: float = case.get("lost_probes", 0.0)
        self._probe_delay = round(1e9 * case.get("delayed_probes_s", 0.0))
        self._deaf = {socket.inet_aton(each): at for each, at in case.get("deaf", {}).items()}
        self._first_to = case.get("prioritised_probes", False)
        self._began = began
        self._lost = 0

    def run(self, until: int) -> None:
        """Carry packets until a time."""
        poll = select.poll()
        for source in self._sources:
            poll.register(source, select.POLLIN)
        while (now := time.monotonic_ns()) < until:
            coming = [until, *(at for way in self.ways if (at := way.next()) is not None)]
            wait = max(0, min(coming) - now)
            # Poll counts in milliseconds; what comes earlier is slept for.
            if 0 < wait < _MS:
                time.sleep(wait / 1e9)
                ready = poll.poll(0)
            else:
                ready = poll.poll(wait // _MS)
            now = time.monotonic_ns()
            for source, _ in ready:
                self._take(self.ways[source != self._sources[0]], source, now)
            for way in self.ways:
                way.serve(now)

    def _take(self, way: Way, source: int, now: int) -> None:
        while True:
            try:
                packet = os.read(source, 65536)
            except BlockingIOError:
                return
            if packet[0] >> 4 != 4:  # noqa: PLR2004 - IPv6 has nothing to say here
                continue
            if packet[9] != 1:
                way.take(packet, now)
            elif not self._loses(packet, now):
                later = 0
                if self._probe_delay and way is self.ways[1]:
                    later = round(-math.log(1.0 - self._chance()) * self._probe_delay)
                way.take(packet, now, first=self._first_to, later=later)

    def _loses(self, packet: bytes, now: int) -> bool:
        for address in (packet[12:16], packet[16:20]):
            at = self._deaf.get(address)
            if at is not None and now - self._began > at * 1e9:
                return True
        return self._chance() < self._probe_loss

    def _chance(self) -> float:
        """Return the next random number."""
        self._lost = (1103515245 * self._lost + 12345) & 0x7FFFFFFF
        return self._lost / 0x80000000


def send_tcp(to: str, count: int, until: int) -> None:
    """Send to an end as much as TCP lets through."""
    payload = bytes(65536)
    flows = []
    for _ in range(count):
        flow = socket.socket()
        flow.connect((_ADDRESSES[to], _PORTS[to]))
        flow.settimeout(0.0)
        flows.append(flow)
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


class Timed:
    """Law whose share of the processor is counted."""

    def __init__(self, law: Law) -> None:
        self._law = law
        self.cpu_ns = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return what the law has, counted."""
        own = getattr(self._law, name)

        def counted(*words: object) -> Any:  # noqa: ANN401 - as the law has it
            began = time.thread_time_ns()
            found = own(*words)
            self.cpu_ns += time.thread_time_ns() - began
            return found

        setattr(self, name, counted)
        return counted


def keep(case: dict[str, Any], until: int) -> dict[str, Any]:
    """Run the product; what it says of its run, and the rates it set."""
    from vermilion import _core
    from vermilion.files.document import as_json
    from vermilion.line.drive import keep_line
    from vermilion.line.outcome import Wish
    from vermilion.routers.linux.shaper_rate import LinuxShaper

    rates: list[tuple[float, float]] = []
    laws: list[Timed] = []
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
        if case["law"].endswith("service-curve"):
            known = {"start": start} if start else {}
            settings = {"direction": direction, "excess": excess_s, **known, **settings}
        laws.append(Timed(_core.RateLaw(case["law"], json.dumps(settings))))
        return laws[-1]

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
    return {
        "run": as_json(done),
        "rates": rates,
        "law_cpu_s": sum(each.cpu_ns for each in laws) / 1e9,
    }


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
    sender, receiver = ("home", "net") if case["direction"] == "up" else ("net", "home")
    ends = [(sender, receiver, "tcp", case["flows"])]
    if case.get("back_flows"):
        ends.append((receiver, sender, "tcp_back", case["back_flows"]))
    listeners = {}
    for _, to, _, _ in ends:
        with inside(to):
            listeners[to] = socket.create_server(("", _PORTS[to]), backlog=64)
    with inside(receiver):
        call = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        call.bind(("", _CALL_PORT))
    children = [
        child(receiver, "call", lambda: receive_call(call, began, until)),
        child(sender, "called", lambda: send_call(case, began, until)),
    ]
    for of, to, name, count in ends:
        receive = partial(receive_tcp, listeners[to], began, until)
        children.append(child(to, name, receive))
        children.append(child(of, f"{name}_sent", partial(send_tcp, to, count, until)))
    if case["law"] not in {"fixed", "none"}:
        children.append(child("home", "kept", lambda: keep(case, until)))
    if case.get("program"):
        children.append(child("home", "program", lambda: program(case, until)))
    modem = Modem(case, devices, began)
    os.nice(_MODEM_NICENESS)  # in real time it has to be on time, whoever else is busy
    modem.run(until + 200 * _MS)
    for each in children:
        each.join(5.0)
        if each.is_alive() and each.pid is not None:
            os.kill(each.pid, signal.SIGKILL)
    there, back = modem.ways
    outcome: dict[str, Any] = {
        "drops": there.drops + back.drops,
        "served": there.served,
        "served_back": back.served,
        "waits_ms": there.waits_ms,
        "waits_back_ms": back.waits_ms,
        "late_ms": there.late_ms,
    }
    for name in ("tcp", "tcp_back", "call", "kept", "program"):
        path = Path(JOB, f"{name}.json")
        if path.exists():
            outcome[name] = json.loads(path.read_text(encoding="utf-8"))
    Path(JOB, "outcome.json").write_text(json.dumps(outcome), encoding="utf-8")


def program(case: dict[str, Any], until: int) -> list[dict[str, Any]]:
    """Run commands of the product, one after another, and say what they print.

    Each has its ``words``, and where that matters ``kill_after_s`` with a ``signal``. ``meanwhile``
    are words of others, with the seconds at which they come, and ``{pid}`` for its number;
    ``typed`` likewise are lines at its terminal.
    """
    found = []
    for each in case["program"]:
        output = Path(JOB, "said")
        typed = each.get("typed", ())
        keyboard, terminal = pty.openpty() if typed else (-1, subprocess.DEVNULL)
        with output.open("w", encoding="utf-8") as said:
            process = subprocess.Popen(
                [*(sys.executable, "-m", "vermilion"), *each["words"]]
                if each.get("vermilion", True)
                else each["words"],
                stdin=terminal,
                stdout=said,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NO_COLOR": "1"},
            )
            deeds: list[tuple[float, Callable[[], object]]] = [
                (at, partial(os.write, keyboard, f"{line}\n".encode())) for at, line in typed
            ]
            for at, *words in each.get("meanwhile", ()):
                filled = [word.replace("{pid}", str(process.pid)) for word in words]
                deeds.append((at, partial(subprocess.run, filled, check=False)))
            timers = [threading.Timer(at, deed) for at, deed in deeds]
            for timer in timers:
                timer.start()
            end = time.monotonic() + each.get("kill_after_s", (until - time.monotonic_ns()) / 1e9)
            while process.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
            if process.poll() is None:
                process.send_signal(each.get("signal", signal.SIGKILL))
                process.wait()
            for timer in timers:
                timer.cancel()
        for descriptor in (keyboard, terminal) if typed else ():
            os.close(descriptor)
        time.sleep(each.get("then_wait_s", 0.0))
        text = output.read_text(encoding="utf-8")
        found.append({"code": process.returncode, "said": text})
    return found


if __name__ == "__main__":
    main()
