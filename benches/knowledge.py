"""How much of the full monitor's improvement is left with a flow count, and with counters only.

    .venv/bin/python benches/knowledge.py [--seeds 5] [--results FILE]
    .venv/bin/python benches/knowledge.py --table [--results FILE]

Keeps both example scenarios tuned with each kind of knowledge and compares what the operator asked
for, measured on the network, with the same network and seed left alone. The improvement is the
natural logarithm of the ratio alone / tuned, so that 0 is no improvement and 0.69 is half the
deviation; it is taken over the whole run after the warm-up, without the seconds in which flows come
and go, and for the last phase of all, for which there is most time. Searches try a fixed number of
settings, so that the same command gives the same numbers. What the results hold already is not run
again; a run takes half a minute or less.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, get_args

from provenance import commit_of, made_by

import vermilion
from vermilion.objectives import objective_of
from vermilion.objectives.price import price_of
from vermilion.online import run_online
from vermilion.routers.base import Knowledge
from vermilion.simulate.statistics import mean_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.simulate import Result

SCENARIOS: Final = ("varying-load", "varying-round-trip-time")
RESULTS: Final = Path(__file__).parent / "results" / "online-knowledge.jsonl"
TABLE: Final = Path(__file__).parents[1] / "docs" / "figures" / "online_knowledge.txt"
EVALUATIONS: Final = 250
REQUIRED: Final = 0.5
"""Of the full monitor's improvement, what counters alone have to reach."""
PRICED: Final = ("goodput_bit_per_s.total", "starved", "slowest_share")


def main() -> None:
    """Runs what is missing, or writes the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS)
    parser.add_argument("--table", action="store_true", help="write the table and print it")
    given = parser.parse_args()
    rows = load(given.results)
    if given.table:
        text = f"{table(rows)}\n{made_by('benches/knowledge.py', rows)}\n"
        TABLE.write_text(text, encoding="utf-8")
        sys.stdout.write(text)
        return
    known = {(row["scenario"], row["knowledge"], row["seed"]) for row in rows}
    given.results.parent.mkdir(parents=True, exist_ok=True)
    for seed in range(1, given.seeds + 1):
        for scenario in SCENARIOS:
            for knowledge in get_args(Knowledge):
                if (scenario, knowledge, seed) in known:
                    continue
                row = measure(scenario, knowledge, seed, given.evaluations)
                row["commit"] = commit_of("benches/knowledge.py")
                with given.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row, separators=(",", ":")) + "\n")
                sys.stderr.write(
                    f"{scenario} {knowledge} {seed}: {row['whole']:.2f}, last phase "
                    f"{row['last']:.2f}, {row['pushes']} pushes, {row['cpu_s']:.0f} CPU s\n"
                )


def load(file: Path) -> list[dict[str, Any]]:
    """The rows of a file of results; none if there is no such file."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def measure(name: str, knowledge: Knowledge, seed: int, evaluations: int) -> dict[str, Any]:
    """One run, beside the network left alone.

    Args:
        name: of the scenario.
        knowledge: what the controller is told.
        seed: of the network.
        evaluations: settings that each search tries.
    """
    begun = time.process_time()
    run = run_online(
        vermilion.load_scenario(name),
        seed=seed,
        clock="fixed",
        evaluations=evaluations,
        knowledge=knowledge,
    )
    tuned, alone = costs(run.tuned, name), costs(run.reference, name)
    kinds: dict[str, int] = {}
    for decision in run.decisions:
        kinds[decision.kind] = kinds.get(decision.kind, 0) + 1
    return {
        "scenario": name,
        "knowledge": knowledge,
        "seed": seed,
        "whole": math.log(weighted(alone) / weighted(tuned)),
        "last": math.log(alone[-1][1] / tuned[-1][1]),
        "pushes": len(run.settings) - 1,
        "decisions": kinds,
        "price": {
            name: [price_of(each, run.link).get(name) for each in (run.reference, run.tuned)]
            for name in PRICED
        },
        "cpu_s": round(time.process_time() - begun, 1),
    }


def costs(result: Result, name: str) -> list[tuple[float, float]]:
    """(seconds, the operator's objective) of each phase."""
    objective = objective_of(vermilion.load_scenario(name))
    [link] = objective.links
    return [
        (phase["end_s"] - phase["start_s"], objective.value(phase))
        for phase in result.link(link).phases
        if phase["end_s"] > phase["start_s"]
    ]


def weighted(phases: Sequence[tuple[float, float]]) -> float:
    """The mean over the phases, by their length."""
    return math.fsum(s * value for s, value in phases) / math.fsum(s for s, _ in phases)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """What was measured, and how much of the full monitor's improvement is left."""
    lines = [
        (
            "| network | what is known | improvement, ln(alone / tuned) | of the full monitor's "
            "| last phase | of the full monitor's | pushes | goodput, tuned by alone "
            "| starved flows, alone and tuned |"
        ),
        f"|{'---|' * 9}",
    ]
    for scenario in SCENARIOS:
        full = [row for row in rows if (row["scenario"], row["knowledge"]) == (scenario, "full")]
        for knowledge in get_args(Knowledge):
            mine = [
                row for row in rows if (row["scenario"], row["knowledge"]) == (scenario, knowledge)
            ]
            if not mine or not full:
                continue
            cells = [f"`{scenario}`" if knowledge == "full" else "", knowledge]
            for which in ("whole", "last"):
                share = fmean(row[which] for row in mine) / fmean(row[which] for row in full)
                cells += [interval([row[which] for row in mine]), f"{share:.2f}"]
            goodput = fmean(
                tuned / alone
                for row in mine
                for alone, tuned in [row["price"]["goodput_bit_per_s.total"]]
            )
            starved = [fmean(row["price"]["starved"][place] for row in mine) for place in (0, 1)]
            cells += [
                f"{fmean(row['pushes'] for row in mine):.1f}",
                f"{goodput:.3f}",
                f"{starved[0]:.1f}, {starved[1]:.1f}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    seeds = sorted({row["seed"] for row in rows})
    said = (
        f"Seeds {seeds[0]} to {seeds[-1]}, means with 95 % intervals; {EVALUATIONS} settings "
        f"tried per search. Asked for: counters alone reach {REQUIRED:g} of the full monitor's "
        "improvement."
    )
    lines += ["", said]
    return "\n".join(lines) + "\n"


def interval(values: Sequence[float]) -> str:
    """A mean with its half width."""
    found = mean_interval(list(values))
    width = "" if found.half_width is None else f" +- {found.half_width:.2f}"
    return f"{found.mean:.2f}{width}"


if __name__ == "__main__":
    main()
