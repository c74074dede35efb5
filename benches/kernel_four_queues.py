"""Four Linux routers in a row, set at random: left alone, and tuned together over SNMP.

    python benches/kernel_four_queues.py [--seeds 5] [--readings PATTERN] [--ways PATTERN]
    python benches/kernel_four_queues.py --table

Figures 7 and 8 of T. Ye and S. Kalyanaraman, "Adaptive Tuning of RED Using On-line Simulation",
IEEE GLOBECOM 2002, on the kernel that they are about: four Linux routers with RED queues, sixteen
parameters at random, and one black box of them all, tuned for the coefficient of variation of
goodputs. The paper gives neither rates nor delays nor flows; the network is
`kernel_networks/four-red-queues.toml`, in the two readings of the simulator's figure 8: a *parking
lot*, where 8 flows go through all four links and 8 more through each (48 and 18 ms), and *all flows
through all*, 8 each with 48, 68, 98, 138 and 188 ms. With each seed it is

- *left alone*, as it was drawn;
- tuned *over SNMP*: one controller, one joint setting. Counters are read and settings set by
  Vermilion's manager through snmpd and Vermilion's agent in each router, with SNMPv3 (authPriv),
  over a management network, once a second. Which flows there are, what they send and their round
  trips come from a passive monitor beside each router;
- tuned *by netlink*: the same, with counters and settings of the guest's kernel ten times a second;
- run with *standard* RED, left alone: thresholds of 15 and 45 kB, 0.1, 2^-9.

All numbers are the kernel's. A run has 100 s and is judged from 40 s on; goodputs are means over
20 s. The kernel runs in virtual time, and searches try a fixed number of settings, so that a run
repeats. ``--table`` writes the page's table and its figure.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from provenance import drawn_by

from vermilion.online import run_online
from vermilion.scenario import load_scenario
from vermilion.search import Space
from vermilion.simulate.statistics import mean_interval
from vermilion_lab.kernel_plant import KernelPlant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.scenario import Scenario
    from vermilion.simulate import Result

HERE: Final = Path(__file__).parent
NETWORK: Final = str(HERE / "kernel_networks" / "four-red-queues.toml")
RESULTS: Final = HERE / "results" / "kernel-four-queues.jsonl"
FIGURES: Final = HERE.parent / "docs" / "figures"
LINKS: Final = ("first", "second", "third", "fourth")
LEFT_ALONE: Final = "left alone"
SNMP: Final = "tuned over SNMP"
NETLINK: Final = "tuned by netlink"
STANDARD: Final = "standard RED"
READINGS: Final[dict[str, dict[str, object]]] = {
    "all flows through all": {f"flows.only-{link}.path": list(LINKS) for link in LINKS}
    | {
        f"flows.only-{link}.rtt": f"{round_trip_ms} ms"
        for link, round_trip_ms in zip(LINKS, (68, 98, 138, 188), strict=True)
    }
    # Nothing waits behind the first link, so that no model has the others.
    | {"tuning.constraints": ["links.first.utilization >= 0.95 of reference"]},
    "parking lot": {},
}
WAYS: Final = (LEFT_ALONE, SNMP, NETLINK, STANDARD)
END_S: Final = 100
WINDOW_S: Final = 20
JUDGED_FROM_S: Final = 40
EVALUATIONS: Final = 60
RE_EVALUATIONS: Final = 1
COMPARISONS: Final = 6
SEED_OF_DRAWING: Final = "vermilion.benches.kernel-four-queues.1"


def main() -> None:
    """Runs what is missing, or writes the table and the figure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--readings", default="*", help="a pattern of names")
    parser.add_argument("--ways", default="*", help="a pattern of names")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true", help="write the table and the figure")
    given = parser.parse_args()
    rows = load(given.results)
    if given.table:
        text = f"{table(rows)}\n{drawn_by('benches/kernel_four_queues.py', given.results)}\n"
        (FIGURES / "kernel_four_queues.txt").write_text(text, encoding="utf-8")
        sys.stdout.write(text)
        draw(rows, FIGURES / "kernel_four_queues.svg")
        return
    given.results.parent.mkdir(parents=True, exist_ok=True)
    known = {(row["reading"], row["seed"], row["way"]) for row in rows}
    for reading, seed, way in product(READINGS, range(1, given.seeds + 1), WAYS):
        wanted = fnmatchcase(reading, given.readings) and fnmatchcase(way, given.ways)
        if not wanted or (reading, seed, way) in known:
            continue
        begun_s = time.perf_counter()
        row = {"reading": reading, "seed": seed, "way": way, **measure(reading, way, seed)}
        row["wall_s"] = round(time.perf_counter() - begun_s, 1)
        with given.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, separators=(",", ":")) + "\n")
        said = f"{judged(row):.3f}, {len(row.get('pushes', []))} pushes, {row['wall_s']:.0f} s"
        sys.stderr.write(f"{reading}, seed {seed}, {way}: {said}\n")


def load(file: Path) -> list[dict[str, Any]]:
    """The rows of a file of results; none if there is no such file."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def network(reading: str) -> Scenario:
    """The network, with an end to a stretch of goodputs every :data:`WINDOW_S`."""
    windows = [
        {"at": f"{at} s", "link": LINKS[0], "delay": "5 ms"}  # as it is: only the stretch ends
        for at in range(WINDOW_S, END_S, WINDOW_S)
    ]
    return load_scenario(NETWORK).with_values(
        {"duration": f"{END_S} s", "settle": "0 s", "changes": windows} | READINGS[reading]
    )


def drawn(reading: str, seed: int) -> Scenario:
    """The network with sixteen parameters at random."""
    scenario = network(reading)
    space = Space.from_scenario(scenario)
    random = Random(f"{SEED_OF_DRAWING}/{seed}")  # noqa: S311 - no secret
    return scenario.with_values(space.values(tuple(random.random() for _ in range(len(space)))))


def measure(reading: str, way: str, seed: int) -> dict[str, Any]:
    """One run of the kernel."""
    if way in {LEFT_ALONE, STANDARD}:
        scenario = drawn(reading, seed) if way == LEFT_ALONE else network(reading)
        return reached(KernelPlant().left_alone(scenario, seed, 1.0))
    plant = Untouched("snmp" if way == SNMP else "netlink")
    run = run_online(
        drawn(reading, seed),
        seed=seed,
        clock="fixed",
        evaluations=EVALUATIONS,
        re_evaluations=RE_EVALUATIONS,
        comparisons=COMPARISONS,
        on_event=lambda each: sys.stderr.write(
            f"{each.time_s:8.2f} s {each.kind}: {each.reason}\n"
        ),
        plant=plant,
    )
    return reached(run.tuned) | {
        "pushes": [each for each, _ in run.settings[1:]],
        "settings": [list(each) for each in run.settings],
        "said": [[each.time_s, each.kind, each.reason] for each in run.decisions],
    }


class Untouched(KernelPlant):
    """A plant that does not run the network left alone once more."""

    def left_alone(self, scenario: Scenario, seed: int, probe_interval_s: float) -> Result:
        """A short run instead, which nobody looks at."""
        short = scenario.with_values({"duration": "1 s", "changes": []})
        return super().left_alone(short, seed, probe_interval_s)


def reached(result: Result) -> dict[str, Any]:
    """What the kernel measured, stretch by stretch."""
    begins = [window["start_s"] for window in result.link(LINKS[0]).phases]
    stretches: list[dict[str, Any]] = []
    for number in range(len(begins)):
        goodputs = {
            group: [
                flow["goodput_bit_per_s"] / 1e6
                for flow in result.flows(group).phases[number]["each"]
            ]
            for group in result.groups
        }
        every = np.concatenate([np.array(each) for each in goodputs.values()])
        links = [result.link(link).phases[number] for link in LINKS]
        stretches.append(
            {
                "start_s": begins[number],
                "variation": float(every.std() / every.mean()),
                "all": float(every.sum()),
                "slowest": float(every.min() / every.mean()),
                "starved": int((every < 0.05 * every.mean()).sum()),
                "utilization": fmean(each["utilization"] for each in links),
                "queue": fmean(each["queue_packets"]["mean"] for each in links),
                "drop_rate": fmean(each["drop_rate"] for each in links),
            }
        )
    return {"stretches": stretches}


def judged(row: dict[str, Any], what: str = "variation") -> float:
    """A run's mean from :data:`JUDGED_FROM_S` on."""
    return fmean(each[what] for each in row["stretches"] if each["start_s"] >= JUDGED_FROM_S)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """What was measured: means over the random starts, and differences from left alone."""
    headings = (
        "",
        "variation of goodputs",
        "less than left alone",
        "slowest flow, of the mean",
        "starved flows",
        "utilisation",
        "mean queue (packets)",
        "all goodput (Mbit/s)",
        "pushes",
        "starts",
    )
    parts = []
    for reading in READINGS:
        own = [row for row in rows if row["reading"] == reading]
        of = {way: {row["seed"]: row for row in own if row["way"] == way} for way in WAYS}
        parts += ["", f"{reading[0].upper()}{reading[1:]}:", ""]
        parts += [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
        parts += [
            _line(way, [of[way][seed] for seed in sorted(of[way])], of[LEFT_ALONE])
            for way in WAYS
            if of[way]
        ]
    said = (
        "Means with 95 % intervals over random starts, paired where differences are shown; "
        f"measured from {JUDGED_FROM_S} to {END_S} s, goodputs over {WINDOW_S} s each; "
        f"{EVALUATIONS} settings tried per search."
    )
    return "\n".join([*parts[1:], "", said]) + "\n"


def _line(way: str, mine: Sequence[dict[str, Any]], alone: dict[int, dict[str, Any]]) -> str:
    """A line of the table."""
    less = [judged(alone[row["seed"]]) - judged(row) for row in mine if row["seed"] in alone]
    pushes = f"{fmean(len(row['pushes']) for row in mine):.1f}" if "pushes" in mine[0] else ""
    cells = [
        way,
        interval([judged(row) for row in mine]),
        "" if way == LEFT_ALONE else interval(less),
        interval([judged(row, "slowest") for row in mine]),
        f"{fmean(judged(row, 'starved') for row in mine):.1f}",
        interval([judged(row, "utilization") for row in mine]),
        f"{fmean(judged(row, 'queue') for row in mine):.1f}",
        f"{fmean(judged(row, 'all') for row in mine):.2f}",
        pushes,
        str(len(mine)),
    ]
    return f"| {' | '.join(cells)} |"


def interval(values: Sequence[float]) -> str:
    """A mean with its half width."""
    found = mean_interval(list(values))
    width = "" if found.half_width is None else f" +- {found.half_width:.3f}"
    return f"{found.mean:.3f}{width}"


def draw(rows: Sequence[dict[str, Any]], file: Path) -> None:
    """Variation over time in both readings, with a thin line for each random start."""
    from vermilion.report import drawing
    from vermilion_lab.papers import plots

    figure, panels = plots.sheet(1, 2, 4.6, sharey=True)
    for axes, reading in zip(panels[0], READINGS, strict=True):
        for number, each in enumerate((SNMP, LEFT_ALONE, STANDARD)):
            runs = [row for row in rows if row["way"] == each and row["reading"] == reading]
            if not runs:
                continue
            # Without the first stretch, in which most flows have only begun.
            middles = [part["start_s"] + WINDOW_S / 2 for part in runs[0]["stretches"][1:]]
            lines = [[part["variation"] for part in run["stretches"][1:]] for run in runs]
            if each == SNMP:
                for place, line in enumerate(lines):
                    label = "one start" if place == 0 else "_"
                    axes.plot(middles, line, color=drawing.SKY_BLUE, linewidth=0.7, label=label)
            plots.line(axes, middles, list(zip(*lines, strict=True)), each, number)
        axes.set_xlim(0, END_S)
        axes.set_xlabel("time (s)")
        axes.set_title(reading[0].upper() + reading[1:])
    panels[0][0].set_ylim(bottom=0)
    panels[0][0].set_ylabel("coefficient of variation of goodputs")
    panels[0][0].legend(loc="lower center", ncols=2)
    figure.savefig(file)


if __name__ == "__main__":
    main()
