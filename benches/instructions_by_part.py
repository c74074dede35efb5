"""Where a packet's instructions go: for each network a column, for each part of the core a row.

    python benches/instructions_by_part.py one-200 differing-200 mix

builds the program `crates/netsim/benches/speed.rs` of this checkout, has valgrind count the
instructions of a short run of each network that is named (2.5 simulated seconds), and adds them up
by the function in which they were executed. What the compiler has put into its caller counts as
the caller's. Nothing disturbs such a count, so that it can be repeated on a busy machine.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from speed_by_turns import COUNTED_SECONDS, ROOT, build

#: Parts of the core and what the names of their functions contain; the first that fits counts.
PARTS = {
    "what is next: calendar, timers": r"advance_events|on_other_line|on_later_source|on_timer"
    r"|::on_turn|Calendar|timers::",
    "many lines together: the wheel": r"wheel::|push_together",
    "a packet leaves its line, receiver": r"::on_line|receiver::|send_acknowledgement",
    "sender: what an acknowledgement means": r"vermilion_tcp::",
    "sending what it may": r"::send_|segment",
    "queue, arrival": r"::offer|wait_for_turn|on_arrival|enqueue",
    "queue, departure": r"turns::take|on_departure|dequeue",
    "the discipline besides": r"vermilion_aqm::",
    "books, results, building": r"vermilion_netsim::",
}
REST = "the rest: memory, library"


def costs(profile: Path) -> Counter[str]:
    """Instructions by function, from a file of callgrind's."""
    names: dict[str, str] = {}
    found: Counter[str] = Counter()
    function, is_call = "", False
    for line in profile.read_text(encoding="utf-8").splitlines():
        if named := re.match(r"c?fn=\((\d+)\)(?: (.*))?", line):
            number, name = named.groups()
            names.setdefault(number, name or "")
            if line.startswith("fn="):
                function = names[number]
        elif line.startswith("calls="):
            is_call = True  # the next line is what the call cost, which its function has too
        elif re.match(r"[\d+*-]", line):
            if not is_call:
                found[function] += int(line.split()[1])
            is_call = False
    return found


def by_part(program: Path, row: str, profile: Path) -> Counter[str]:
    """Instructions for a packet of a network, by part."""
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    command = [*valgrind, str(program), "--seconds", COUNTED_SECONDS, row]
    line = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    packets = int(line.split()[1])
    parts: Counter[str] = Counter()
    for function, cost in costs(profile).items():
        part = next((it for it, names in PARTS.items() if re.search(names, function)), REST)
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
