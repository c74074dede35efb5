"""What the on-line loop owes to some of its parts: without each, on the same networks and seeds.

- *no harm*: with `harm = ["none"]`, as an operator would write it, any price may be paid;
- *first guesses*: searches begin with no shapes that are known to be good;
- *ramps*: of these shapes, none is a ramp through the target;
- *newcomers*: those who must not be harmed are there from the beginning;
- *within bounds*: where the best of a search breaks a bound on fresh seeds, nothing else is tried.

    .venv/bin/python benches/online_ablation.py [--seeds N] [--evaluations N] [--results FILE]
    .venv/bin/python benches/online_ablation.py --arms ramps,newcomers,within [...]

Both example scenarios and four of the networks of `benches/online.py`, one for each way in which
a short queue can cost something: many flows, more and fewer of them, near and far ones together,
senders of different kinds. `--clock fixed`: the same command gives the same numbers on every
machine. What is measured is measured on the network, over its phases, and compared seed by seed
with the loop as it is; the network left alone stands beside it.

The tables go to `docs/figures/decisions_online.txt`, which docs/laboratory/decisions.md includes.
Runs that the file of results holds are not made again, so that an interrupted benchmark goes on
where it stood; remove the file after a change of the loop.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections import Counter
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from online_networks.known import NETWORKS_BY_NAME
from provenance import commit_of, made_by

import vermilion
from vermilion.objectives import objective_of
from vermilion.objectives.price import price_of
from vermilion.online import run_online
from vermilion.online.model import possibilities
from vermilion.online.plan import search, settings, solve
from vermilion.scenario import scenario_from_document
from vermilion.simulate import mean_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from vermilion.scenario import Scenario
    from vermilion.simulate import Result

Row = dict[str, Any]

RESULTS = Path(__file__).parent / "results" / "online_ablation.jsonl"
TABLE = Path(__file__).parents[1] / "docs" / "figures" / "decisions_online.txt"
EXAMPLES = ("varying-load", "varying-round-trip-time")
NETWORKS = ("steady-64-flows-10-mbit", "load-up-down", "near-and-far", "mixed-senders")
SEEDS = 5
EVALUATIONS = 250
AS_IT_IS: Final = "as it is"
NO_BOUNDS: Final = "harm allowed"
NO_GUESSES: Final = "no first guesses"
WITHOUT: Final = {
    "harm": NO_BOUNDS,
    "guesses": NO_GUESSES,
    "ramps": "no ramps",
    "newcomers": "no newcomers",
    "within": "no others within bounds",
}
"""The arms of the experiment, by what they do without."""
WORDS: Final = {
    "harm": "no harm",
    "guesses": "first guesses",
    "ramps": "ramps",
    "newcomers": "newcomers",
    "within": "within bounds",
}
ARMS: Final = (AS_IT_IS, *WITHOUT.values())
ALONE: Final = "left alone"
SHOWN: Final = ("jain_index", "starved", "goodput_bit_per_s.total", "sojourn_ms.p95", "drop_rate")
RAW = argparse.RawDescriptionHelpFormatter


def scenario_of(name: str, arm: str) -> Scenario:
    """A network as an arm of the experiment has it."""
    if name in EXAMPLES:
        document = dict(vermilion.load_scenario(name).document)
    else:
        document = dict(NETWORKS_BY_NAME[name].document)
    if arm == NO_BOUNDS:
        document["tuning"] = {**document["tuning"], "harm": ["none"]}
    return scenario_from_document(document, name)


@contextmanager
def switched_off(arm: str) -> Iterator[None]:
    """The controller without what the arm does without."""
    place, name, instead = {
        NO_GUESSES: (solve, "first_guesses", lambda *_: []),
        WITHOUT["ramps"]: (settings, "_RAMPS", ()),
        WITHOUT["newcomers"]: (possibilities, "_JOINING", 0.0),
        WITHOUT["within"]: (search, "best_within_bounds", lambda *_: None),
    }.get(arm, (None, "", None))
    if place is None:
        yield
        return
    usual = getattr(place, name)
    setattr(place, name, instead)
    try:
        yield
    finally:
        setattr(place, name, usual)


def measured(name: str, arm: str, seed: int, evaluations: int = EVALUATIONS) -> list[Row]:
    """One run, and beside the loop as it is, the network left alone."""
    scenario = scenario_of(name, arm)
    begun = time.process_time()
    with switched_off(arm):
        run = run_online(scenario, seed=seed, clock="fixed", evaluations=evaluations)
    spent = time.process_time() - begun
    link = run.link
    applied = sum(each.kind == "applied" for each in run.decisions)
    own = {
        "network": name,
        "seed": seed,
        "evaluations": evaluations,
        "cpu_s": round(spent, 1),
        "changes": applied,
        "commit": commit_of("benches/online_ablation.py"),
    }
    rows = [{**own, "arm": arm, **_reached(scenario, run.tuned, link)}]
    if arm == AS_IT_IS:
        rows.append({**own, "arm": ALONE, "changes": 0, **_reached(scenario, run.reference, link)})
    return rows


def _reached(scenario: Scenario, result: Result, link: str) -> Row:
    price = price_of(result, link)
    return {"deviation": objective_of(scenario).measure(result), **{n: price[n] for n in SHOWN}}


def table(rows: Sequence[Row]) -> str:
    """What the protections give and cost, network by network, and seed by seed over all."""
    by = {(row["network"], row["arm"], row["seed"]): row for row in rows}
    names = [n for n in (*EXAMPLES, *NETWORKS) if any(row["network"] == n for row in rows)]
    heading = (
        "| network | the loop | squared deviation | times less than alone | Jain's index | starved "
        "flows | goodput, Mbit/s | p95 wait, ms | dropped | changes |"
    )
    lines = [
        heading,
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name in names:
        for arm in (ALONE, *ARMS):
            own = [row for key, row in sorted(by.items()) if key[:2] == (name, arm)]
            if own:
                alone = [by[name, ALONE, row["seed"]] for row in own]
                lines.append(f"| {name} | {arm} | {_cells(own, alone)} |")
    said = (
        f"{len(names)} networks, searches of {rows[0]['evaluations']} settings (`--clock fixed`); "
        "means over the phases, with 95 % intervals over the seeds. Seeds of each network: "
        f"{_seeds_of(rows)}."
    )
    return "\n".join([said, "", *lines, "", *_differences(by, names)])


def _seeds_of(rows: Sequence[Row]) -> str:
    """How many seeds each arm has, network by network, in words."""
    told = []
    for arm in ARMS:
        counts = Counter(row["network"] for row in rows if row["arm"] == arm)
        if counts:
            least, most = min(counts.values()), max(counts.values())
            told.append(f"{arm} {most if least == most else f'{least} to {most}'}")
    return ", ".join(told)


def _cells(own: Sequence[Row], alone: Sequence[Row]) -> str:
    times = _geometric(b["deviation"] / a["deviation"] for a, b in zip(own, alone, strict=True))
    return " | ".join(
        [
            f"{statistics.fmean(row['deviation'] for row in own):.1f}",
            times,
            _mean((row["jain_index"] for row in own), ".3f"),
            _mean((row["starved"] for row in own), ".1f"),
            _mean((row["goodput_bit_per_s.total"] / 1e6 for row in own), ".2f"),
            _mean((row["sojourn_ms.p95"] for row in own), ".1f"),
            _mean((100.0 * row["drop_rate"] for row in own), ".1f") + " %",
            f"{statistics.fmean(row['changes'] for row in own):.1f}",
        ]
    )


def _differences(by: Mapping[tuple[str, str, int], Row], names: Sequence[str]) -> list[str]:
    """Without a protection less with it, seed by seed."""
    said = (
        "Without each, against the loop as it is, seed by seed; a star marks what differs "
        "significantly (95 %):"
    )
    heading = (
        "| network | without | squared deviation, times | Jain's index | starved flows | goodput | "
        "p95 wait, ms |"
    )
    lines = [
        said,
        "",
        heading,
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for arm, words in ((WITHOUT[each], WORDS[each]) for each in WITHOUT):
        everywhere: list[tuple[Row, Row]] = []
        for name in names:
            pairs = [
                (row, by[name, AS_IT_IS, seed])
                for (of, which, seed), row in sorted(by.items())
                if of == name and which == arm and (name, AS_IT_IS, seed) in by
            ]
            if pairs:
                lines.append(f"| {name} | {words} | {_compared(pairs)} |")
            everywhere += pairs
        if everywhere:
            lines.append(f"| *all runs* | {words} | {_compared(everywhere)} |")
    return lines


def _compared(pairs: Sequence[tuple[Row, Row]]) -> str:
    def less(name: str, factor: float = 1.0) -> list[float]:
        return [factor * (off[name] - on[name]) for off, on in pairs]

    goodput = "goodput_bit_per_s.total"
    shares = [100.0 * (off[goodput] / on[goodput] - 1.0) for off, on in pairs]
    return " | ".join(
        [
            _geometric((off["deviation"] / on["deviation"] for off, on in pairs), star=True),
            _mean(less("jain_index"), "+.3f", star=True),
            _mean(less("starved"), "+.1f", star=True),
            _mean(shares, "+.2f", star=True).replace(" ±", " % ±"),
            _mean(less("sojourn_ms.p95"), "+.1f", star=True),
        ]
    )


def _mean(values: Iterable[float], form: str, *, star: bool = False) -> str:
    found = mean_interval(values)
    width = "" if found.half_width is None else f" ± {found.half_width:{form.lstrip('+')}}"
    return f"{found.mean:{form}}{width}{'*' if star and found.excludes(0.0) else ''}"


def _geometric(ratios: Iterable[float], *, star: bool = False) -> str:
    """The geometric mean of ratios, with an interval that is one of their logarithms."""
    found = mean_interval(math.log(each) for each in ratios)
    if found.low is None or found.high is None:
        return f"{math.exp(found.mean):.3g}"
    mark = "*" if star and found.excludes(0.0) else ""
    ends = f"{math.exp(found.low):.3g} .. {math.exp(found.high):.3g}"
    return f"{math.exp(found.mean):.3g} ({ends}){mark}"


def load(file: Path) -> list[Row]:
    """The rows of a file of results; none if there is no such file."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    """Runs what is missing, and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=RAW)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS, help="of each search")
    parser.add_argument("--networks", default="*", help="a pattern of names")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--arms", default=",".join(WITHOUT), help="what is done without")
    given = parser.parse_args()
    asked = given.arms.split(",")
    if not set(asked) <= set(WITHOUT):
        parser.error(f"--arms takes some of {', '.join(WITHOUT)}, not {given.arms!r}")
    without = [WITHOUT[each] for each in asked]
    given.results.parent.mkdir(parents=True, exist_ok=True)
    rows = [r for r in load(given.results) if r["evaluations"] == given.evaluations]
    known = {(row["network"], row["arm"], row["seed"]) for row in rows}
    # All networks with a seed before any with the next: an interrupted benchmark has pairs.
    runs = [
        (name, arm, seed)
        for arms in ((AS_IT_IS, *without[:1]), without[1:])
        for seed in range(1, given.seeds + 1)
        for name in (*NETWORKS, *EXAMPLES)
        for arm in arms
        if fnmatchcase(name, given.networks)
    ]
    for name, arm, seed in runs:
        if (name, arm, seed) in known:
            continue
        new = measured(name, arm, seed, given.evaluations)
        rows += new
        with given.results.open("a", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(row)}\n" for row in new)
        print(name, arm, seed, f"{new[0]['cpu_s']} CPU s", flush=True)
    shown = [row for row in rows if row["seed"] <= given.seeds]
    text = f"{table(shown)}\n\n{made_by('benches/online_ablation.py', shown)}"
    given.table.write_text(f"{text}\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
