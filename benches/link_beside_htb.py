"""An emulated link beside Linux's own token bucket (htb), with the same traffic.

    python benches/link_beside_htb.py timing [--seconds 10]
    python benches/link_beside_htb.py speed [--seconds 10]

htb stands at one end of a pair of virtual interfaces (veth) between two network namespaces; the
emulated link stands between two namespaces as well. ``timing``: datagrams of 1500 bytes, more than
100 Mbit/s can carry, and the kernel's own times at which they reach the other end: how far those
lie from an even schedule. Neither link is asked. ``speed``: 8 flows of this machine's TCP through
links of 40 Gbit/s that are too fast to be full, in many packets at once and in single ones: packets
per second of the clock, and how many cores were busy with all of it, programs included.

Needs user namespaces, ``ip``, ``tc``, ``unshare`` and ``nsenter``, and a kernel with htb.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from vermilion.link.emulation import Surroundings, emulate
from vermilion.link.plan import Options, plan_of_options

ROOT: Final = Path(__file__).parents[1]
PROGRAMS: Final = str(ROOT / "tests" / "link" / "programs.py")
PYTHON: Final = sys.executable
UNSHARE: Final = shutil.which("unshare") or "unshare"
PORT: Final = 5002
PAYLOAD: Final = 1472
TCP_PORT: Final = 5001
FLOWS: Final = 8
SLOW_START_S: Final = 0.5
_BYTES_ACKED: Final = 120
"""Where ``tcpi_bytes_acked`` is in what TCP_INFO gives."""
HERE, THERE = "10.9.0.1", "10.9.0.2"
_SO_TIMESTAMPNS: Final = 35
_TIME: Final = struct.Struct("=qq")
_START_S: Final = 1.0
BURST: Final = 10
BURST_S: Final = 0.001
"""120 Mbit/s."""
LISTENING_S: Final = 3.0
"""After the last packet: the link goes with the sender, and the receiver has its times to write."""
_LEFT_OUT: Final = 0.1
"""Of the packets at the beginning: until the queue is full, the sender sets the pace."""


def blast(seconds: str) -> None:
    """Sends datagrams somewhat faster than 100 Mbit/s can carry them."""
    outlet = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    outlet.connect((os.environ["VERMILION_LINK_PEER"], PORT))
    data = bytes(PAYLOAD)
    begun = time.monotonic()
    for due_s in np.arange(0.0, float(seconds), BURST_S):
        time.sleep(max(0.0, begun + float(due_s) - time.monotonic()))
        for _ in range(BURST):
            with suppress(ConnectionRefusedError):
                outlet.send(data)
    time.sleep(LISTENING_S)


def receive(file: str) -> None:
    """Keeps the kernel's times of arrival until none comes for a second."""
    inlet = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    inlet.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    inlet.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    inlet.bind(("", PORT))
    times: list[int] = []
    inlet.settimeout(20.0)
    while True:
        try:
            _, told, _, _ = inlet.recvmsg(PAYLOAD, 64)
        except TimeoutError:
            break
        inlet.settimeout(1.0)
        seconds, nanoseconds = _TIME.unpack(told[0][2][: _TIME.size])
        times.append(seconds * 1_000_000_000 + nanoseconds)
    Path(file).write_text(json.dumps(times), encoding="ascii")


def unevenness(times: list[int]) -> dict[str, float]:
    """How far arrivals lie from the straight line through them, in microseconds."""
    arrived = np.array(times[int(len(times) * _LEFT_OUT) :], dtype=np.float64) / 1e3
    numbers = np.arange(len(arrived))
    slope, first = np.polyfit(numbers, arrived - arrived[0], 1)
    apart = np.abs(arrived - arrived[0] - first - slope * numbers)
    return {
        "packets": len(arrived),
        "every_us": float(slope),
        "p50": float(np.percentile(apart, 50)),
        "p99": float(np.percentile(apart, 99)),
        "max": float(apart.max()),
    }


def through_link(sender: list[str], receiver: list[str], rate: str, *, offload: bool) -> None:
    """Runs two programs at the ends of an emulated link."""
    limit = ["queue.limit='1000 packets'"]
    options = Options(rate=rate, discipline="drop-tail", overrides=limit)
    surroundings = Surroundings(isolated=True, peer=receiver, offload=offload)
    emulate(plan_of_options(options), sender, surroundings)


def through_htb(sender: list[str], receiver: list[str], rate: str, *, offload: bool) -> None:
    """The same at the ends of a pair of interfaces with htb."""
    inner = [PYTHON, __file__, "inside", json.dumps([sender, receiver, rate, offload])]
    subprocess.run([UNSHARE, "-Urn", *inner], check=True)


def inside(text: str) -> None:
    """Lays the pair, in a network namespace of its own, and runs the programs."""
    sender, receiver, rate, offload = json.loads(text)
    peer = subprocess.Popen([UNSHARE, "-n", *receiver])
    time.sleep(_START_S)
    there = ["nsenter", "-t", str(peer.pid), "-n"]
    size = [] if offload else ["gso_max_segs", "1"]
    leaf = "htb rate {0} ceil {0} burst 1600 cburst 1600".format(rate.lower().removesuffix("/s"))
    steps = [
        ["ip", "link", "add", "v0", *size, "type", "veth", "peer", "name", "v1"],
        ["ip", "link", "set", "v1", "netns", str(peer.pid)],
        ["ip", "address", "add", f"{HERE}/24", "dev", "v0"],
        ["ip", "link", "set", "v0", "up"],
        ["tc", "qdisc", "add", "dev", "v0", "root", "handle", "1:", "htb", "default", "1"],
        ["tc", "class", "add", "dev", "v0", "parent", "1:", "classid", "1:1", *leaf.split()],
        ["tc", "qdisc", "add", "dev", "v0", "parent", "1:1", "pfifo", "limit", "1000"],
        [*there, "ip", "address", "add", f"{THERE}/24", "dev", "v1"],
        [*there, "ip", "link", "set", "v1", "up"],
    ]
    for step in steps:
        subprocess.run(step, check=True)
    subprocess.run(sender, check=False, env={**os.environ, "VERMILION_LINK_PEER": THERE})
    if receiver[-1] == "sink":
        peer.kill()
    peer.wait()


def busy_s() -> float:
    """CPU seconds of the whole machine so far, idle ones left out."""
    numbers = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:8]]
    idle = numbers[3] + numbers[4]
    return (sum(numbers) - idle) / os.sysconf("SC_CLK_TCK")


LINKS: Final[dict[str, Any]] = {"htb": through_htb, "vermilion link": through_link}


def timing(seconds: float) -> None:
    """Prints how even the arrivals were at 100 Mbit/s."""
    print("| link | packets | one every | from an even schedule: p50 | p99 | most |")
    print("| --- | --- | --- | --- | --- | --- |")
    file = f"/tmp/vermilion-arrivals-{os.getpid()}"  # noqa: S108 - two namespaces have it
    for name, through in LINKS.items():
        sender = [PYTHON, __file__, "blast", str(seconds)]
        through(sender, [PYTHON, __file__, "receive", file], "100Mbit/s", offload=False)
        found = unevenness(json.loads(Path(file).read_text(encoding="ascii")))
        Path(file).unlink()
        print(
            f"| {name} | {found['packets']} | {found['every_us']:.2f} us | {found['p50']:.0f} us "
            f"| {found['p99']:.0f} us | {found['max']:.0f} us |",
            flush=True,
        )


def speed(seconds: float) -> None:
    """Prints packets per second."""
    print("| link | handed over | Mbit/s | packets/s of 1500 bytes | cores busy |")
    print("| --- | --- | --- | --- | --- |")
    for offload in (False, True):
        for name, through in LINKS.items():
            file = f"/tmp/vermilion-bytes-{os.getpid()}"  # noqa: S108 - as above
            sender = [PYTHON, __file__, "count", file, str(seconds)]
            begun, busy = time.monotonic(), busy_s()
            through(sender, [PYTHON, PROGRAMS, "sink"], "40Gbit/s", offload=offload)
            cores = (busy_s() - busy) / (time.monotonic() - begun)
            sent = int(Path(file).read_text(encoding="ascii"))
            Path(file).unlink()
            how = "many in one piece" if offload else "single packets"
            print(
                f"| {name} | {how} | {sent * 8 / seconds / 1e6:,.0f} "
                f"| {sent / seconds / (PAYLOAD - 24):,.0f} | {cores:.1f} |",
                flush=True,
            )


def connected(address: str) -> socket.socket:
    """A flow of Reno to a server that may not be there yet."""
    while True:
        flow = socket.socket()
        flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        try:
            flow.connect((address, TCP_PORT))
        except ConnectionRefusedError:
            flow.close()
            time.sleep(0.05)
        else:
            return flow


def count(file: str, seconds: str) -> None:
    """Runs the flows, and keeps how many bytes the other end has acknowledged."""
    flows = [connected(os.environ["VERMILION_LINK_PEER"]) for _ in range(FLOWS)]

    def send(flow: socket.socket) -> None:
        data = bytes(1 << 16)
        while True:
            flow.sendall(data)

    def acknowledged() -> int:
        told = [flow.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256) for flow in flows]
        return sum(struct.unpack_from("=Q", each, _BYTES_ACKED)[0] for each in told)

    for flow in flows:
        threading.Thread(target=send, args=(flow,), daemon=True).start()
    time.sleep(SLOW_START_S)
    begun = acknowledged()
    time.sleep(float(seconds))
    Path(file).write_text(str(acknowledged() - begun), encoding="ascii")
    os._exit(0)


def main() -> None:
    """Measures what the arguments say."""
    if sys.argv[1:2] and sys.argv[1] in {"blast", "receive", "inside", "count"}:
        globals()[sys.argv[1]](*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["timing", "speed"])
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    {"timing": timing, "speed": speed}[given.what](given.seconds)


if __name__ == "__main__":
    main()
