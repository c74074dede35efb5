"""Instructions for a packet of what people run: `vermilion.run`, and the command `vermilion run`.

    python benches/instructions.py reno-100 mix --parts

has valgrind count the instructions of two runs of each network, through Python and through the
command, the second of which lasts longer. Their difference divided by the further packets that
links have sent leaves out what does not grow with time: Python, the building, the tables. With
`--parts` a table follows of where those of `vermilion.run` go, by the file in which they were
written. That is not the function in which they are executed: what most packets do is one piece,
into which the compiler has put nearly all of it. Nothing disturbs such a count, so that it can be
repeated on a busy machine.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple


class Network(NamedTuple):
    """A link, its flows, and how long two runs of them last in seconds."""

    title: str
    link: str
    flows: tuple[str, ...]
    seconds: tuple[int, int] = (2, 10)

    def toml(self, seconds: int) -> str:
        """The scenario that lasts so long."""
        groups = (
            f'[flows.f{number}]\npath = ["l"]\n{each}' for number, each in enumerate(self.flows)
        )
        head = f'title = "{self.title}"\nduration = "{seconds} s"\nwarm_up = "1 s"\n'
        return f'{head}[links.l]\ndelay = "1 ms"\n{self.link}\n' + "\n".join(groups)


def flows(count: int, sender: str, *others: str, rtt: str = '"40 ms"') -> str:
    """Flows that start in the first second."""
    lines = [
        f"count = {count}",
        f"rtt = {rtt}",
        'start = "0 s .. 1 s"',
        'packet_size = "1000 bytes"',
    ]
    return "\n".join([*lines, f"sender = {sender}" if sender else "", *others])


GIGABIT = 'rate = "1 Gbit/s"\nqueue = '
RED = """{ discipline = "red", limit = "5000 packets", min_threshold = "500 packets",
max_threshold = "1500 packets", max_probability = 0.1, weight = 0.00002 }""".replace("\n", " ")
SMALL_RED = """{ discipline = "red", limit = "100 packets", min_threshold = "15 packets",
max_threshold = "45 packets", max_probability = 0.1, weight = 0.002 }""".replace("\n", " ")
LINUX_CUBIC = '{ congestion_control = "cubic", option_set = "linux" }'
SPREAD = '"10 ms .. 200 ms"'
WEB = """traffic = { kind = "web", mean_gap = "1 s", size = { distribution = "bounded-pareto",
shape = 1.2, minimum = "4000 bytes", maximum = "10000000 bytes" } }""".replace("\n", " ")
CALLS = 'traffic = { kind = "constant-rate", rate = "100 kbit/s" }'

NETWORKS = {
    "reno-100": Network("100 NewReno over RED", GIGABIT + RED, (flows(100, '"newreno"'),)),
    "reno-16": Network(
        "16 NewReno, 10 Mbit/s, RED",
        f'rate = "10 Mbit/s"\nqueue = {SMALL_RED}',
        (flows(16, '"newreno"', rtt='"28 ms"'),),
        (40, 400),
    ),
    "differing-200": Network(
        "200 NewReno of 30 to 50 ms over RED",
        GIGABIT + RED,
        (flows(200, '"newreno"', rtt='"30 ms .. 50 ms"'),),
    ),
    "linux-cubic-200": Network(
        "200 CUBIC as of Linux over RED", GIGABIT + RED, (flows(200, LINUX_CUBIC),)
    ),
    "fq-codel-100": Network(
        "100 SACK over FQ-CoDel",
        f'{GIGABIT}{{ discipline = "fq-codel" }}',
        (flows(100, '"sack"'),),
    ),
    "cake-100": Network(
        "100 SACK over CAKE",
        'rate = "2 Gbit/s"\n'
        'queue = { discipline = "cake", bandwidth = "1 Gbit/s", isolation = "flows" }',
        (flows(100, '"sack"'),),
    ),
    "bbr-40": Network("40 BBR over RED", GIGABIT + RED, (flows(40, '"bbr"'),)),
    "mix": Network(
        "100 CUBIC as of Linux, 300 web sources and 50 calls over PIE",
        'rate = "500 Mbit/s"\nqueue = { discipline = "pie", limit = "5000 packets" }',
        (
            flows(100, LINUX_CUBIC, rtt=SPREAD),
            flows(300, LINUX_CUBIC, WEB, rtt=SPREAD),
            flows(50, "", CALLS, rtt=SPREAD).replace("1000 bytes", "200 bytes"),
        ),
    ),
}

PACKETS = "import sys, vermilion; print(vermilion.run(sys.argv[1]).data['packets_forwarded'])"
WAYS = {"vermilion.run": ["-c", PACKETS], "vermilion run": ["-m", "vermilion", "run"]}

#: Parts of the core and what the paths of their files contain; the first that fits counts.
PARTS = {
    "what is next: calendar, timers": r"netsim/src/(calendar|timers|simulation/schedule)\.rs",
    "wheel of timers, queue of many lines": r"netsim/src/(wheel|lazy_queue|occupied)",
    "packets on their lines": r"netsim/src/(delay_lines?|packet|acknowledgement_pool)\.rs",
    "what a packet sets off": r"netsim/src/(simulation|flow|group|route)",
    "transfers that come and go": r"netsim/src/(traffic|variate)",
    "receiver": r"tcp/src/receiver",
    "sender": r"tcp/src/",
    "link and queue": r"netsim/src/(arrival|departure|turn|any)_link\.rs|netsim/src/transmitter",
    "discipline": r"(aqm|port)/src/",
    "books, results, building": r"crates/",
}
REST = "library: memory, queues, numbers; Python"


def costs(profile: Path) -> Counter[str]:
    """Instructions by the path of the file they were written in, from a file of callgrind's."""
    paths: dict[str, str] = {}
    found: Counter[str] = Counter()
    file, is_call = "", False
    for line in profile.read_text(encoding="utf-8", errors="replace").splitlines():
        # A function's own file, then those of what was put into it; "cfi" is that of who is called.
        if named := re.match(r"(fl|fi|fe|cfi|cfl)=\((\d+)\)(?: (.*))?", line):
            kind, number, path = named.groups()
            paths.setdefault(number, path or "")
            if not kind.startswith("c"):
                file = paths[number]
        elif line.startswith("calls="):
            is_call = True  # the next line is what the call cost, which has files of its own
        elif re.match(r"[\d+*-]", line):
            if not is_call:
                found[file] += int(line.split()[1])
            is_call = False
    return found


def by_file(program: list[str], scenario: Path) -> Counter[str]:
    """Instructions of one run, by file."""
    profile = scenario.with_suffix(".profile")
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    command = [*valgrind, sys.executable, *program, str(scenario)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return costs(profile)


def measured(network: Network, folder: Path) -> dict[str, Counter[str]]:
    """Instructions of each way by file, for each packet of the later part of a run."""
    scenarios = [folder / f"{seconds}.toml" for seconds in network.seconds]
    packets = []
    for scenario, seconds in zip(scenarios, network.seconds, strict=True):
        scenario.write_text(network.toml(seconds), encoding="utf-8")
        # Each way once before it is counted: what Python keeps of compiled modules is there then.
        for program in reversed(WAYS.values()):
            command = [sys.executable, *program, str(scenario)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
        packets.append(int(done.stdout))
    found = {}
    for way, program in WAYS.items():
        short, long = (by_file(program, scenario) for scenario in scenarios)
        long.subtract(short)
        found[way] = Counter(
            {file: cost / (packets[1] - packets[0]) for file, cost in long.items()}
        )
    return found


def main() -> None:
    """Counts what is asked for and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("rows", nargs="*", metavar="NETWORK", help=", ".join(NETWORKS))
    parser.add_argument("--parts", action="store_true", help="where those of vermilion.run go")
    asked = parser.parse_args()
    print(f"| | {' | '.join(WAYS)} |\n|---|{'---|' * len(WAYS)}")
    columns = {}
    for row in asked.rows or NETWORKS:
        network = NETWORKS[row]
        with tempfile.TemporaryDirectory() as folder:
            found = measured(network, Path(folder))
        cells = " | ".join(f"{found[way].total():.0f}" for way in WAYS)
        print(f"| {row}: {network.title} | {cells} |", flush=True)
        columns[row] = Counter[str]()
        for file, cost in found["vermilion.run"].items():
            part = next((it for it, paths in PARTS.items() if re.search(paths, file)), REST)
            columns[row][part] += cost
    if asked.parts:
        print(f"\n| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
        for part in [*PARTS, REST]:
            cells = " | ".join(f"{column[part]:.0f}" for column in columns.values())
            print(f"| {part} | {cells} |")


if __name__ == "__main__":
    main()
