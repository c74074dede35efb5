"""Shows what is asked of a recommendation: no harm, no refusal at the edge, and what that costs.

- *wall*: RED tuned for each phase of both example scenarios and for ten networks drawn at random,
  to hold its queue at the target: with the bounds of harm, without them, and drop-tail with its
  best limit. What each gains against RED as published, and what the flows get; and what the check
  of the neighbourhood says of each recommendation.
- *edge*: fifty tunings whose optimum lies on a constraint: how many end in a recommendation that is
  proven, how many of these keep it on other seeds, and how far they are from the best known.

    .venv/bin/python benches/decisions.py [--part wall|edge] [--seed N] [--results FILE]

All settings are measured on seeds that no tuning has met. Tables go to
`docs/figures/decisions_*.txt`, which docs/laboratory/decisions.md includes. Networks of *wall* that
the file of results holds are not measured again, so that an interrupted benchmark goes on where it
stood; remove the file to measure anew. The on-line loop has its own: `benches/online_ablation.py`.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provenance import commit_of, made_by

import vermilion
from vermilion.objectives import constraints_of, objective_of
from vermilion.objectives.price import price_of
from vermilion.scenario import scenario_from_document
from vermilion.simulate import mean_interval, run_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.scenario import Scenario
    from vermilion.simulate.statistics import Interval
    from vermilion.tuning import Recommendation

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
RESULTS = Path(__file__).parent / "results"
RAW = argparse.RawDescriptionHelpFormatter
LINK = "links.bottleneck"
TUNED = ("min_threshold", "max_threshold", "max_probability", "weight")
FIRST_FRESH_SEED = 4_000_000
FRESH = range(FIRST_FRESH_SEED, FIRST_FRESH_SEED + 20)
SENDERS: tuple[Any, ...] = (
    "newreno",
    "reno",
    "sack",
    {"congestion_control": "cubic", "option_set": "linux"},
)
NETWORKS = 10
BUDGET = 400
JAIN_MARGIN = 0.05
EDGE_SEEDS = 10
EDGE_FRESH = range(FIRST_FRESH_SEED, FIRST_FRESH_SEED + 40)
EDGE_BUDGET = 400
EDGE_REFERENCE_BUDGET = 1200
NEAR = 1.10


def network(
    title: str,
    *,
    rate_mbit: float,
    flows: int,
    rtt: str,
    sender: Any,  # noqa: ANN401 - a name or a table
    target: float,
    packet: int = 1000,
    seconds: float = 35.0,
    tuning: Mapping[str, Any] | None = None,
) -> Scenario:
    """One link under RED as published, for a target of so many packets."""
    scale = target / 30.0
    return scenario_from_document(
        {
            "title": title,
            "duration": f"{seconds:g} s",
            "warm_up": "5 s",
            "links": {
                "bottleneck": {
                    "rate": f"{rate_mbit:g} Mbit/s",
                    "delay": "1 ms",
                    "queue": {
                        "discipline": "red",
                        "limit": f"{math.ceil(100 * scale)} packets",
                        "min_threshold": f"{15 * scale:g} packets",
                        "max_threshold": f"{45 * scale:g} packets",
                        "max_probability": 0.1,
                        "weight": 0.002,
                    },
                }
            },
            "flows": {
                "all": {
                    "count": flows,
                    "path": ["bottleneck"],
                    "rtt": rtt,
                    "sender": sender,
                    "packet_size": f"{packet} bytes",
                    "start": "0 s .. 1 s",
                }
            },
            "tuning": {
                "parameters": [f"{LINK}.queue.{name}" for name in TUNED],
                "objective": {
                    "name": "queue-deviation",
                    "link": "bottleneck",
                    "target": f"{target:g} packets",
                },
                **(tuning or {}),
            },
        },
        title,
    )


def phases() -> list[Scenario]:
    """The networks of the example scenarios' phases, each alone."""
    return [
        network(
            f"{flows} flows, {rtt} ms",
            rate_mbit=10.0,
            flows=flows,
            rtt=f"{rtt} ms",
            sender="newreno",
            target=30.0,
        )
        for flows, rtt in ((16, 28), (64, 28), (16, 180))
    ]


def drawn(seed: int) -> list[Scenario]:
    """Networks drawn at random: 5 to 100 Mbit/s, 4 to 128 flows, 10 to 200 ms, four senders."""
    draw = random.Random(seed)  # noqa: S311 - networks, not secrets
    found = []
    for _ in range(NETWORKS):
        rate = math.exp(draw.uniform(math.log(5.0), math.log(100.0)))
        flows = round(math.exp(draw.uniform(math.log(4.0), math.log(128.0))))
        rtt = math.exp(draw.uniform(math.log(10.0), math.log(200.0)))
        sender = draw.choice(SENDERS)
        delay = draw.choice((10.0, 20.0, 30.0))
        target = max(10.0, delay * rate / 8.0)
        name = sender if isinstance(sender, str) else sender["congestion_control"]
        found.append(
            network(
                f"{rate:.0f} Mbit/s, {flows} flows, {rtt:.0f} ms, {name}, {target:.0f} packets",
                rate_mbit=rate,
                flows=flows,
                rtt=f"{0.9 * rtt:.3f} ms .. {1.1 * rtt:.3f} ms",
                sender=sender,
                target=target,
            )
        )
    return found


@dataclass(frozen=True)
class Reached:
    """What a setting reaches on the fresh seeds: the objective and the price, seed by seed."""

    objective: Sequence[float]
    price: Mapping[str, Sequence[float]]


def reached(scenario: Scenario, like: Scenario | None = None) -> Reached:
    """Measures a scenario as it is, by the objective of another one if that is given."""
    objective = objective_of(like or scenario)
    [row] = run_many([scenario], FRESH)
    results = [result for result in row if result is not None]
    prices = [price_of(result, "bottleneck", "total") for result in results]
    return Reached(
        [objective.measure(result) for result in results],
        {name: [price[name] for price in prices] for name in prices[0]},
    )


def difference(one: Sequence[float], other: Sequence[float]) -> Interval:
    """One less the other, seed by seed."""
    return mean_interval(a - b for a, b in zip(one, other, strict=True))


def measured(scenario: Scenario, seed: int) -> dict[str, Any]:
    """What *wall* tells of a network: tuned with the bounds of harm and without them."""
    before = reached(scenario)
    rows = {"RED as published": before}
    bounded = vermilion.tune(scenario, seed=seed, budget=BUDGET)
    rows["tuned"] = reached(scenario.with_values(dict(bounded.chosen)))
    free = vermilion.tune(
        scenario, seed=seed, budget=BUDGET, harm=["none"], rivals=False, exactly=True
    )
    rows["tuned, harm allowed"] = reached(scenario.with_values(dict(free.chosen)))
    for rival in bounded.rivals:
        name = rival.label.partition(",")[0]
        replaced = scenario.with_values({f"{LINK}.queue.discipline": name.lower()})
        rows[rival.label] = reached(replaced.with_values(dict(rival.parameters)), scenario)
    jain = difference(rows["tuned"].price["jain_index"], before.price["jain_index"])
    starved = difference(rows["tuned"].price["starved"], before.price["starved"])
    return {
        "network": scenario.title,
        "seed": seed,
        "version": vermilion.__version__,
        "rows": [
            f"| {scenario.title} | {label} | {_cells(row, before)} |" for label, row in rows.items()
        ],
        "jain_index": [jain.low, jain.mean, jain.high],
        "starved": [starved.low, starved.mean, starved.high],
    }


def wall(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table of *wall*."""
    lost = [row["network"] for row in rows if row["jain_index"][2] < -JAIN_MARGIN]
    further = [row["starved"][1] for row in rows]
    beyond = [row["network"] for row in rows if row["starved"][0] > 1.0]
    said = (
        f"{len(rows)} networks, {len(FRESH)} fresh seeds each, 95 % intervals. Tuned with the "
        f"defaults, {len(lost)} lose significantly more than {JAIN_MARGIN} of Jain's index, and "
        f"{len(beyond)} significantly more than one flow; further starved flows: "
        f"{statistics.fmean(further):+.2f} on average, {max(further):+.2f} at most."
    )
    heading = (
        "| network | setting | squared deviation | times less | Jain's index | starved flows | "
        "slowest flow | packets dropped |"
    )
    rule = "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    return "\n".join([said, "", heading, rule, *(line for row in rows for line in row["rows"])])


def measured_networks(seed: int, results: Path) -> list[dict[str, Any]]:
    """All networks of *wall*; what the file of results holds already is not measured again."""
    known = {}
    if results.exists():
        for text in results.read_text(encoding="utf-8").splitlines():
            row = json.loads(text)
            known[row["network"], row["seed"]] = row
    found = []
    for scenario in (*phases(), *drawn(seed)):
        key = (scenario.title, seed)
        if key not in known:
            known[key] = measured(scenario, seed) | {"commit": commit_of("benches/decisions.py")}
            with results.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(known[key])}\n")
            say(known[key]["rows"])
        found.append(known[key])
    return found


def _cells(row: Reached, before: Reached) -> str:
    price = {name: statistics.fmean(values) for name, values in row.price.items()}
    gain = statistics.fmean(before.objective) / statistics.fmean(row.objective)
    jain = mean_interval(row.price["jain_index"])
    return " | ".join(
        [
            f"{statistics.fmean(row.objective):.1f}",
            f"{gain:.1f}",
            f"{jain.mean:.3f} ± {jain.half_width:.3f}",
            f"{price['starved']:.1f}",
            f"{price['slowest_share']:.2f}",
            f"{100 * price['drop_rate']:.1f} %",
        ]
    )


def edges() -> list[Scenario]:
    """Networks whose least delay lies where a constraint begins to be broken."""
    least_delay = {"name": "sojourn-percentile", "link": "bottleneck", "percentile": 95}

    def aim(*constraints: str) -> dict[str, Any]:
        return {"objective": least_delay, "constraints": list(constraints)}

    return [
        network(
            "80 SACK flows, 100 Mbit/s, utilisation at least 97 %",
            rate_mbit=100.0,
            seconds=15.0,
            flows=80,
            rtt="20 ms .. 140 ms",
            sender="sack",
            target=100.0,
            tuning=aim(f"{LINK}.utilization >= 0.97"),
        ),
        network(
            "8 NewReno flows, 10 Mbit/s, utilisation at least 95 %",
            rate_mbit=10.0,
            flows=8,
            rtt="90 ms .. 110 ms",
            sender="newreno",
            target=30.0,
            tuning=aim(f"{LINK}.utilization >= 0.95"),
        ),
        network(
            "20 CUBIC flows, 50 Mbit/s, 98 % of the goodput of now",
            rate_mbit=50.0,
            seconds=20.0,
            flows=20,
            rtt="36 ms .. 44 ms",
            sender=SENDERS[-1],
            target=60.0,
            tuning=aim("flows.*.goodput_bit_per_s.total >= 0.98 of reference"),
        ),
        network(
            "32 NewReno flows, 10 Mbit/s, at most 8 % dropped",
            rate_mbit=10.0,
            flows=32,
            rtt="36 ms .. 44 ms",
            sender="newreno",
            target=30.0,
            tuning=aim(f"{LINK}.drop_rate <= 8 %"),
        ),
        network(
            "24 SACK flows, 30 Mbit/s, least drops, 95 % wait at most 12 ms",
            rate_mbit=30.0,
            seconds=20.0,
            flows=24,
            rtt="40 ms .. 80 ms",
            sender="sack",
            target=40.0,
            tuning={
                "objective": {"name": "drop-rate", "link": "bottleneck"},
                "constraints": [f"{LINK}.sojourn_ms.p95 <= 12 ms"],
            },
        ),
    ]


@dataclass(frozen=True)
class OnFreshSeeds:
    """What a recommendation does on seeds that no tuning has met.

    Attributes:
        choosing: the objective's mean over half of them, by which the best is chosen.
        judging: the same over the other half, by which all are judged. The best of many is the
            luckiest of them too, on the seeds that it was chosen by.
        keeps: whether the mean over all of them keeps every constraint that was asked for.
    """

    choosing: float
    judging: float
    keeps: bool


def on_fresh_seeds(scenario: Scenario, found: Recommendation) -> OnFreshSeeds:
    """Measures a recommendation again."""
    objective = objective_of(scenario)
    asked = constraints_of(scenario, objective)
    rows = run_many([scenario.with_values(dict(found.chosen)), scenario], EDGE_FRESH)
    [mine, now] = [[result for result in row if result is not None] for row in rows]
    values = [objective.measure(result) for result in mine]
    keeps = all(
        statistics.fmean(margin) >= 0.0
        for constraint in asked
        for margin in zip(
            *(
                [
                    0.0 if each is None else each
                    for each in constraint.margins(constraint.values(one), constraint.values(other))
                ]
                for one, other in zip(mine, now, strict=True)
            ),
            strict=True,
        )
    )
    half = len(EDGE_FRESH) // 2
    return OnFreshSeeds(statistics.fmean(values[:half]), statistics.fmean(values[half:]), keeps)


def edge(seed: int) -> str:
    """The table of *edge*."""
    lines = [
        (
            "| network | tunings | proven | kept on fresh seeds | within a tenth of the best | "
            "median, of the best | worst |"
        ),
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    proven, kept, near, total = 0, 0, 0, 0
    for scenario in edges():
        found = [
            vermilion.tune(
                scenario,
                seed=seed + 1000 * number,
                budget=EDGE_BUDGET,
                rivals=False,
                exactly=True,
            )
            for number in range(EDGE_SEEDS)
        ]
        known = vermilion.tune(
            scenario,
            seed=seed + 900_000,
            budget=EDGE_REFERENCE_BUDGET,
            rivals=False,
            exactly=True,
        )
        accepted = [on_fresh_seeds(scenario, each) for each in found if each.accepted]
        others = [on_fresh_seeds(scenario, known)] if known.accepted else []
        choice = [each for each in (*accepted, *others) if each.keeps]
        best = min(choice, key=lambda each: each.choosing).judging if choice else math.nan
        ratios = [each.judging / best for each in accepted]
        close = sum(ratio <= NEAR for ratio in ratios)
        held = sum(each.keeps for each in accepted)
        lines.append(
            f"| {scenario.title} | {len(found)} | {len(accepted)} | {held} | {close} | "
            f"{statistics.median(ratios or [math.nan]):.3f} | {max(ratios, default=math.nan):.3f} |"
        )
        say(lines[-1:])
        proven, near, total = proven + len(accepted), near + close, total + len(found)
        kept += held
    said = (
        f"{total} tunings of {EDGE_BUDGET} settings: {proven} end in a proven recommendation, "
        f"{near} of them within a tenth of the best that any, or one of {EDGE_REFERENCE_BUDGET} "
        f"settings, has proven. They are measured on {len(EDGE_FRESH)} seeds that no tuning has "
        f"met; on these {kept} keep their constraint on average. The best is chosen by half of "
        "these seeds, and all are judged by the other half."
    )
    return "\n".join([said, "", *lines])


def say(lines: Sequence[str]) -> None:
    """Tells whoever waits."""
    print("\n".join(lines), flush=True)


def main() -> None:
    """Both parts, or one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=RAW)
    parser.add_argument("--part", choices=("wall", "edge"), action="append")
    parser.add_argument("--seed", type=int, default=1, help="of the networks and the tunings")
    parser.add_argument("--results", type=Path, default=RESULTS / "decisions.jsonl")
    parser.add_argument("--tables", type=Path, default=FIGURES)
    given = parser.parse_args()
    parts = given.part or ["wall", "edge"]
    texts: dict[str, str] = {}
    if "wall" in parts:
        given.results.parent.mkdir(parents=True, exist_ok=True)
        rows = measured_networks(given.seed, given.results)
        made = made_by("benches/decisions.py", rows)
        texts |= {name: f"{text}\n\n{made}" for name, text in (("wall", wall(rows)),)}
    if "edge" in parts:
        texts["edge"] = f"{edge(given.seed)}\n\n{made_by('benches/decisions.py')}"
    for name, text in texts.items():
        (given.tables / f"decisions_{name}.txt").write_text(f"{text}\n", encoding="utf-8")
        say([text])


if __name__ == "__main__":
    main()
