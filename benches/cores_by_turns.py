"""Two built cores against each other, by turns: one that a profile has optimised and a plain one.

    .venv/bin/python benches/cores_by_turns.py plain.so optimised.so --rounds 6

runs the networks of `benches/training.py` with each core by turns and prints how many times as
fast the second one is: of each network the median, the least and the greatest ratio of neighbours
in CPU time, and the geometric mean of the medians. A network that sends another number of packets
is named. In place of a core it takes a wheel (`dist/*.whl`), which brings the Python package of its
own commit.
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


def run(home: Path) -> dict[str, tuple[int, float]]:
    """Packets and CPU seconds of each network."""
    command = [sys.executable, str(ROOT / "benches" / "training.py"), "--times"]
    environment = {**os.environ, "PYTHONPATH": str(home)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return {name: (int(packets), float(seconds)) for name, packets, seconds in rows}


def main() -> None:
    """Runs both and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--rounds", type=int, default=6)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        homes = [
            home_of(core, Path(folder), name)
            for core, name in ((asked.first, "first"), (asked.second, "second"))
        ]
        rounds = [tuple(run(home) for home in homes) for _ in range(asked.rounds)]
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
