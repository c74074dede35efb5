"""The on-line controller on a queue that real TCP goes through: kept tuned beside left alone.

    python benches/link_online.py [--case NAME ...] [--seeds 3] [--deadline 3] [--results FILE]
    python benches/link_online.py --table

Five flows of this machine's Reno through an emulated link of 10 Mbit/s, and from 40 s on fifteen
more, for 120 s: once kept tuned, and once left alone, in real time. The goal is a queue that
deviates little from 30 packets. The disciplines are VRED and one that is written in Python
(``docs/examples/proportional_early_drop.py``). The seed draws the times at which flows start and
their round trips; packets are real, so that no run repeats.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vermilion import load_plugins, parse_scenario
from vermilion.online import run_online
from vermilion.online.drive.run import PROBE_INTERVAL_S
from vermilion.simulate import mean_interval
from vermilion_lab.emulator_plant import EmulatorPlant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.simulate import Result

ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = ROOT / "benches" / "results" / "link-online.jsonl"
TARGET: Final = 30.0

QUEUES: Final = {
    "vred": (
        """discipline = "vred"
limit = "200 packets"
weight = 0.002
min_threshold = "5 packets"
max_threshold = "15 packets\"""",
        ("min_threshold", "max_threshold", "max_probability"),
    ),
    "proportional-early-drop": (
        'discipline = "proportional-early-drop"\nlimit = "200 packets"',
        ("certain_at",),
    ),
}

NETWORK: Final = """
title = "{case}"
duration = "120 s"
warm_up = "5 s"
settle = "5 s"
[links.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
[links.bottleneck.queue]
{queue}
[flows.first]
count = 5
path = ["bottleneck"]
rtt = {{ distribution = "uniform", min = "40 ms", max = "80 ms" }}
sender = {{ congestion_control = "sack", option_set = "linux" }}
packet_size = "1500 bytes"
header_size = "52 bytes"
start = "0 s .. 1 s"
[flows.more]
count = 15
path = ["bottleneck"]
rtt = {{ distribution = "uniform", min = "40 ms", max = "80 ms" }}
sender = {{ congestion_control = "sack", option_set = "linux" }}
packet_size = "1500 bytes"
header_size = "52 bytes"
start = "40 s .. 42 s"
[tuning]
parameters = [{parameters}]
objective = {{ name = "queue-deviation", link = "bottleneck", target = "{target} packets" }}
"""


def measure(case: str, seed: int, deadline_s: float) -> dict[str, Any]:
    """One network, kept tuned and left alone."""
    queue, parameters = QUEUES[case]
    named = ", ".join(f'"links.bottleneck.queue.{each}"' for each in parameters)
    text = NETWORK.format(case=case, queue=queue, parameters=named, target=TARGET)
    scenario = parse_scenario(text, f"benches/link_online.py, {case}")
    run = run_online(
        scenario, seed=seed, deadline_s=deadline_s, plant=EmulatorPlant(PROBE_INTERVAL_S)
    )
    return {
        "case": case,
        "seed": seed,
        "alone": _phases(run.reference),
        "tuned": _phases(run.tuned),
        "settings": len(run.settings),
        "decisions": [[each.time_s, each.kind, each.reason] for each in run.decisions],
    }


def _phases(result: Result) -> list[dict[str, float]]:
    link = result.link("bottleneck")
    late: Any = result.data["links"]["bottleneck"]
    return [
        {
            # In packets: the root of the mean square deviation from the target.
            "deviation": math.hypot(
                window["queue_packets"]["sd"], window["queue_packets"]["mean"] - TARGET
            ),
            "queue": window["queue_packets"]["mean"],
            "utilization": window["utilization"],
            "late_us_p99": late["emulator"]["timing_error_us"]["p99"],
        }
        for window in link.phases
    ]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Means over the seeds with 95 % intervals; of differences, theirs."""
    lines = [
        "| discipline | flows | runs | deviation alone | kept tuned | better by | utilisation |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for case in QUEUES:
        own = [row for row in rows if row["case"] == case]
        for phase, flows in enumerate((5, 20) if own else ()):
            alone = [row["alone"][phase]["deviation"] for row in own]
            tuned = [row["tuned"][phase]["deviation"] for row in own]
            better = [one - other for one, other in zip(alone, tuned, strict=True)]
            used = [
                mean_interval([row[how][phase]["utilization"] for row in own]).mean
                for how in ("alone", "tuned")
            ]
            cells = " | ".join(_shown(each) for each in (alone, tuned, better))
            share = " -> ".join(f"{100 * each:.1f} %" for each in used)
            lines.append(f"| `{case}` | {flows} | {len(own)} | {cells} | {share} |")
    return "\n".join(lines)


def _shown(values: Sequence[float]) -> str:
    interval = mean_interval(values)
    around = "" if interval.half_width is None else f" +- {interval.half_width:.1f}"
    return f"{interval.mean:.1f}{around}"


def main() -> None:
    """Runs what is missing, or prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--case", action="append", choices=list(QUEUES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--deadline", type=float, default=3.0, help="seconds of a search")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    load_plugins([str(ROOT / "docs" / "examples" / "proportional_early_drop.py")])
    rows = []
    if given.results.exists():
        text = given.results.read_text(encoding="utf-8")
        rows = [json.loads(line) for line in text.splitlines()]
    if given.table:
        print(table(rows))
        return
    done = {(row["case"], row["seed"]) for row in rows}
    given.results.parent.mkdir(parents=True, exist_ok=True)
    for seed in range(1, given.seeds + 1):
        for case in given.case or QUEUES:
            if (case, seed) in done:
                continue
            row = measure(case, seed, given.deadline)
            with given.results.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(row)}\n")
            print(f"{case}, seed {seed}: {row['settings']} settings", flush=True)


if __name__ == "__main__":
    main()
