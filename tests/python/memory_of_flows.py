"""Resident memory that a flow takes: before it begins, while it is silent, and when it is over.

``python tests/python/memory_of_flows.py`` prints the table of docs/limits.md. Each figure is the
difference between networks of many and of few flows, each in a process of its own, because an
allocator does not give back what an earlier network has used.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SENDERS = [
    "tahoe",
    "reno",
    "newreno",
    "sack",
    "cubic",
    "dctcp",
    "prague",
    "rem",
    "ledbat",
    "bbr",
    "bbr1",
]

STATES = {
    # Nobody begins before the end.
    "not begun": ("bulk", "100 s .. 200 s", 1),
    # Everybody has sent 20 kB and waits for nothing any more; few are under way at once.
    "over": ("transfer", "0 s .. 20 s", 21),
    # The same, and the results, which name every flow, have been made.
    "with results": ("transfer", "0 s .. 20 s", 21),
}
"""Traffic, starts, and the second at which memory is looked at."""


def scenario_text(sender: str, state: str, flows: int) -> str:
    """So many flows of a sender over a link that is fast enough for them."""
    traffic, start, _ = STATES[state]
    size = ', size = "20 kB"' if traffic == "transfer" else ""
    return f"""
        title = "Memory of a flow"
        duration = "300 s"
        [links.link]
        rate = "100 Gbit/s"
        delay = "1 ms"
        [links.link.queue]
        discipline = "drop-tail"
        limit = "1000 packets"
        [flows.flow]
        count = {flows}
        path = ["link"]
        rtt = "10 ms"
        sender = "{sender}"
        start = "{start}"
        traffic = {{ kind = "{traffic}"{size} }}
    """


def resident_bytes() -> int:
    """Resident memory of this process."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def growth(sender: str, state: str, flows: int) -> int:
    """By how much a network makes this process larger, in bytes."""
    import vermilion
    from vermilion import _core

    # Checking the scenario builds the network too, and what that leaves behind is used again.
    before = resident_bytes()
    core = vermilion.parse_scenario(scenario_text(sender, state, flows)).core_json(None)
    simulation = _core.Simulation(core, 1)
    for second in range(1, STATES[state][2] + 1):
        simulation.advance(second * 10**9)
        simulation.take_rtt_samples()  # or the router's monitor would keep every round trip
    result = simulation.result() if state == "with results" else None
    grown = resident_bytes() - before
    del result
    return grown


def bytes_of_flow(sender: str, state: str, few: int = 1_000, many: int = 101_000) -> float:
    """Resident memory for each flow, from networks of so few and so many."""
    sizes = []
    for flows in (few, many):
        command = [sys.executable, __file__, sender, state, str(flows)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        sizes.append(int(done.stdout))
    return (sizes[1] - sizes[0]) / (many - few)


def write_table() -> None:
    """Writes the table of docs/limits.md to standard output."""
    lines = [f"| sender | {' | '.join(STATES)} |", f"| --- |{' --- |' * len(STATES)}"]
    for name in SENDERS:
        figures = " | ".join(f"{bytes_of_flow(name, state):.0f} bytes" for state in STATES)
        lines.append(f"| `{name}` | {figures} |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.stdout.write(str(growth(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
    else:
        write_table()
