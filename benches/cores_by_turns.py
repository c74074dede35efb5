"""Two built cores against each other, by turns: one that a profile has optimised and a plain one.

    .venv/bin/python benches/cores_by_turns.py plain.so optimised.so --rounds 6

runs the networks of `benches/training.py` with each core by turns and prints how many times as
fast the second one is: of each network the median, the least and the greatest ratio of neighbours
in CPU time, and the geometric mean of the medians. A network that sends another number of packets
is named. In place of a core it takes a wheel (`dist/*.whl`), which brings the Python package of its
own commit.

    .venv/bin/python benches/cores_by_turns.py plain.whl optimised.whl --rows a b c

runs networks of `crates/netsim/benches/speed.rs` instead, which no core was trained on.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import speed_by_turns

if TYPE_CHECKING:
    from collections.abc import Sequence

    Turns = list[tuple["Times", "Times"]]

ROOT = Path(__file__).resolve().parent.parent


def home_of(core: Path, work: Path, name: str) -> Path:
    """A copy of the package around a core, or what a wheel holds."""
    home = work / name
    if core.suffix == ".whl":
        with zipfile.ZipFile(core) as wheel:
            wheel.extractall(home)
        return home
    package = home / "vermilion"
    skipped = shutil.ignore_patterns("__pycache__", "_core.abi3.so")
    shutil.copytree(ROOT / "python" / "vermilion", package, ignore=skipped)
    shutil.copy(core, package / "_core.abi3.so")
    return home


Times = dict[str, tuple[int, float]]
"""Packets and CPU seconds of each network."""


def timed(home: Path, *command: str) -> Times:
    """What a program of Python says of each network, with the core of a home."""
    environment = {**os.environ, "PYTHONPATH": str(home)}
    whole = [sys.executable, *command]
    done = subprocess.run(whole, check=True, capture_output=True, text=True, env=environment)
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return {name: (int(packets), float(seconds)) for name, packets, seconds in rows}


ONE_ROW = """
import json, sys, time
from vermilion import _core
for line in open(sys.argv[1], encoding="utf-8"):
    name, text = line.rstrip().split("\\t")
    start = time.process_time()
    outcome, _ = _core.run(text, 1)
    print(name, json.loads(outcome)["packets_forwarded"], time.process_time() - start, sep="\\t")
"""
"""Runs networks as the core reads them; every core so far has been called like this."""


def by_turns(homes: Sequence[Path], rounds: int, commands: Sequence[Sequence[str]]) -> Turns:
    """Each round of both cores; of several commands each meets both before the next one does."""
    made: Turns = []
    for _ in range(rounds):
        pair: tuple[Times, Times] = ({}, {})
        for command in commands:
            for times, home in zip(pair, homes, strict=True):
                times.update(timed(home, *command))
        made.append(pair)
    return made


def rows_of(names: Sequence[str], folder: Path) -> list[list[str]]:
    """A command for each network of the speed program that is named."""
    program = speed_by_turns.build(ROOT, ROOT / "target")
    commands = []
    for name in names:
        line = subprocess.run(
            [program, "--json", name], check=True, capture_output=True, text=True
        ).stdout
        if not line:
            sys.exit(f"there is no network called {name}; {program} --list says what there is")
        (folder / name).write_text(line, encoding="utf-8")
        commands.append(["-c", ONE_ROW, str(folder / name)])
    return commands


def main() -> None:
    """Runs both and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--rows", nargs="+", help="networks of the speed program")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        homes = [
            home_of(core, Path(folder), name)
            for core, name in ((asked.first, "first"), (asked.second, "second"))
        ]
        training = [[str(ROOT / "benches" / "training.py"), "--times"]]
        commands = rows_of(asked.rows, Path(folder)) if asked.rows else training
        rounds = by_turns(homes, asked.rounds, commands)
    medians = []
    print("| network | times as fast |\n|---|---|")
    for network, (packets, _) in rounds[0][0].items():
        ratios = [first[network][1] / second[network][1] for first, second in rounds]
        medians.append(statistics.median(ratios))
        print(f"| {network} | {medians[-1]:.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |")
        if packets != rounds[0][1][network][0]:
            print(f"{network}: the results differ", file=sys.stderr)
    print(f"| all, geometric mean | {statistics.geometric_mean(medians):.2f} |")


if __name__ == "__main__":
    main()
