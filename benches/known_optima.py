"""Tunings whose optimum is known: how far a default `tune` stays from it.

The optimum is the best of a long search (six times the settings, the whole length, more seeds), of
the tuning itself, and of what an engineer would set (`vermilion.tuning.baselines`) in the same
discipline. Each is judged by the question that `tune` asks: the goal under the conditions given and
those around them, weighted, on fresh seeds, relative to the setting in force.

    .venv/bin/python benches/known_optima.py

writes `docs/figures/tuning_known.txt`, for docs/laboratory/tuning.md. It takes three minutes on two
cores. *Regret* is how much worse the goal is than the best known; *covered* whether the interval of
the difference has the true one, from fresh seeds; a *wall* is an answer beside which the best known
shares noticeably more fairly within a tenth of the goal.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from provenance import made_by

import vermilion
from vermilion.objectives import Constraint, objective_of
from vermilion.simulate import Result, mean_interval, run_many
from vermilion.tuning import Seeds
from vermilion.tuning.neighbourhood import GIVEN_WEIGHT, neighbours

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.scenario import Scenario

FIGURES: Final = Path(__file__).parent.parent / "docs" / "figures"
FRESH: Final = range(3_000_000, 3_000_024)
LONG: Final = Seeds.counted(500_000, search=6, re_evaluation=15, comparison=20)
QUEUE: Final = "links.bottleneck.queue"
FAIR: Final = Constraint.parse("flows.*.jain_index >= 0")
FAIRER: Final = 0.03
DEVIATION: Final = '{ name = "queue-deviation", link = "bottleneck", target = "30 packets" }'
POWER: Final = '{ name = "power", link = "bottleneck", base_delay = "28 ms" }'
P95: Final = '{ name = "sojourn-percentile", link = "bottleneck", percentile = 95 }'
GOODPUT: Final = '{ name = "goodput" }'

CASES: Final = (
    ("RED, 16 flows", 16, 28, 'discipline = "red"', ("min_threshold", "max_threshold"), DEVIATION),
    ("RED, 48 flows", 48, 28, 'discipline = "red"', ("max_probability", "weight"), DEVIATION),
    ("RED, far", 16, 120, 'discipline = "red"', ("max_threshold", "weight"), DEVIATION),
    ("PIE, 16 flows", 16, 28, 'discipline = "pie"', ("target",), DEVIATION),
    ("PIE, gains", 32, 40, 'discipline = "pie"', ("alpha", "beta"), DEVIATION),
    ("CoDel", 16, 60, 'discipline = "codel"', ("target", "interval"), DEVIATION),
    ("adaptive RED", 24, 40, 'discipline = "adaptive-red"', ("weight",), DEVIATION),
    ("PIE, power", 8, 40, 'discipline = "pie"', ("target",), POWER),
    ("CoDel, p95", 16, 28, 'discipline = "codel"', ("target",), P95),
    ("RED, p95", 16, 60, 'discipline = "red"', ("max_threshold",), P95),
    (
        "RED, p95 at 9.3 Mbit/s",
        32,
        60,
        'discipline = "red", limit = "200 packets"',
        ("max_threshold", "max_probability", "weight"),
        P95,
        "flows.*.goodput_bit_per_s.total >= 9.3 Mbit/s",
    ),
    (
        "RED, goodput within 30 ms",
        16,
        28,
        'discipline = "red", limit = "200 packets"',
        ("min_threshold", "max_threshold", "max_probability", "weight"),
        GOODPUT,
        "links.bottleneck.sojourn_ms.p95 <= 30 ms",
    ),
    (
        "CoDel, p95 at 97 %",
        16,
        100,
        'discipline = "codel"',
        ("target", "interval"),
        P95,
        "links.bottleneck.utilization >= 0.97",
    ),
)
"""Name, flows, round trip in ms, queue, what is searched, goal, and what must hold."""


def scenario(case: tuple[Any, ...]) -> Scenario:
    """One of the networks."""
    name, flows, trip, queue, parameters, objective, *bounds = case
    listed = ", ".join(f'"{QUEUE}.{each}"' for each in parameters)
    return vermilion.parse_scenario(
        f"""
        title = "{name}"
        duration = "14 s"
        warm_up = "4 s"
        [links.bottleneck]
        rate = "10 Mbit/s"
        delay = "5 ms"
        queue = {{ {queue} }}
        [flows.all]
        count = {flows}
        path = ["bottleneck"]
        rtt = "{trip} ms"
        sender = "newreno"
        packet_size = "1000 bytes"
        start = "0 s .. 1 s"
        [tuning]
        parameters = [{listed}]
        objective = {objective}
        constraints = {json.dumps(bounds)}
        """
    )


class Truth:
    """The goal of a question, on fresh seeds."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.objective = objective_of(scenario)
        around = neighbours(scenario)
        share = (1.0 - GIVEN_WEIGHT) / len(around)
        self.places = [(scenario, (), GIVEN_WEIGHT)]
        self.places += [(each.scenario, each.added, share) for each in around]
        self.now = self.values({})

    def values(self, setting: Mapping[str, Any]) -> list[list[float]]:
        """The objective, to be minimised, under each condition with each seed."""
        rows = run_many([each.with_values(dict(setting)) for each, *_ in self.places], FRESH)
        return [
            [self.objective.evaluate(without(result, added)) for result in row if result]
            for row, (_, added, _) in zip(rows, self.places, strict=True)
        ]

    def goal(self, values: list[list[float]]) -> float:
        """The weighted mean of what is reached, relative to now: less is better."""
        ratios = [
            statistics.fmean(mine) / abs(statistics.fmean(now))
            for mine, now in zip(values, self.now, strict=True)
        ]
        shares = [share for *_, share in self.places]
        if min(ratios) > 0.0:
            return math.exp(
                math.fsum(s * math.log(ratio) for s, ratio in zip(shares, ratios, strict=True))
            )
        return math.fsum(s * ratio for s, ratio in zip(shares, ratios, strict=True))

    def fairness(self, setting: Mapping[str, Any]) -> float:
        """Jain's index as given."""
        [row] = run_many([self.scenario.with_values(dict(setting))], FRESH)
        return statistics.fmean(min(FAIR.values(result)) for result in row if result)  # type: ignore[type-var] # bulk flows have it


def without(result: Result, added: tuple[str, ...]) -> Result:
    """A result without the flows that belong to a condition."""
    flows = {name: each for name, each in result.data["flows"].items() if name not in added}
    return Result({**result.data, "flows": flows})


def row(case: tuple[Any, ...], budget: int, seed: int) -> tuple[float, bool | None, bool, str]:
    """Regret, coverage, whether it is a wall, and the line of a table."""
    network = scenario(case)
    truth = Truth(network)
    found = vermilion.tune(network, budget=budget, seed=seed)
    long = vermilion.tune(
        network, budget=6 * budget, seeds=LONG, seed=seed + 7, fidelity="full", rivals=False
    )
    settings = {"tune": dict(found.chosen), "long search": dict(long.chosen)}
    settings["in force"] = {}
    discipline = network.links["bottleneck"].queue.discipline
    for each in found.rivals:
        names = {path.rpartition(".")[2] for path in each.parameters}
        ours = {path.rpartition(".")[2] for path in network.tuning.parameters}  # type: ignore[union-attr] # each has a table
        if names <= ours and each.label.lower().startswith(discipline.replace("-", "-")):
            settings[each.label] = dict(each.parameters)
    values = {name: truth.values(setting) for name, setting in settings.items()}
    goals = {name: truth.goal(each) for name, each in values.items()}
    best = min(goals, key=goals.__getitem__)
    regret = (goals["tune"] - goals[best]) / abs(goals[best])
    covered = None
    if found.accepted and found.comparison is not None:
        pairs = zip(values["tune"][0], truth.now[0], strict=True)
        sign = -1.0 if truth.objective.maximised else 1.0
        real = mean_interval(sign * (a - b) for a, b in pairs)
        told = found.comparison.difference
        spread = math.hypot(told.half_width or 0.0, real.half_width or 0.0)
        covered = abs(told.mean - real.mean) <= spread
    fair = [truth.fairness(settings[name]) for name in ("tune", best)]
    wall = goals[best] <= 1.1 * goals["tune"] and fair[1] - fair[0] > FAIRER
    cells = (
        case[0],
        f"{goals['in force']:.2f}",
        f"{goals['tune']:.3f}",
        f"{goals[best]:.3f} ({best})",
        f"{regret:.1%}",
        "-" if covered is None else "yes" if covered else "no",
        f"{fair[0]:.3f}",
        "yes" if wall else "no",
    )
    return regret, covered, wall, f"| {' | '.join(cells)} |"


def main() -> None:
    """Writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rows = []
    for case in CASES:
        rows.append(row(case, given.budget, given.seed))
        print(rows[-1][-1], flush=True)
    regrets = [regret for regret, *_ in rows]
    covers = [covered for _, covered, *_ in rows if covered is not None]
    walls = sum(wall for _, _, wall, _ in rows)
    said = (
        f"{len(rows)} tunings of {given.budget} settings: regret {statistics.median(regrets):.1%} "
        f"(median), {max(regrets):.1%} (worst); {sum(covers)} of {len(covers)} intervals cover the "
        f"true difference; {walls} walls."
    )
    heading = "| tuning | now | tune | best known | regret | covered | Jain | wall |"
    rule = "| --- | ---: | ---: | --- | ---: | --- | ---: | --- |"
    text = "\n".join([said, "", heading, rule, *(line for *_, line in rows)])
    made = made_by("benches/known_optima.py")
    (FIGURES / "tuning_known.txt").write_text(f"{text}\n\n{made}\n", encoding="utf-8")
    print(said)


if __name__ == "__main__":
    main()
