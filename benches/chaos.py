"""Lets everything go wrong that can, and counts what was not safe or did not come to rest.

Routers refuse, lose and half-apply changes, fall silent, restart and are changed by somebody else;
counters wrap, freeze, jump and lie; clocks jump; monitors see nothing or too much; searches raise,
hang and find nonsense; disks are full; the controller is killed at any moment and goes on from its
journal. `tests/python/online_chaos.py` has the faults and what is checked.

    .venv/bin/python benches/chaos.py [--faults 1000] [--kills 200] [--seed 1]
    .venv/bin/python benches/chaos.py --simulated [--faults 200] [--kills 40] [--seed 1]

A run of ten faults and two kills takes about a second of CPU time on a queue that behaves as told,
and about twelve on a simulated network with the controller's own searches
(`tests/python/online_chaos_simulated.py`), which in the end must not be worse than the same network
left alone. What failed is named by its seed; the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "python"))

from online_chaos import ChaosRun
from online_chaos_simulated import SimulatedChaosRun

FAULTS_PER_RUN = 10
USUAL = {False: (1000, 200), True: (200, 40)}
"""Faults and kills, of the queue that behaves as told and of the simulated network."""


def main() -> int:
    """Play as many runs as it takes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--simulated", action="store_true", help="on a simulated network")
    parser.add_argument("--faults", type=int, help="that happen in all")
    parser.add_argument("--kills", type=int, help="of the controller, in all")
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    arguments = parser.parse_args()
    usual_faults, usual_kills = USUAL[arguments.simulated]
    wanted = usual_faults if arguments.faults is None else arguments.faults
    to_kill = usual_kills if arguments.kills is None else arguments.kills
    runs = max(1, -(-wanted // FAULTS_PER_RUN))
    begun_s = time.process_time()
    faults: Counter[str] = Counter()
    decisions: Counter[str] = Counter()
    kept: list[tuple[float, float]] = []
    kills = failed = 0
    for index in range(runs):
        seed = arguments.seed + index
        each = to_kill // runs + (index < to_kill % runs)
        kind = SimulatedChaosRun if arguments.simulated else ChaosRun
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "journal.sqlite"
            run = kind(seed, path, faults=FAULTS_PER_RUN, kills=each)
            try:
                run.play()
            except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
                failed += 1
                sys.stdout.write(f"seed {seed}: {type(error).__name__}: {error}\n")
        if isinstance(run, SimulatedChaosRun) and run.cost is not None and run.alone is not None:
            kept.append((run.cost, run.alone))
            sys.stderr.write(
                f"seed {seed}: {run.policy.mode}, deviation {run.cost:.0f} packets^2, "
                f"left alone {run.alone:.0f}\n"
            )
        kills += run.killed
        faults.update(fault.kind for fault in run.router.begun)
        decisions.update(str(decision.kind) for decision in run.decided)
    cpu_s = time.process_time() - begun_s
    sys.stdout.write(
        f"{runs} runs, {faults.total()} faults and changes of traffic, {kills} kills: "
    )
    sys.stdout.write(f"{failed} runs failed\n")
    if kept:
        ratios = [cost / alone for cost, alone in kept]
        sys.stdout.write(
            "in the end, deviation by that of the network left alone: "
            f"median {median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}\n"
        )
    _tell("faults", faults)
    _tell("decisions", decisions)
    sys.stdout.write(f"{cpu_s:.0f} s of CPU time\n")
    return 1 if failed else 0


def _tell(what: str, counts: Counter[str]) -> None:
    each = ", ".join(f"{kind} {count}" for kind, count in counts.most_common())
    sys.stdout.write(f"{what}: {each}\n")


if __name__ == "__main__":
    sys.exit(main())
