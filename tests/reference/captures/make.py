"""Makes the captures beside it: real kernels' TCP and UDP over delays and losses that are known.

Three network namespaces: a sender, a router and a receiver. Between them this program carries the
packets, each after a delay: 5 ms each way on the sender's side of the router, 20 ms each way on the
receiver's. It drops some data packets on purpose, some before the router, some behind it. tcpdump
and dumpcap listen on the router, so that whoever reads their captures has to find:

- round trips of at least 40 ms beyond the monitor and at least 50 ms in all,
- the packets that were dropped, by the side on which they were.

Run as root on Linux, with tcpdump, tshark and editcap: ``python3 make.py DIRECTORY``. It writes the
captures and ``expected.json``: what was done, and what tshark makes of the captures.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gzip
import heapq
import json
import os
import select
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

NEAR_MS = 5
FAR_MS = 20
SNAP_LENGTH = "100"
INSIDE = ("ip", "netns", "exec")
CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
TUN, TAP, NO_PACKET_INFORMATION = 1, 2, 0x1000
FIELDS = (
    "tcp.stream",
    "tcp.srcport",
    "tcp.len",
    "ip.len",
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.ack_rtt",
    "tcp.analysis.initial_rtt",
    "ip.dsfield.ecn",
)


def run(*command: str, inside: str | None = None) -> str:
    prefix = [*INSIDE, inside] if inside else []
    return subprocess.run([*prefix, *command], check=True, capture_output=True, text=True).stdout


@contextlib.contextmanager
def within(namespace: str):
    """This thread, in another network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with (
        Path("/proc/thread-self/ns/net").open() as home,
        Path(f"/run/netns/{namespace}").open() as there,
    ):
        if libc.setns(there.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
        try:
            yield
        finally:
            libc.setns(home.fileno(), CLONE_NEWNET)


def device(namespace: str, name: str, addresses: tuple[str, ...], kind: int) -> int:
    """A device whose packets this program carries; its descriptor."""
    with within(namespace):
        descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        request = struct.pack("16sH22x", name.encode(), kind | NO_PACKET_INFORMATION)
        fcntl.ioctl(descriptor, TUNSETIFF, request)
    for address in addresses:
        nodad = ["nodad"] if ":" in address else []
        run("ip", "address", "add", address, "dev", name, *nodad, inside=namespace)
    run("ip", "link", "set", name, "mtu", "1500", "up", inside=namespace)
    return descriptor


def data_of(packet: bytes) -> int:
    """Bytes of TCP data of a packet over IPv4 without link header; 0 for anything else."""
    if packet[0] >> 4 != 4 or packet[9] != 6:
        return 0
    header = (packet[0] & 15) * 4
    return int.from_bytes(packet[2:4]) - header - (packet[header + 12] >> 4) * 4


class Carrier(threading.Thread):
    """Carries packets between pairs of devices, and drops the data packets it is told to."""

    def __init__(self, wires: list[tuple[int, int, float, str]], dropped: dict[str, set[int]]):
        super().__init__(daemon=True)
        self.wires = {source: (target, delay, name) for source, target, delay, name in wires}
        self.dropped = dropped
        self.seen = dict.fromkeys(dropped, 0)
        self.done: list[str] = []
        self.stop = False

    def run(self):
        under_way: list[tuple[float, int, int, bytes]] = []
        count = 0
        while not self.stop:
            wait = max(0.0, under_way[0][0] - time.monotonic()) if under_way else 0.05
            readable, _, _ = select.select(list(self.wires), [], [], wait)
            now = time.monotonic()
            for source in readable:
                packet = os.read(source, 70_000)
                target, delay, name = self.wires[source]
                bare = packet[14:] if name.startswith("near") else packet
                if name in self.dropped and data_of(bare) > 0:
                    self.seen[name] += 1
                    if self.seen[name] in self.dropped[name]:
                        self.done.append(name)
                        continue
                count += 1
                heapq.heappush(under_way, (now + delay, count, target, packet))
            while under_way and under_way[0][0] <= time.monotonic():
                with contextlib.suppress(OSError):
                    os.write(under_way[0][2], under_way[0][3])
                heapq.heappop(under_way)


def topology() -> list[tuple[int, int, float, str]]:
    for namespace in ("sender", "router", "receiver"):
        run("ip", "netns", "add", namespace)
        run("ip", "link", "set", "lo", "up", inside=namespace)
    sender = device("sender", "near0", ("10.1.0.2/24", "fd01::2/64"), TAP)
    left = device("router", "near1", ("10.1.0.1/24", "fd01::1/64"), TAP)
    right = device("router", "far1", ("10.2.0.1/24", "fd02::1/64"), TUN)
    receiver = device("receiver", "far0", ("10.2.0.2/24", "fd02::2/64"), TUN)
    for address, name in (("10.1.0.1", "sender"), ("fd01::1", "sender")):
        run("ip", "route", "add", "default", "via", address, inside=name)
    for family in ("-4", "-6"):
        run("ip", family, "route", "add", "default", "dev", "far0", inside="receiver")
    settings = ("net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
    run("sysctl", "-w", *settings, inside="router")
    for end in ("sender", "receiver"):
        run("sysctl", "-w", "net.ipv4.tcp_ecn=1", "net.ipv4.tcp_no_metrics_save=1", inside=end)
    return [
        (sender, left, NEAR_MS / 1000, "near-forth"),
        (left, sender, NEAR_MS / 1000, "near-back"),
        (right, receiver, FAR_MS / 1000, "far-forth"),
        (receiver, right, FAR_MS / 1000, "far-back"),
    ]


def transfer(address: str, port: int, size: int, reply: int = 0) -> None:
    """The sender sends so many bytes to the receiver, who may answer with so many."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with within("receiver"):
        listener = socket.create_server((address, port), family=family)
    with within("sender"):
        connection = socket.socket(family)
    got = 0

    def receive() -> None:
        nonlocal got
        accepted, _ = listener.accept()
        with accepted:
            while got < size:
                got += len(accepted.recv(65536))
            accepted.sendall(bytes(reply))
            accepted.shutdown(socket.SHUT_WR)
            accepted.recv(1)

    thread = threading.Thread(target=receive)
    thread.start()
    with connection:
        connection.connect((address, port))
        connection.sendall(bytes(size))
        left = reply
        while left:
            left -= len(connection.recv(65536))
    thread.join()
    listener.close()


def datagrams(address: str, port: int, count: int) -> None:
    with within("sender"):
        plain = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for _ in range(count):
        plain.sendto(bytes(500), (address, port))
        time.sleep(0.005)
    plain.close()


@contextlib.contextmanager
def listening(*command: str):
    """A program that captures on the router until the end of the block."""
    inside = (*INSIDE, "router", *command)
    program = subprocess.Popen(inside, stderr=subprocess.DEVNULL)
    time.sleep(1.5)
    try:
        yield
    finally:
        time.sleep(0.7)
        program.terminate()
        program.wait()


def what_tshark_says(capture: Path) -> dict[str, object]:
    """Counts and round trips, by TCP connection."""
    options = [item for field in FIELDS for item in ("-e", field)]
    lines = run("tshark", "-r", str(capture), "-Y", "tcp", "-T", "fields", *options).splitlines()
    streams: dict[int, dict] = {}
    for line in lines:
        stream, port, length, size, again, fast, spurious, order, rtt, initial, ecn = line.split(
            "\t"
        )
        counts = streams.setdefault(
            int(stream),
            {"packets": 0, "payload": 0, "sent_again": 0, "out_of_order": 0, "ack_rtt_ms": {}},
        )
        counts["packets"] += 1
        counts["payload"] += int(length)
        counts["sent_again"] += bool(again or fast or spurious)
        counts["out_of_order"] += bool(order)
        if size:
            counts["ip_bytes"] = counts.get("ip_bytes", 0) + int(size.split(",")[0])
        if rtt:
            counts["ack_rtt_ms"].setdefault(port, []).append(round(float(rtt) * 1000, 3))
        if initial:
            counts["handshake_ms"] = round(float(initial) * 1000, 3)
        if ecn:
            counts.setdefault("ecn", [0, 0, 0, 0])[int(ecn.split(",")[0], 0)] += 1
    return {"connections": [streams[key] for key in sorted(streams)]}


def main(target: Path) -> None:
    expected: dict[str, object] = {
        "near_ms": 2 * NEAR_MS,
        "far_ms": 2 * FAR_MS,
        "tcpdump": run("tcpdump", "--version").splitlines()[0],
        "tshark": run("tshark", "--version").splitlines()[0],
        "kernel": os.uname().release,
    }
    wires = topology()
    dropped = {"near-forth": {20}, "far-forth": {35, 50}}
    with tempfile.TemporaryDirectory() as scratch:
        # tcpdump writes as another user, dumpcap does not like other people's directories.
        Path(scratch).chmod(0o777)
        made: dict[str, Path] = {}

        def file(name: str) -> str:
            made[name] = Path(scratch) / name
            return str(made[name])

        carrier = Carrier(wires, dropped)
        carrier.start()
        tcpdump = ("tcpdump", "-s", SNAP_LENGTH, "-U", "-B", "4096", "-w")
        with (
            listening(*tcpdump, file("bulk.pcap"), "-i", "near1", "ip"),
            listening(
                "dumpcap",
                "-q",
                "-s",
                SNAP_LENGTH,
                "-i",
                "near1",
                "-i",
                "far1",
                "-f",
                "ip",
                "-w",
                file("both-sides.pcapng"),
            ),
        ):
            transfer("10.2.0.2", 5001, 100_000)
        assert sorted(carrier.done) == ["far-forth", "far-forth", "near-forth"], carrier.done
        expected["dropped"] = {"before_router": 1, "behind_router": 2}
        carrier.dropped = {}

        with listening(*tcpdump, file("nanoseconds.pcap"), "--nano", "-i", "far1"):
            transfer("fd02::2", 5002, 20_000, reply=20_000)
            datagrams("10.2.0.2", 5003, 10)
        for end in ("sender", "receiver"):
            run("sysctl", "-w", "net.ipv4.tcp_timestamps=0", "net.ipv4.tcp_ecn=0", inside=end)
        with listening(*tcpdump, file("cooked.pcap"), "-i", "any", "-Q", "in"):
            transfer("10.2.0.2", 5004, 60_000)
        carrier.stop = True
        carrier.join()

        plain = made["cooked.pcap"].read_bytes()
        (target / "cooked.pcap.gz").write_bytes(gzip.compress(plain, mtime=0))
        for name in ("bulk.pcap", "both-sides.pcapng", "nanoseconds.pcap"):
            (target / name).write_bytes(made[name].read_bytes())
        # One of each format that editcap writes, of what tcpdump wrote.
        for kind, name in (("pcapng", "bulk.editcap.pcapng"), ("nsecpcap", "bulk.editcap.pcap")):
            run("editcap", "-F", kind, str(made["bulk.pcap"]), str(target / name))
        for name in ("bulk.pcap", "both-sides.pcapng", "nanoseconds.pcap", "cooked.pcap"):
            expected[name] = what_tshark_says(made[name])
    (target / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    finally:
        for name in ("sender", "router", "receiver"):
            subprocess.run((*INSIDE[:2], "delete", name), check=False, capture_output=True)
