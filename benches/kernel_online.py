"""The on-line controller on a real Linux kernel, in virtual time.

    python benches/kernel_online.py [--cases PATTERN] [--seeds N] [--results FILE]
    python benches/kernel_online.py --table > docs/figures/kernel_online.txt

Runs each network of `kernel_networks/` twice with seeds 1, 2, ..., N: kept tuned with the
defaults, and left alone; all cases with the first seed before any with another. It adds a line to
the results for each pair. What they hold already is not run again, so an interrupted benchmark
goes on where it stood.

The kernel is the one that `make kernel` builds, or the one that VERMILION_KERNEL names. Searches
try a fixed number of settings and are charged their deadline (`--clock fixed`), so that a run
repeats. Some routers are managed over SNMP, once a second. All numbers are the kernel's: its
counters, what its queue holds every 20 ms, what its receivers got.
"""

from __future__ import annotations

import argparse
import json
import time
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from provenance import drawn_by

import vermilion
from vermilion.online import run_online
from vermilion.scenario import load_scenario
from vermilion.simulate import mean_interval
from vermilion.simulate.metric import bulk_flows, slowest_share
from vermilion_lab.kernel_plant import KernelPlant

if TYPE_CHECKING:
    from vermilion.simulate import Result

HERE: Final = Path(__file__).parent
RESULTS: Final = HERE / "results" / "kernel-online.jsonl"
CUBIC: Final = (
    '{ congestion_control = "cubic", option_set = "linux", timer_tick = "10 ms",'
    " shared_clock = true }"
)
TARGET_PACKETS: Final = 30.0
CASES: Final[dict[str, tuple[str, list[str]]]] = {
    "load, RED, Reno": ("load-red", []),
    "round trips, RED, Reno": ("round-trips-red", []),
    "load, PIE": ("load-pie", []),
    "load, CoDel": ("load-codel", []),
    "load, FQ-CoDel": ("load-fq-codel", []),
    "load, RED, CUBIC": ("load-red", [f"flows.*.sender={CUBIC}"]),
    "load, RED, ECN": ("load-red", ["flows.*.sender.ecn=true"]),
    "load, RED, ECN, drops above the maximum": (
        "load-red",
        ["flows.*.sender.ecn=true", "links.bottleneck.queue.drop_above_maximum=true"],
    ),
    "round trips, RED, CUBIC": ("round-trips-red", [f"flows.*.sender={CUBIC}"]),
    "round trips, RED, ECN": ("round-trips-red", ["flows.*.sender.ecn=true"]),
    "load, RED, Reno, over SNMP": ("load-red", []),
    "round trips, RED, Reno, over SNMP": ("round-trips-red", []),
    "load, RED, ECN, over SNMP": ("load-red", ["flows.*.sender.ecn=true"]),
    "load, RED, CUBIC, over SNMP": ("load-red", [f"flows.*.sender={CUBIC}"]),
    "round trips, RED, CUBIC, over SNMP": ("round-trips-red", [f"flows.*.sender={CUBIC}"]),
    "round trips, RED, ECN, over SNMP": ("round-trips-red", ["flows.*.sender.ecn=true"]),
    "load, PIE, over SNMP": ("load-pie", []),
    "load, CoDel, over SNMP": ("load-codel", []),
    "load, FQ-CoDel, over SNMP": ("load-fq-codel", []),
}
"""Name -> the file of the network, and what is changed of it."""

OVER_SNMP: Final = frozenset(case for case in CASES if case.endswith("over SNMP"))
"""Those whose router is asked once a second and changed by its SNMP agent."""

HIGHER_IS_BETTER: Final = {"jain", "slowest", "utilization"}


def main() -> None:
    """Runs what is missing, or prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", default="*", help="a pattern of names")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true", help="print the results")
    given = parser.parse_args()
    rows = _load(given.results)
    if given.table:
        print(table(rows))
        print(drawn_by("benches/kernel_online.py", given.results).strip("*"))  # read as it stands
        return
    given.results.parent.mkdir(parents=True, exist_ok=True)
    known = {(row["case"], row["seed"]) for row in rows}
    for seed in range(1, given.seeds + 1):
        for case in CASES:
            if (case, seed) in known or not fnmatchcase(case, given.cases):
                continue
            row = measure(case, seed)
            with given.results.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(row)}\n")
            print(f"{case}, seed {seed}: {row['wall_s']:.0f} s", flush=True)


def measure(case: str, seed: int) -> dict[str, Any]:
    """One network, kept tuned and left alone."""
    name, changes = CASES[case]
    scenario = load_scenario(str(HERE / "kernel_networks" / f"{name}.toml"), changes)
    begun = time.perf_counter()
    plant = KernelPlant("snmp" if case in OVER_SNMP else "netlink")
    run = run_online(scenario, seed=seed, clock="fixed", plant=plant)
    return {
        "case": case,
        "seed": seed,
        "version": vermilion.__version__,
        "wall_s": round(time.perf_counter() - begun, 1),
        "alone": _phases(run.reference),
        "tuned": _phases(run.tuned),
        "settings": [list(each) for each in run.settings],
        "decisions": [[each.time_s, each.kind, each.reason] for each in run.decisions],
    }


def _phases(result: Result) -> list[dict[str, float]]:
    """What a table may want of each phase."""
    found = []
    link = result.link(result.links[0])
    for number, window in enumerate(link.phases):
        queue = window["queue_packets"]
        flows = bulk_flows(result.flows(group).phases[number] for group in result.groups)
        found.append(
            {
                "start_s": window["start_s"],
                "end_s": window["end_s"],
                "deviation": queue["sd"] ** 2 + (queue["mean"] - TARGET_PACKETS) ** 2,
                "queue": queue["mean"],
                "queue_sd": queue["sd"],
                # What waits in the 95th percentile, at the rate of 10 Mbit/s.
                "delay_ms": window["queue_bytes"]["p95"] * 8.0 / 10e3,
                "utilization": window["utilization"],
                "drop_rate": window["drop_rate"],
                "mark_rate": window["mark_rate"],
                "jain": flows["jain_index"],
                "slowest": slowest_share(flows) or 0.0,
                "starved": float(flows["starved"]),
            }
        )
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """What was measured: means over the seeds with 95 % intervals, and of differences theirs."""
    lines = [
        "The controller on a Linux 6.12 kernel in virtual time: left alone -> kept tuned with the",
        "defaults. Means over seeds with 95 % t intervals; starred where that of the differences",
        "excludes zero. deviation: mean squared distance of the queue from 30",
        "packets. delay_ms: what waits in the 95th percentile of the time, over the link's rate.",
        "",
    ]
    for case in CASES:
        own = sorted((row for row in rows if row["case"] == case), key=lambda row: row["seed"])
        if not own:
            continue
        lines.append(f"{case}: {len(own)} seeds")
        for number, phase in enumerate(own[0]["alone"]):
            lines.append(f"  {phase['start_s']:g} .. {phase['end_s']:g} s")
            wanted = "deviation" if "RED" in case else "delay_ms"
            keys = (wanted, "utilization", "drop_rate", "mark_rate", "jain", "slowest", "starved")
            lines.extend(_line(key, own, number) for key in keys if _occurs(key, own, number))
            if wanted == "deviation":
                lines.append(_factor(own, number))
        lines.append("")
    return "\n".join(lines)


def _occurs(key: str, rows: list[dict[str, Any]], phase: int) -> bool:
    return any(row[arm][phase][key] for row in rows for arm in ("alone", "tuned"))


def _line(key: str, rows: list[dict[str, Any]], phase: int) -> str:
    alone = [row["alone"][phase][key] for row in rows]
    tuned = [row["tuned"][phase][key] for row in rows]
    apart = [after - before for before, after in zip(alone, tuned, strict=True)]
    shown = f"    {key:<12} {_mean(alone)}  ->  {_mean(tuned)}"
    if len(rows) < 2:  # noqa: PLR2004 - no interval of one
        return shown
    interval = mean_interval(apart)
    star = ""
    if interval.low > 0.0 or interval.high < 0.0:
        better = (interval.mean > 0.0) == (key in HIGHER_IS_BETTER)
        star = " * better" if better else " * worse"
    return f"{shown}   difference {_mean(apart)}{star}"


def _factor(rows: list[dict[str, Any]], phase: int) -> str:
    factors = [
        row["alone"][phase]["deviation"] / max(row["tuned"][phase]["deviation"], 1e-9)
        for row in rows
    ]
    least, most = min(factors), max(factors)
    return f"    {'times less':<12} {least:.1f} to {most:.1f}, median {median(factors):.1f}"


def _mean(values: list[float]) -> str:
    if len(values) < 2:  # noqa: PLR2004 - no interval of one
        return f"{values[0]:.4g}"
    interval = mean_interval(values)
    return f"{interval.mean:.4g} ± {(interval.high - interval.low) / 2:.2g}"


def _load(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]


if __name__ == "__main__":
    main()
