"""Bytes that a network takes for each link, each flow, and each packet in flight.

    python benches/memory.py

runs networks that differ in one of these numbers alone, each in a process of its own, and divides
the difference of the most memory that the two had by that of the number. The links carry traffic.
A fork is a copy of a kept network.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from typing import Any

MILLISECOND = 1_000_000


def network(links: int, flows: int, rtt_ms: int, books: str) -> dict[str, Any]:
    """So many flows over so many links in a row, which are faster if it is one."""
    rate = 10**8 if links > 1 else 8 * 10**9
    names = [f"hop{number}" for number in range(links)]
    queue = {"discipline": "drop-tail", "parameters": {"limit": 200}}
    flow = {"name": "all", "count": flows, "path": names, "rtt_ns": rtt_ms * MILLISECOND}
    sender = {"congestion_control": "sack"}
    return {
        "duration_ns": 1200 * MILLISECOND,
        "warm_up_ns": 100 * MILLISECOND,
        "settle_ns": 0,
        "links": [
            {
                "name": name,
                "rate_bit_per_s": rate,
                "delay_ns": 1000,
                "queue": queue,
                "books": books,
            }
            for name in names
        ],
        "flows": [
            flow | {"sender": sender, "start_ns": [0, 10 * MILLISECOND]},
            # Behind the link for a quarter of its round trip; a quarter before it is on no line.
            {
                "name": "steady",
                "count": 1,
                "path": names[:1],
                "rtt_ns": rtt_ms * MILLISECOND,
                "start_ns": [0, 0],
                "traffic": {"kind": "constant-rate", "rate_bit_per_s": rate / 2},
            },
        ],
    }


def peak(links: int, flows: int, rtt_ms: int = 40, books: str = "full", forks: int = 0) -> int:
    """Most bytes that a process has had which ran such a network."""
    arguments = [str(value) for value in (links, flows, rtt_ms, books, forks)]
    command = [sys.executable, __file__, "--run", *arguments]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def run(links: str, flows: str, rtt_ms: str, books: str, forks: str) -> None:
    """Runs a network, and prints the most memory of this process."""
    from vermilion import _core

    text = json.dumps(network(int(links), int(flows), int(rtt_ms), books))
    if int(forks):
        kept = _core.Kept(text, 1)
        kept.extend(1000 * MILLISECOND)
        _copies = [kept.fork() for _ in range(int(forks))]
    else:
        _core.run(text, 1)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--run", nargs=5, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run:
        return run(*asked.run)
    print("| | bytes |\n|---|---|")
    for books in ("full", "counters", "none"):
        each = (peak(2200, 20, books=books) - peak(200, 20, books=books)) / 2000
        print(f"| a link, books {books} | {each:,.0f} |", flush=True)
    each = (peak(1, 21_000) - peak(1, 1000)) / 20_000
    print(f"| a flow | {each:,.0f} |", flush=True)
    # 4 Gbit/s are 500 packets of 1000 bytes a millisecond, each there for a quarter of it.
    packets = 500 * (1900 - 100) / 4
    many = [peak(1, 1, rtt_ms) for rtt_ms in (100, 1900)]
    print(f"| a packet in flight | {(many[1] - many[0]) / packets:,.0f} |", flush=True)
    each = (peak(1, 16, forks=1100) - peak(1, 16, forks=100)) / 1000
    print(f"| a fork of 16 flows over one link | {each:,.0f} |")
    return None


if __name__ == "__main__":
    main()
