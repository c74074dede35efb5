"""What a packet costs a processor, in this checkout and at another commit.

    python benches/misses.py 7c051f3 web fq-codel bbr

has valgrind count, in a short run of each network that is named (2.5 simulated seconds), what takes
a processor's time: instructions, data that a first and a second cache do not have, and branches
that a simple predictor guesses wrong. The table for docs/laboratory/performance.md has each number
for a packet, at the other commit and now. Nothing disturbs such counts, so that they repeat on
a busy machine, and they tell why a network is not faster: fewer instructions do not help where it
waits for memory.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

from speed_by_turns import COUNTED_SECONDS, ROOT, build, build_commit

#: Caches of 32 KiB and 1 MiB with lines of 64 bytes.
CACHES = ["--cache-sim=yes", "--D1=32768,8,64", "--LL=1048576,16,64", "--branch-sim=yes"]
#: What a line of cachegrind's summary begins with, and the digits shown of it.
COUNTS = {"I   refs": 0, "D1  misses": 1, "LLd misses": 1, "Mispredicts": 1}


def counts(program: Path, row: str) -> list[str]:
    """What a packet of a network costs, in the order of `COUNTS`."""
    valgrind = ["valgrind", "--tool=cachegrind", "--cachegrind-out-file=/dev/null", *CACHES]
    command = [*valgrind, str(program), "--seconds", COUNTED_SECONDS, row]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    packets = int(run.stdout.split()[1])
    totals = dict(re.findall(rf"({'|'.join(COUNTS)}): +([\d,]+)", run.stderr))
    return [
        f"{int(totals[name].replace(',', '')) / packets:.{digits}f}"
        for name, digits in COUNTS.items()
    ]


def main() -> None:
    """Counts what is asked for and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("commit", help="what to compare with: a commit, or a program built of one")
    parser.add_argument("rows", nargs="+", help="networks: crates/netsim/benches/networks")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        given = Path(asked.commit)
        before = given.resolve() if given.is_file() else build_commit(asked.commit, Path(folder))
        now = build(ROOT, ROOT / "target")
        print("| network | instructions | first cache | second cache | wrong guesses |")
        print("|---|---|---|---|---|")
        for row in asked.rows:
            pairs = zip(counts(before, row), counts(now, row), strict=True)
            cells = " | ".join(f"{was}, {now_is}" for was, now_is in pairs)
            print(f"| `{row}` | {cells} |", flush=True)


if __name__ == "__main__":
    main()
