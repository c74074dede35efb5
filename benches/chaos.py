"""Lets everything go wrong that can, and counts what was not safe or did not come to rest.

Routers refuse, lose and half-apply changes, fall silent, restart and are changed by somebody else;
counters wrap, freeze, jump and lie; clocks jump; monitors see nothing or too much; searches raise,
hang and find nonsense; disks are full; the controller is killed at any moment and goes on from its
journal. `tests/python/online_chaos.py` has the faults and what is checked.

    .venv/bin/python benches/chaos.py [--faults 1000] [--kills 200] [--seed 1]

A run of ten faults and two kills takes about a second of CPU time. What failed is named by its
seed; the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "python"))

from online_chaos import ChaosRun

FAULTS_PER_RUN = 10


def main() -> int:
    """Play as many runs as it takes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--faults", type=int, default=1000, help="that happen in all")
    parser.add_argument("--kills", type=int, default=200, help="of the controller, in all")
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    arguments = parser.parse_args()
    runs = max(1, -(-arguments.faults // FAULTS_PER_RUN))
    begun_s = time.process_time()
    faults: Counter[str] = Counter()
    decisions: Counter[str] = Counter()
    kills = failed = 0
    for index in range(runs):
        seed = arguments.seed + index
        each = arguments.kills // runs + (index < arguments.kills % runs)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "journal.sqlite"
            run = ChaosRun(seed, path, faults=FAULTS_PER_RUN, kills=each)
            try:
                run.play()
            except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
                failed += 1
                sys.stdout.write(f"seed {seed}: {type(error).__name__}: {error}\n")
        kills += run.killed
        faults.update(fault.kind for fault in run.router.begun)
        decisions.update(str(decision.kind) for decision in run.decided)
    cpu_s = time.process_time() - begun_s
    sys.stdout.write(
        f"{runs} runs, {faults.total()} faults and changes of traffic, {kills} kills: "
    )
    sys.stdout.write(f"{failed} runs failed\n")
    _tell("faults", faults)
    _tell("decisions", decisions)
    sys.stdout.write(f"{cpu_s:.0f} s of CPU time\n")
    return 1 if failed else 0


def _tell(what: str, counts: Counter[str]) -> None:
    each = ", ".join(f"{kind} {count}" for kind, count in counts.most_common())
    sys.stdout.write(f"{what}: {each}\n")


if __name__ == "__main__":
    sys.exit(main())
