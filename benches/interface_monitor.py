"""The passive monitor on an interface, held against what the senders' own kernel says (ss -ti).

Network namespaces in a row: senders, a line that delays acknowledgements (by the sender's port, so
that round trips are known), a router whose exit is a token bucket, a receiver. The monitor listens
in the router. Nothing outside of the namespaces is touched; they end with the program.

    python benches/interface_monitor.py                       # 16 flows, 10 Mbit/s, 20 s
    python benches/interface_monitor.py --flows 4 --round-trips 20,40,80,160
    python benches/interface_monitor.py --congestion bbr --entrance
    python benches/interface_monitor.py --capture file.pcap --tool dumpcap   # and no monitor

Where this user may have namespaces, root is not needed. Prints one JSON object: mean round trip by
both, how far each flow is off, the number of flows, packets and losses of the ring, and the CPU
time of listening as a share of a core.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import heapq
import json
import os
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import Any

PORT = 5001
INSIDE = "VERMILION_INSIDE_NAMESPACES"
STRETCH_S = 0.1
WARM_UP_S = 3.0
NEAR = 0.12
RECEIVER, SENDERS, ROUTER, LINE = "receiver", "senders", "router", "line"
ADDRESS = "10.8.2.1"


def main() -> None:
    """Sets the network up, measures, and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flows", type=int, default=16)
    parser.add_argument("--rate", type=float, default=10.0, help="of the bottleneck, Mbit/s")
    parser.add_argument("--queue", type=int, default=60_000, help="its limit, bytes")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--one-in", type=int, default=1, help="of the flows is looked at")
    parser.add_argument(
        "--round-trips",
        default="28",
        help="ms, dealt to the flows by their ports; none: no line, and offload stays on",
    )
    parser.add_argument(
        "--entrance", action="store_true", help="see packets before the queue as well"
    )
    parser.add_argument("--congestion", default="cubic", help="of the senders")
    parser.add_argument("--capture", default="", help="write the packets at the exit to this file")
    parser.add_argument(
        "--from-start", action="store_true", help="capture from before the first packet on"
    )
    parser.add_argument("--tool", default="tcpdump", help="tcpdump or dumpcap")
    parser.add_argument("--part", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part == RECEIVER:
        receive()
    elif given.part == SENDERS:
        send(given.flows, given.seconds, given.congestion)
    elif given.part == LINE:
        if given.round_trips != "none":
            delay([float(each) / 1e3 for each in given.round_trips.split(",")])
    elif given.part.startswith("offload:"):
        without_offload(given.part.removeprefix("offload:"))
    elif given.part == ROUTER:
        entrances = ("r0",) if given.entrance else ()
        sys.stdout.write(json.dumps(watch(given.seconds, given.one_in, entrances)))
    elif INSIDE not in os.environ:
        unshare = shutil.which("unshare")
        if unshare is None:
            sys.exit("unshare of util-linux is not installed")
        script = 'mount -t tmpfs tmpfs /run && exec "$@"'
        user = [] if os.geteuid() == 0 else ["-r"]
        command = [unshare, *user, "-m", "-n", "sh", "-c", script, "sh", sys.executable, *sys.argv]
        raise SystemExit(
            subprocess.run(command, check=False, env={**os.environ, INSIDE: "1"}).returncode
        )
    else:
        sys.stdout.write(json.dumps(measure(given), indent=2) + "\n")


def measure(given: argparse.Namespace) -> dict[str, object]:
    """Traffic, with the monitor in the middle and ss beside the senders."""
    build(given.rate, given.queue, direct=given.round_trips == "none")
    line = start("td", LINE, given)
    receiver = start("tb", RECEIVER, given)
    time.sleep(0.5)
    senders = start("ta", SENDERS, given, seconds=given.seconds + WARM_UP_S + 1.0)
    try:
        if given.capture:
            time.sleep(0.0 if given.from_start else WARM_UP_S)
            capture(given)
            return {"capture": given.capture}
        time.sleep(WARM_UP_S)  # slow start is over
        router = start("tr", ROUTER, given)
        truth, waiting = listen_to_the_kernel(given.seconds)
        told = json.loads(router.communicate(timeout=given.seconds + 30)[0])
    finally:
        senders.wait(timeout=30)
        for each in (receiver, line):
            each.kill()
            each.wait()
    outcome = compare(told, truth, given)
    # What a packet waits that arrives when so much waits.
    outcome["queue_mean_ms"] = 8.0 * waiting / (given.rate * 1e3)
    return outcome


def compare(
    told: dict[str, Any], truth: dict[int, list[float]], given: argparse.Namespace
) -> dict[str, object]:
    """Both sides of each flow, by the sender's port."""
    trips = told.pop("round_trips_ms")
    mean = {int(port): sum(values) / len(values) for port, values in trips.items() if values}
    kernel = {port: sum(values) / len(values) for port, values in truth.items()}
    both = sorted(mean.keys() & kernel.keys())
    off = sorted(mean[port] / kernel[port] - 1.0 for port in both)
    within = sum(abs(each) <= NEAR for each in off) / max(1, len(off))
    all_told, all_kernel = (
        sum(side[port] for port in both) / max(1, len(both)) for side in (mean, kernel)
    )
    return {
        "flows": given.flows,
        "rate_mbit_per_s": given.rate,
        "flows_that_moved": len(kernel),
        "flows_compared": len(both),
        "mean_ms": all_told,
        "kernel_mean_ms": all_kernel,
        "mean_off": all_told / all_kernel - 1.0 if all_kernel else None,
        "flows_within_12_percent": within,
        "off_p5": off[int(0.05 * len(off))] if off else None,
        "off_p95": off[int(0.95 * (len(off) - 1))] if off else None,
        **told,
    }


def build(rate: float, queue: int, *, direct: bool) -> None:
    """Namespaces in a row; the bottleneck is the router's exit to the receiver."""

    def run(*words: str) -> None:
        subprocess.run(words, check=True, capture_output=True)

    def pair(one: str, near: str, two: str, far: str) -> None:
        run(*f"ip link add {one} netns {near} type veth peer {two} netns {far}".split())

    for name in ("ta", "td", "tr", "tb"):
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
    if direct:
        pair("a0", "ta", "r0", "tr")
    else:
        pair("a0", "ta", "d0", "td")
        pair("r0", "tr", "d1", "td")
    pair("b0", "tb", "r1", "tr")
    for device in () if direct else ("d0", "d1"):
        run("ip", "-n", "td", "link", "set", device, "up")
    for near, one, far, two, net in (
        ("ta", "a0", "tr", "r0", 1),
        ("tb", "b0", "tr", "r1", 2),
    ):
        for where, device, host in ((near, one, 1), (far, two, 2)):
            run("ip", "-n", where, "addr", "add", f"10.8.{net}.{host}/24", "dev", device)
            run("ip", "-n", where, "link", "set", device, "up")
        run("ip", "-n", near, "route", "add", "default", "via", f"10.8.{net}.2")
    for where, device in () if direct else (("ta", "a0"), ("tr", "r0")):
        offload = (sys.executable, __file__, "--part", f"offload:{device}")
        run("ip", "netns", "exec", where, *offload)
    forward = "echo 1 > /proc/sys/net/ipv4/ip_forward"
    run("ip", "netns", "exec", "tr", "sh", "-c", forward)
    bucket = f"tbf rate {rate}mbit burst {max(5000, int(rate * 200))} limit {queue}"
    run(*f"ip netns exec tr tc qdisc add dev r1 root {bucket}".split())


def start(
    namespace: str, part: str, given: argparse.Namespace, seconds: float | None = None
) -> subprocess.Popen[str]:
    """A part of this program in a namespace."""
    duration = given.seconds if seconds is None else seconds
    command = ["ip", "netns", "exec", namespace, sys.executable, __file__, "--part", part]
    command += ["--flows", str(given.flows), "--seconds", str(duration)]
    command += ["--one-in", str(given.one_in), "--round-trips", given.round_trips]
    command += ["--congestion", given.congestion]
    command += ["--entrance"] if given.entrance else []
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def receive() -> None:
    """Takes what comes and throws it away."""
    server = socket.create_server(("0.0.0.0", PORT), backlog=256)  # noqa: S104 - of a namespace

    def drain(connection: socket.socket) -> None:
        with connection:
            while connection.recv(1 << 16):
                pass

    while True:
        connection, _ = server.accept()
        threading.Thread(target=drain, args=(connection,), daemon=True).start()


def delay(seconds: list[float]) -> None:
    """Hands frames on between two interfaces; those to the senders later."""
    sockets = {}
    for name in ("d0", "d1"):
        sockets[name] = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        sockets[name].bind((name, 3))
    late: list[tuple[float, int, bytes]] = []
    number = 0
    while True:
        wait_s = max(0.0, late[0][0] - time.monotonic()) if late else 1.0
        for ready in select.select(list(sockets.values()), [], [], wait_s)[0]:
            frame, (_, _, kind, *_) = ready.recvfrom(1 << 16)
            if kind == 4:  # noqa: PLR2004 - what this program has sent itself
                continue
            if ready is sockets["d0"]:
                sockets["d1"].send(frame)
                continue
            port = struct.unpack_from("!H", frame, 36)[0] if frame[12:14] == b"\x08\x00" else 0
            number += 1
            due_s = time.monotonic() + seconds[port % len(seconds)]
            heapq.heappush(late, (due_s, number, frame))
        while late and late[0][0] <= time.monotonic():
            sockets["d0"].send(heapq.heappop(late)[2])


def without_offload(device: str) -> None:
    """Whole packets with checksums: what the line hands on is not finished by any hardware."""
    # include/uapi/linux/ethtool.h: ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO
    with socket.socket() as any_socket:
        for command in (0x1F, 0x25, 0x17):
            value = ctypes.create_string_buffer(struct.pack("=II", command, 0))
            request = struct.pack("16sP16x", device.encode(), ctypes.addressof(value))
            fcntl.ioctl(any_socket, 0x8946, request)


def capture(given: argparse.Namespace) -> None:
    """Writes the packets at the router's exit to a file."""
    command = ["ip", "netns", "exec", "tr", given.tool, "-i", "r1", "-s", "128", "-q"]
    # dumpcap writes pcapng.
    command += ["-w", given.capture] + (["-Z", "root"] if given.tool == "tcpdump" else [])
    program = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    time.sleep(given.seconds)
    program.terminate()
    program.wait()


def send(flows: int, seconds: float, congestion: str) -> None:
    """Long flows, for so long."""
    time.sleep(1.0)  # whoever wants to see the first packet is ready by then
    end_s = time.monotonic() + seconds

    def one() -> None:
        with socket.socket() as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
            connection.connect((ADDRESS, PORT))
            connection.settimeout(0.5)
            while time.monotonic() < end_s:
                with contextlib.suppress(TimeoutError):
                    connection.send(bytes(1 << 14))

    threads = [threading.Thread(target=one) for _ in range(flows)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def watch(seconds: float, one_in: int, entrances: tuple[str, ...]) -> dict[str, object]:
    """What the monitor knows at the router's exit."""
    from vermilion.monitor import InterfaceWatch, Sampling

    smoothed: dict[int, float] = {}
    trips: dict[int, list[float]] = {}
    with InterfaceWatch("r1", sampling=Sampling(one_in), entrances=entrances) as monitor:
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            time.sleep(STRETCH_S)
            monitor.take_in()
            flows, nanoseconds = monitor.round_trips()
            for flow, each in zip(flows.tolist(), nanoseconds.tolist(), strict=True):
                # As the sender smooths (RFC 6298): where the queue overflows there are few.
                before = smoothed.get(flow, each / 1e6)
                smoothed[flow] = before + (each / 1e6 - before) / 8.0
            for flow, value in smoothed.items():
                trips.setdefault(flow, []).append(value)
        count = monitor.active_flows()
        listening = monitor.listening()
        summary = monitor.finish()
    ports = {
        each.number: (each.responder if each.responder.port != PORT else each.initiator).port
        for each in summary.flows
    }
    return {
        "flows_counted": count,
        "packets": listening.packets,
        "lost_packets": listening.lost_packets,
        "cpu_share": listening.cpu_s / seconds,
        "round_trips_ms": {ports[flow]: values for flow, values in trips.items()},
    }


def listen_to_the_kernel(seconds: float) -> tuple[dict[int, list[float]], float]:
    """Smoothed round trips that the senders' kernel has, by port; mean backlog in bytes."""
    found: dict[int, list[float]] = {}
    acknowledged: dict[int, set[str]] = {}
    waiting: list[int] = []
    end_s = time.monotonic() + seconds
    command = ["ip", "netns", "exec", "ta", "ss", "-tinH", f"dport = :{PORT}"]
    while time.monotonic() < end_s:
        time.sleep(STRETCH_S)
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        # A line for each socket, and an indented one of what the kernel knows of it.
        for socket_line in re.split(r"\n(?=\S)", text):
            port = re.search(rf":(\d+)\s+\S+:{PORT}\b", socket_line)
            smoothed = re.search(r"\brtt:([\d.]+)/", socket_line)
            moved = re.search(r"\bbytes_acked:(\d+)", socket_line)
            if port is None or smoothed is None or moved is None:
                continue  # its connection is not open yet
            found.setdefault(int(port[1]), []).append(float(smoothed[1]))
            acknowledged.setdefault(int(port[1]), set()).add(moved[1])
        queue = ["ip", "netns", "exec", "tr", "tc", "-s", "-j", "qdisc", "show", "dev", "r1"]
        told = subprocess.run(queue, check=True, capture_output=True, text=True).stdout
        waiting.append(json.loads(told)[0]["backlog"])
    # Of a flow that moved nothing meanwhile nobody can see anything.
    found = {port: values for port, values in found.items() if len(acknowledged[port]) > 1}
    return found, sum(waiting) / max(1, len(waiting))


if __name__ == "__main__":
    main()
