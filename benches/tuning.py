"""Shows what the tuner promises: speed, coverage, and that tuned RED wins in each phase.

- *four* and *sixteen*: four parameters on the phases of `varying-load` within 6 % of the best
  known objective in 1 s of wall time on two cores; sixteen of `four-red-queues` close 85 % of the
  gap from the standard setting to the best known in 10 s; medians of 15 seeds. The best known
  settings are those of `benches/best_known.json`, from `benches/best_known.py`.
- *coverage*: in how many of many small tunings the interval of the improvement has the true one,
  which is known from many fresh seeds.
- *phases*: RED tuned for each phase of the example scenarios against RED as published, as ns-2
  sets it by itself, and adaptive RED, on the objective in that phase, with paired intervals.

One command does it all and writes `docs/figures/tuning_*.txt`, for docs/laboratory/tuning.md; it
takes about three quarters of an hour on two cores that nobody else uses:

    .venv/bin/python benches/tuning.py

`--part` does one of them. Where others use the machine, `--cpu-clock` lets the tuner's clock run by
the CPU time that it gets, divided by the cores, and the table says so: what a machine of one's own
loses because two cores are never busy all the time is then left out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from provenance import made_by

import vermilion
from vermilion import load_scenario
from vermilion.objectives import objective_of
from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.search import AUTOMATIC, SEARCHES
from vermilion.simulate import mean_interval, run_many
from vermilion.simulate.sweeps import make_variants
from vermilion.tuning import engine, horizon, model_search, simulations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.objectives.windows import Window
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result

HERE = Path(__file__).parent
FIGURES = HERE.parent / "docs" / "figures"
BEST_KNOWN = json.loads((HERE / "best_known.json").read_text(encoding="utf-8"))
CORES = 2
REPETITIONS = 15
SPEED = {"four": ("varying-load", 1.0), "sixteen": ("four-red-queues", 10.0)}
"""Scenario and seconds."""

RATIO, CLOSED = "objective / best known, median", "gap between these closed, median"
PROMISED = {"four": (RATIO, "at most 1.06"), "sixteen": (CLOSED, "at least 85 %")}

FIRST_FRESH_SEED = 3_000_000
TRUTH = range(FIRST_FRESH_SEED, FIRST_FRESH_SEED + 240)
"""Seeds of what a tuning chose."""

REFERENCE = range(FIRST_FRESH_SEED, FIRST_FRESH_SEED + 960)
"""Seeds of the best known and of the standard setting, whose errors all ratios share. In
`four-red-queues` a seed's standard deviation is 3 % of the best known value and the whole gap 11 %:
means over 60 seeds would be wrong by some 8 % of the gap."""

COVERAGE = (("varying-load", 200, 200), ("four-red-queues", 200, 200))
"""Scenario, tunings, and seeds of the truth."""

SMALL_BUDGET = 30
PHASE_BUDGET = 600
PHASES = ("varying-load", "varying-round-trip-time")
PHASE_SEEDS = range(FIRST_FRESH_SEED, FIRST_FRESH_SEED + 20)
BY_ITSELF = "min_threshold=automatic,max_threshold=automatic,weight=automatic"
BARE: Final[Mapping[str, Any]] = {"harm": ["none"], "rivals": False, "exactly": True}
"""The search alone; what settings cost, and what stands beside them: `benches/decisions.py`."""

RIVALS = {
    "RED as published": "red",
    "ns-2's automatic RED": f"ns2-red:{BY_ITSELF},max_probability=0.1",
    "the same, told the target": f"ns2-red:{BY_ITSELF},max_probability=0.1,target_delay=24 ms",
    "adaptive RED": f"adaptive-red:{BY_ITSELF},max_probability=0.1",
    "adaptive RED, told the target": (
        f"adaptive-red:{BY_ITSELF},max_probability=0.1,target_delay=24 ms"
    ),
}
"""Disciplines as `vermilion compare` takes them. 30 packets of 1000 bytes take 24 ms."""


def values(scenario: Scenario, setting: Mapping[str, Any], seeds: Sequence[int]) -> list[float]:
    """The objective of a setting with each seed."""
    objective = objective_of(scenario)
    changed = scenario.with_values(setting) if setting else scenario
    [results] = run_many([changed], seeds, threads=CORES)
    return [objective.evaluate(result) for result in results if result is not None]


def speed(
    part: str, search: str, seeds: int, *, cpu_clock: bool, seconds: float | None = None
) -> str:
    """What is found before a deadline, beside the best known."""
    name, limit = SPEED[part]
    limit = seconds or limit
    scenario, known = load_scenario(name), BEST_KNOWN[name]
    # Imports are not the search's business.
    vermilion.tune(scenario, search=search, budget=2, **BARE)
    best = statistics.fmean(values(scenario, known["setting"], REFERENCE))
    standard = statistics.fmean(values(scenario, {}, REFERENCE)) / best
    walls, cpus, settings, ratios, short = [], [], [], [], 0
    for seed in range(1, seeds + 1):
        wall, cpu = time.perf_counter(), time.process_time()
        found = vermilion.tune(
            scenario,
            search=search,
            budget=10**6,
            deadline_s=limit,
            seed=1000 * seed,
            threads=CORES,
            **BARE,
        )
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        settings.append(found.evaluations)
        short += found.fidelity is not None and found.fidelity.used
        ratios.append(statistics.fmean(values(scenario, found.chosen, TRUTH)) / best)
        say(
            f"{name} {seed}: {walls[-1]:.2f} s, CPU {cpus[-1]:.2f} s, {settings[-1]} settings, "
            f"{ratios[-1]:.3f}, {found.fidelity}"
        )
    low, middle, high = statistics.quantiles(
        [*ratios, *ratios[:1]][: max(2, seeds)], n=4, method="inclusive"
    )
    rows = {
        "scenario": f"`{name}`, {len(known['setting'])} parameters",
        "search": f"`{found.search}`, {seeds} seeds",
        "wall time, median (limit)": f"{statistics.median(walls):.2f} s ({limit:g} s)",
        "CPU time, median (limit)": f"{statistics.median(cpus):.2f} s ({CORES * limit:g} s)",
        "settings tried, median": f"{statistics.median(settings):.0f}",
        RATIO: f"{middle:.3f}",
        "quartiles": f"{low:.3f} .. {high:.3f}",
        "worst": f"{max(ratios):.3f}",
        "standard setting / best known": f"{standard:.3f}",
        CLOSED: f"{(standard - middle) / (standard - 1.0):.1%}",
        "searches with short simulations": f"{short} of {seeds}",
        "best known": f"{known['mean']:.4g} ± {known['half_width']:.2g}, of "
        f"{known['evaluations']:,} evaluations in {known['searches']} searches",
    }
    if limit == SPEED[part][1]:
        row, promise = PROMISED[part]
        rows[row] += f" (promised: {promise})"
    lines = ["| | |", "| --- | --- |", *(f"| {key} | {text} |" for key, text in rows.items())]
    if cpu_clock:
        lines += ["", "Measured while others used the machine, with a clock of CPU time / cores."]
    return "\n".join(lines)


def coverage() -> str:
    """The table of how often the intervals have the truth."""
    lines = [
        "| scenario | tunings | true improvements | difference covered | improvement covered |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, count, seeds in COVERAGE:
        scenario = load_scenario(name)
        fresh = range(FIRST_FRESH_SEED, FIRST_FRESH_SEED + seeds)
        before = values(scenario, {}, fresh)
        hits, relative, gains = 0, 0, []
        for repetition in range(1, count + 1):
            found = vermilion.tune(
                scenario, budget=SMALL_BUDGET, seed=1000 * repetition, threads=CORES, **BARE
            )
            comparison = found.comparison
            if comparison is None or comparison.improvement is None:
                message = f"{name}, seed {1000 * repetition}: no comparison"
                raise RuntimeError(message)
            after = values(scenario, found.parameters, fresh)
            difference = statistics.fmean(after) - statistics.fmean(before)
            gains.append(1.0 - statistics.fmean(after) / statistics.fmean(before))
            said, gain = comparison.difference, comparison.improvement
            hits += said.low <= difference <= said.high
            relative += gain.low <= gains[-1] <= gain.high
            say(f"{name} {repetition}: {hits} {relative} of {repetition}, gain {gains[-1]:.3f}")
        lines.append(
            f"| `{name}` | {count} | {min(gains):.1%} .. {max(gains):.1%} | "
            f"{share(hits, count)} | {share(relative, count)} |"
        )
    note = (
        f"Tunings of {SMALL_BUDGET} settings, each with seeds of its own. The truth is the mean "
        f"over {' and '.join(dict.fromkeys(str(seeds) for *_, seeds in COVERAGE))} fresh seeds, "
        "with an error of its own that counts against the intervals. In brackets the 95 % interval "
        "of the share (Wilson)."
    )
    return "\n".join([*lines, "", note])


def share(hits: int, count: int) -> str:
    """A share with Wilson's interval."""
    z = statistics.NormalDist().inv_cdf(0.975)
    centre = (hits + z * z / 2) / (count + z * z)
    half = z * math.sqrt(hits * (count - hits) / count + z * z / 4) / (count + z * z)
    return f"{hits / count:.1%} [{centre - half:.1%}, {centre + half:.1%}]"


@dataclass(frozen=True)
class InPhase(QueueDeviation):
    """The queue's deviation in one phase alone."""

    phase: int = 0

    def windows(self, result: Result) -> list[Window]:
        """That phase."""
        return super().windows(result)[self.phase : self.phase + 1]


def phases() -> str:
    """The tables of tuned RED and its rivals in each phase."""
    lines = [
        "| scenario, phase | discipline | queue deviation | more than tuned RED | utilisation |",
        "| --- | --- | --- | --- | --- |",
    ]
    settings, lost = [], 0
    for name in PHASES:
        scenario = load_scenario(name)
        objective = objective_of(scenario)
        variants = {
            label: next(iter(make_variants(scenario, [discipline])[0].values()))
            for label, discipline in RIVALS.items()
        }
        whole = vermilion.tune(scenario, budget=PHASE_BUDGET, threads=CORES, **BARE)
        variants = {
            "RED tuned for all phases at once": scenario.with_values(whole.chosen)
        } | variants
        results = run_many(variants, PHASE_SEEDS, threads=CORES)
        for phase, window in enumerate(objective.windows(results["adaptive RED"][0])):
            alone = InPhase(link=objective.link, target=objective.target, phase=phase)
            found = vermilion.tune(
                scenario,
                objective=alone,
                constraints=[],
                budget=PHASE_BUDGET,
                threads=CORES,
                **BARE,
            )
            [tuned] = run_many([scenario.with_values(found.chosen)], PHASE_SEEDS, threads=CORES)
            where = f"`{name}`, {window['start_s']:g} .. {window['end_s']:g} s"
            settings.append(f"{where}: {written(scenario, found.chosen)}")
            for label, row in {"RED tuned for the phase": tuned, **results}.items():
                reached = [alone.evaluate(result) for result in row]
                own = mean_interval(reached)
                used = mean_interval(alone.windows(result)[0]["utilization"] for result in row)
                more = ""
                if row is not tuned:
                    pairs = zip(reached, (alone.evaluate(result) for result in tuned), strict=True)
                    gap = mean_interval(other - best for other, best in pairs)
                    more = f"{gap.mean:+.4g} ± {gap.half_width:.2g}"
                    lost += label in RIVALS and gap.low <= 0.0
                lines.append(
                    f"| {where} | {label} | {own.mean:.4g} ± {own.half_width:.2g} | {more} | "
                    f"{used.mean:.3f} |"
                )
    verdict = "in every phase" if not lost else f"except in {lost} of the rows"
    note = (
        f"Packets², over {len(PHASE_SEEDS)} fresh seeds, with 95 % t intervals; differences are "
        f"taken seed by seed. RED tuned for the phase beats its baselines {verdict}. Its settings:"
    )
    return "\n".join([*lines, "", note, "", *(f"- {setting}" for setting in settings)])


def written(scenario: Scenario, setting: Mapping[str, Any]) -> str:
    """A setting as one would write it."""
    return ", ".join(
        f"{path.rpartition('.')[2]} {scenario.parameter(path).readable(value)}"
        for path, value in setting.items()
    )


def count_cpu_time() -> None:
    """Makes the tuner's clock run by CPU time / cores, and its batches end when they are done."""

    class Clock:
        @staticmethod
        def monotonic() -> float:
            return time.process_time() / CORES

    def undisturbed(*arguments: object, **options: object) -> object:
        return run_many(*arguments, **{**options, "deadline_s": None})

    for module in (engine, horizon, model_search, simulations):
        module.time = Clock
    simulations.run_many = undisturbed


def say(text: str) -> None:
    """Tells whoever waits."""
    print(text, flush=True)


def main() -> None:
    """All parts, or some."""
    parts = {"coverage": coverage, "phases": phases}
    names = [*SPEED, *parts]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=names, action="append")
    parser.add_argument("--search", choices=[AUTOMATIC, *SEARCHES], default=AUTOMATIC)
    parser.add_argument("--seeds", type=int, default=REPETITIONS)
    parser.add_argument(
        "--seconds",
        type=float,
        help="another deadline for the parts four and sixteen, whose tables are printed only",
    )
    parser.add_argument("--cpu-clock", action="store_true")
    options = parser.parse_args()
    if options.cpu_clock:
        count_cpu_time()
    say(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for part in options.part or names:
        text = (
            speed(
                part,
                options.search,
                options.seeds,
                cpu_clock=options.cpu_clock,
                seconds=options.seconds,
            )
            if part in SPEED
            else parts[part]()
        )
        if options.seconds is None:
            made = f"{text}\n\n{made_by('benches/tuning.py')}\n"
            (FIGURES / f"tuning_{part}.txt").write_text(made, encoding="utf-8")
        say(text)


if __name__ == "__main__":
    main()
