"""Shows how often the check around the conditions cries wolf, and whether it sees one.

- *1 % changed*: one parameter of a queue. Whatever a check calls worse there is a false alarm,
  unless twenty other seeds say it too: the deviation of a queue that stands still is easily moved.
- *Real harm*: settings that break a bound by far: by twenty other seeds even with twice the margin.

    .venv/bin/python benches/robustness.py

"By the mean" is the rule of before: the mean of five seeds decides about a bound, and 95 % about
the objective. Networks are those of `benches/decisions.py`, 15 s long. The table goes to
`docs/figures/robustness_errors.txt`, which docs/laboratory/robustness.md includes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from decisions import FIGURES, TUNED, network
from provenance import made_by

from vermilion.objectives import Constraint, constraints_of, objective_of
from vermilion.objectives.harm import harm_bounds
from vermilion.tuning.memory import RememberedRuns, RunsOfNow
from vermilion.tuning.robustness import Robustness, check_robustness

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.scenario import Scenario

SCRIPT = "benches/robustness.py"
QUEUE = "links.bottleneck.queue"
CUBIC = {"congestion_control": "cubic", "option_set": "linux"}
NETWORKS = ((16, 28, "newreno"), (64, 28, "newreno"), (16, 180, "newreno"), (64, 28, CUBIC))
PUBLISHED = (15.0, 45.0, 0.1, 0.002)
WALL = (18.8, 30.0, 0.0037, 0.29)
"""RED tuned for 64 flows of 28 ms without bounds of harm: fairness is left to chance behind it."""

HARMFUL = (WALL, (2.0, 4.0, 1.0, 0.5), (4.0, 30.0, 0.5, 0.002))
DOUBLED = (
    "flows.*.goodput_bit_per_s.total >= 0.96 of reference",
    "flows.*.jain_index >= reference - 0.1",
    "flows.*.starved <= reference + 2",
    "links.bottleneck.drop_rate <= 1.5 of reference + 0.04",
)
REPEATS = 2
MEMORY = RunsOfNow()
FRESH = range(5_000_000, 5_000_020)


def networks() -> list[Scenario]:
    """The networks, each of them short."""
    return [
        network(
            f"{flows} flows, {trip} ms",
            rate_mbit=10.0,
            flows=flows,
            rtt=f"{trip} ms",
            sender=sender,
            target=30.0,
            seconds=15.0,
        )
        for flows, trip, sender in NETWORKS
    ]


def setting(values: Sequence[float]) -> dict[str, float]:
    """Values of the tuned parameters by path."""
    return {f"{QUEUE}.{name}": value for name, value in zip(TUNED, values, strict=True)}


def checked(
    scenario: Scenario,
    pair: tuple[Mapping[str, float], Mapping[str, float]],
    seeds: Sequence[int],
    further: Sequence[int] | None = None,
    bounds: Sequence[Constraint] | None = None,
) -> Robustness:
    """What the check says of the first of two settings."""
    best, incumbent = pair
    objective = objective_of(scenario)
    held = [*constraints_of(scenario, objective)]
    held += harm_bounds(scenario, ["bottleneck"], objectives=[objective])
    held = held if bounds is None else list(bounds)
    return check_robustness(
        scenario,
        list(best),
        dict(best),
        dict(incumbent),
        objective,
        held,
        seeds=seeds,
        further_seeds=further,
        workers=RememberedRuns(MEMORY, None, None),
        least_loss=objective.least_gain(0.0),
    )


def by_mean(found: Robustness, least: float) -> set[str]:
    """Where the rule of before sees a loss; of a check that has met no further seeds."""
    return {
        each.key
        for each in found.outcomes
        if any(verdict.violation > 0.0 for verdict in each.constraints)
        or (
            each.difference is not None
            and each.incumbent is not None
            and (each.difference.low or 0.0) > 0.0
            and each.difference.mean > max(found.margin * abs(each.incumbent.mean), least)
        )
    }


def tally(found: Robustness, truth: set[str], worse: set[str], doubts: set[str]) -> Counter[str]:
    """What one check adds to a row."""
    return Counter(
        {
            "checks": 1,
            "worse": bool(worse),
            "doubtful": bool(doubts),
            "harmed": len(truth),
            "called worse": len(truth & worse),
            "in doubt": len(truth & doubts),
            "simulations": found.simulations,
        }
    )


def measured() -> tuple[dict[str, Counter[str]], dict[str, Counter[str]]]:
    """Counts of both rules, where nothing has changed and where harm is done."""
    unchanged, harmed = ({"before": Counter(), "now": Counter()} for _ in range(2))
    doubled = [replace(Constraint.parse(text), of_harm=True) for text in DOUBLED]
    first = 1
    for scenario in networks():
        least = objective_of(scenario).least_gain(0.0)
        pairs = []
        for values in (PUBLISHED, WALL):
            for place in range(len(values)):
                near = [*values]
                near[place] *= 1.01
                pairs.append((unchanged, (setting(near), setting(values))))
        pairs += [(harmed, (setting(each), setting(PUBLISHED))) for each in HARMFUL]
        for counts, pair in pairs:
            truth: set[str] = set()
            if counts is harmed:
                far = checked(scenario, pair, FRESH, (), doubled)
                truth = {each.key for each in far.outcomes if each.breaks is not None}
            for _ in range(REPEATS if counts is unchanged or truth else 0):
                first += 100
                seeds = range(first, first + 5)
                short, found = checked(scenario, pair, seeds, ()), checked(scenario, pair, seeds)
                worse = {each.key for each in found.lost}
                mean = by_mean(short, least)
                if counts is unchanged and mean | worse:
                    real = by_mean(checked(scenario, pair, FRESH, ()), least)
                    mean, worse = mean - real, worse - real
                doubts = {each.key for each in found.doubtful}
                counts["before"] += tally(short, truth, mean, set())
                counts["now"] += tally(found, truth, worse, doubts)
    return unchanged, harmed


def main() -> None:
    """Measures and writes the table."""
    heads = ("what", "rule", "checks", "worse somewhere", "may be worse somewhere")
    heads = (*heads, "harmed by far", "of these called worse", "in doubt", "simulations a check")
    lines = [f"| {' | '.join(heads)} |", f"| --- | --- |{' ---: |' * (len(heads) - 2)}"]
    for what, counts in zip(("1 % changed", "real harm"), measured(), strict=True):
        for rule, name in (("before", "by the mean"), ("now", "as now")):
            row = counts[rule]
            cells = [row[key] for key in ("checks", "worse", "doubtful", "harmed", "called worse")]
            cells += [row["in doubt"], round(row["simulations"] / max(1, row["checks"]))]
            lines.append(f"| {what} | {name} | {' | '.join(map(str, cells))} |")
    text = "\n".join([*lines, "", made_by(SCRIPT), ""])
    (FIGURES / "robustness_errors.txt").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
