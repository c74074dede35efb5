"""Where a packet's instructions go: for each network a column, for each part of the core a row.

    python benches/instructions_by_part.py one-200 differing-200 mix

builds the program `crates/netsim/benches/speed.rs` of this checkout, has valgrind count the
instructions of a short run of each network that is named (2.5 simulated seconds), and adds them up
by the file in which they were written. That is not the function in which they are executed: what
most packets do is one piece, into which the compiler has put nearly all of it. Nothing disturbs
such a count, so that it can be repeated on a busy machine.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from speed_by_turns import COUNTED_SECONDS, ROOT, build

#: Parts of the core and what the paths of their files contain; the first that fits counts.
PARTS = {
    "what is next: calendar, timers": r"netsim/src/(calendar|timers|simulation/schedule)\.rs",
    "wheel of timers, queue of many lines": r"netsim/src/(wheel|lazy_queue|occupied|prefetch"
    r"|simulation/expected)\.rs",
    "packets on their lines": r"netsim/src/(delay_lines?|packet|acknowledgement_pool)\.rs",
    "what a packet sets off": r"netsim/src/simulation/(packets|noted_packets|turns|laid)\.rs"
    r"|netsim/src/(simulation|flow|group|route)\.rs",
    "transfers that come and go": r"netsim/src/(simulation/transfers|traffic|variate)",
    "receiver": r"tcp/src/receiver",
    "sender": r"tcp/src/",
    "link and queue": r"netsim/src/(arrival|departure|turn|any)_link\.rs|netsim/src/transmitter",
    "discipline": r"aqm/src/",
    "books, results, building": r"crates/",
}
REST = "library: memory, queues, numbers"


def costs(profile: Path) -> Counter[str]:
    """Instructions by the path of the file they were written in, from a file of callgrind's."""
    paths: dict[str, str] = {}
    found: Counter[str] = Counter()
    file, is_call = "", False
    for line in profile.read_text(encoding="utf-8").splitlines():
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


def by_part(program: Path, row: str, profile: Path) -> Counter[str]:
    """Instructions for a packet of a network, by part."""
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    command = [*valgrind, str(program), "--seconds", COUNTED_SECONDS, row]
    line = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    packets = int(line.split()[1])
    parts: Counter[str] = Counter()
    for path, cost in costs(profile).items():
        part = next((it for it, paths in PARTS.items() if re.search(paths, path)), REST)
        parts[part] += cost
    return Counter({part: round(cost / packets) for part, cost in parts.items()})


def main() -> None:
    """Counts what is asked for and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("rows", nargs="+", help="networks: crates/netsim/benches/networks")
    parser.add_argument("--binary", type=Path, help="a program in place of this checkout's")
    asked = parser.parse_args()
    program = asked.binary or build(ROOT, ROOT / "target")
    with tempfile.TemporaryDirectory() as folder:
        columns = [by_part(program, row, Path(folder) / "profile") for row in asked.rows]
    print("| | " + " | ".join(f"`{row}`" for row in asked.rows) + " |")
    print("|---|" + "---|" * len(columns))
    for part in [*PARTS, REST]:
        print(f"| {part} | " + " | ".join(str(column[part]) for column in columns) + " |")
    print("| together | " + " | ".join(str(column.total()) for column in columns) + " |")


if __name__ == "__main__":
    main()
