"""The passive monitor beside a queue of a Linux kernel, held against the senders' own `ss -ti`.

    python benches/kernel_monitor.py [--cases PATTERN] > docs/figures/kernel_monitor.txt
    python benches/kernel_monitor.py --at-sender > docs/figures/kernel_monitor_at_sender.txt

Both are asked at the same moments of the kernel's virtual time, every 0.2 s, so that nothing of a
difference is the machine's. What the kernel smooths (RFC 6298, an eighth of each new round trip),
the monitor's round trips are smoothed by likewise. Flows that moved nothing meanwhile are left out
of both. "Counted": at how many of the moments the monitor's number of active flows lies between the
connections that are open and have had data acknowledged, and all that there are, those that are
opening or closing included.

``--at-sender`` looks where senders are (with tcpdump): there a round trip up to the answer is what
the sender measures, and what a whole one has beyond that is how long the sender waits to send on.

The kernel is the one that `make kernel` builds, or the one that VERMILION_KERNEL names.
"""

from __future__ import annotations

import argparse
import base64
import io
import re
import shutil
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from provenance import made_by

from vermilion import parse_scenario
from vermilion.monitor import read_capture
from vermilion_lab.kernel_plant.network import RunningNetwork

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.monitor.capture import RoundTrips

RED: Final = """discipline = "linux-red"
limit = "100000 bytes"
min_threshold = "15000 bytes"
max_threshold = "45000 bytes"
max_probability = 0.1
weight_log = 9"""
PFIFO: Final = 'discipline = "drop-tail"\nlimit = "60 packets"'
FQ_CODEL: Final = 'discipline = "fq-codel"\ndialect = "linux"'
LINUX: Final = ', option_set = "linux", timer_tick = "10 ms"'
RENO: Final = f'{{ congestion_control = "sack"{LINUX} }}'
CUBIC: Final = f'{{ congestion_control = "cubic"{LINUX} }}'
BBR: Final = '{ congestion_control = "bbr", timer_tick = "10 ms" }'
AT_SENDER: Final = (
    "RED, 16 Reno, 28 ms",
    *(f"RED, {flows} BBR, 28 ms" for flows in (4, 8, 16, 32)),
)
NEAR_SHARE: Final = 0.12
BEGIN_S, END_S, STEP_S = 3.0, 23.0, 0.2
SOCKETS: Final = ["ss", "-tainH", "dport = :5001"]


@dataclass(frozen=True, slots=True)
class Case:
    """A network: the queue, and its flows."""

    queue: str
    sender: str = RENO
    flows: int = 16
    round_trips: str = '"28 ms"'
    more: str = ""

    def text(self) -> str:
        """The scenario."""
        return f"""
            duration = "{END_S + 1} s"
            warm_up = "1 s"
            [links.b]
            rate = "10 Mbit/s"
            delay = "5 ms"
            [links.b.queue]
            {self.queue}
            [flows.all]
            count = {self.flows}
            path = ["b"]
            rtt = {self.round_trips}
            sender = {self.sender}
            packet_size = "1000 bytes"
            start = "0 s .. 500 ms"
            {self.more}
        """


WEB: Final = f"""
            [flows.pages]
            count = 4
            path = ["b"]
            rtt = "40 ms"
            sender = {RENO}
            packet_size = "1000 bytes"
            [flows.pages.traffic]
            kind = "web"
            mean_gap = "500 ms"
            size = {{ distribution = "pareto", mean = "20 kB", shape = 1.5 }}
"""

CASES: Final[dict[str, Case]] = {
    "RED, 16 Reno, 28 ms": Case(RED),
    "RED, 4 Reno, 20, 40, 80 and 160 ms": Case(
        RED, flows=4, round_trips='["20 ms", "40 ms", "80 ms", "160 ms"]'
    ),
    "pfifo, 64 Reno, 28 ms": Case(PFIFO, flows=64),
    "pfifo, 16 CUBIC, 28 ms": Case(PFIFO, CUBIC),
    "FQ-CoDel, 16 CUBIC, 28 ms": Case(FQ_CODEL, CUBIC),
    "RED, 8 Reno and web pages": Case(RED, flows=8, more=WEB),
    "RED, 4 BBR, 28 ms": Case(RED, BBR, flows=4),
    "RED, 8 BBR, 28 ms": Case(RED, BBR, flows=8),
    "RED, 16 BBR, 28 ms": Case(RED, BBR),
    "RED, 32 BBR, 28 ms": Case(RED, BBR, flows=32),
}


def main() -> None:
    """Runs the cases and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", default="*", help="a pattern of names")
    parser.add_argument("--at-sender", action="store_true", help="how long senders wait")
    given = parser.parse_args()
    if given.at_sender:
        if shutil.which("tcpdump") is None:
            parser.error(
                "tcpdump is not installed (Debian's package tcpdump), which --at-sender needs"
            )
        print_waits(given.cases)
        return
    head = "traffic | monitor, ms | ss, ms | difference | within 12 % | counted"
    sys.stdout.write(f"| {head} |\n|{'---|' * 6}\n")
    for name, case in CASES.items():
        if not fnmatchcase(name, given.cases):
            continue
        found = measure(case)
        cells = [
            name,
            f"{found['monitor_ms']:.1f}",
            f"{found['kernel_ms']:.1f}",
            f"{100 * (found['monitor_ms'] / found['kernel_ms'] - 1):+.1f} %",
            f"{found['within']} of {found['flows']}",
            f"{found['counted']} of {found['moments']}",
        ]
        sys.stdout.write(f"| {' | '.join(cells)} |\n")
        sys.stdout.flush()
    sys.stdout.write(f"\n{made_by('benches/kernel_monitor.py')}\n")


def measure(case: Case, seed: int = 1) -> dict[str, Any]:
    """Both sides of one network."""
    scenario = parse_scenario(case.text())
    kernel: dict[str, list[float]] = {}
    moved: dict[str, set[str]] = {}
    monitor: dict[int, list[float]] = {}
    smoothed: dict[int, float] = {}
    counted = moments = 0
    with RunningNetwork(scenario.core(), seed, ("b",)) as network:
        for step in range(1, round(END_S / STEP_S) + 1):
            network.advance(round(step * STEP_S * 1e9))
            told = network.traffic(0)
            for flow, nanoseconds in zip(*told["round_trips"], strict=True):
                before = smoothed.get(flow, nanoseconds / 1e6)
                smoothed[flow] = before + (nanoseconds / 1e6 - before) / 8.0
            if step * STEP_S <= BEGIN_S:
                continue
            moments += 1
            states = connections(network.call("run", namespace="near", command=SOCKETS))
            open_now = sum(
                state == "ESTAB" and int(own or 0) > 1 for state, _, own in states.values()
            )
            counted += open_now <= told["active_flows"] <= len(states)
            for name, (state, trip, acknowledged) in states.items():
                if state == "ESTAB" and trip is not None:
                    kernel.setdefault(name, []).append(trip)
                    moved.setdefault(name, set()).add(acknowledged)
            for flow, value in smoothed.items():
                monitor.setdefault(flow, []).append(value)
        names = dict(network.call("flows", link=0))
    of_monitor = {names[flow]: fmean(values) for flow, values in monitor.items() if flow in names}
    return compared(of_monitor, kernel, moved) | {"counted": counted, "moments": moments}


def print_waits(pattern: str) -> None:
    """The table of what is seen at the senders."""
    head = "traffic | ss, ms | to the answer, ms | whole, ms | the sender waits, ms"
    sys.stdout.write(f"| {head} |\n|{'---|' * 5}\n")
    for name in AT_SENDER:
        if fnmatchcase(name, pattern):
            kernel_ms, answered_ms, whole_ms = at_sender(CASES[name])
            cells = (kernel_ms, answered_ms, whole_ms, whole_ms - answered_ms)
            sys.stdout.write(f"| {name} | {' | '.join(f'{each:.1f}' for each in cells)} |\n")
            sys.stdout.flush()
    sys.stdout.write(f"\n{made_by('benches/kernel_monitor.py')}\n")


def at_sender(case: Case, seed: int = 1) -> tuple[float, float, float]:
    """Mean round trips, ms: the senders' own, to the answer, and whole, as captured beside them."""
    trips: list[float] = []
    with RunningNetwork(parse_scenario(case.text()).core(), seed, ("b",)) as network:

        def run(script: str) -> str:
            told: str = network.call("run", namespace="near", command=["sh", "-c", script])
            return told

        run("tcpdump -i to0 -s 128 -Z root -w /run/near.pcap > /run/said 2>&1 & sleep 0.1")
        for step in range(1, round(END_S / STEP_S) + 1):
            network.advance(round(step * STEP_S * 1e9))
            if step * STEP_S > BEGIN_S:
                states = connections(network.call("run", namespace="near", command=SOCKETS))
                trips += [trip for state, trip, _ in states.values() if state == "ESTAB" and trip]
        run("kill $(pidof tcpdump); sleep 0.3")
        packed = base64.b64decode(run("gzip -c /run/near.pcap | base64 -w 0"))
    taken: list[RoundTrips] = []
    read_capture(io.BytesIO(packed), cut_short=True, round_trips=taken.append)
    every = {
        column: np.concatenate([getattr(each, column) for each in taken])
        for column in ("time_ns", "round_trip_ns", "whole", "from_initiator")
    }
    late = every["time_ns"] > every["time_ns"][0] + BEGIN_S * 1e9
    data = late & every["from_initiator"]
    answered, whole = (
        float(np.mean(every["round_trip_ns"][data & chosen])) / 1e6
        for chosen in (~every["whole"], every["whole"])
    )
    return fmean(trips), answered, whole


def connections(text: str) -> Mapping[str, tuple[str, float | None, str]]:
    """What ss says of each connection: its state, smoothed round trip in ms, bytes acknowledged."""
    found = {}
    # A line for each socket, and an indented one of what the kernel knows of it.
    for each in re.split(r"\n(?=\S)", text):
        line = re.match(r"(\S+)\s+\d+\s+\d+\s+(\S+)\s", each)
        if line is None:
            continue
        trip = re.search(r"\brtt:([\d.]+)/", each)
        acknowledged = re.search(r"\bbytes_acked:(\d+)", each)
        found[line[2]] = (
            line[1],
            None if trip is None else float(trip[1]),
            "" if acknowledged is None else acknowledged[1],
        )
    return found


def compared(
    monitor: Mapping[str, float], kernel: Mapping[str, list[float]], moved: Mapping[str, set[str]]
) -> dict[str, Any]:
    """Means of both over the flows that lasted and moved anything."""
    longest = max(len(values) for values in kernel.values())
    moving = [
        name for name, values in kernel.items() if len(values) == longest and len(moved[name]) > 1
    ]
    both = [name for name in moving if name in monitor]
    off = [monitor[name] / fmean(kernel[name]) - 1.0 for name in both]
    return {
        "flows": len(both),
        "moving": len(moving),
        "monitor_ms": fmean(monitor[name] for name in both),
        "kernel_ms": fmean(fmean(kernel[name]) for name in both),
        "within": sum(abs(each) <= NEAR_SHARE for each in off),
    }


if __name__ == "__main__":
    main()
