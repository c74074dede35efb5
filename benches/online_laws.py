"""The on-line controller beside what needs no simulation, on networks of `benches/online.py`.

    python benches/online_laws.py RESULTS.jsonl > docs/figures/online_laws.txt

Beside each run of RESULTS (of `benches/online.py`) the same network and seed runs left alone, with
quick Adaptive RED, with a steep RED, and with PIE (CoDel where the queue is CoDel), each told the
target, or half of a bounded delay. What breaks the operator's constraints in more phases than the
controller does is no answer, and not compared.
"""

from __future__ import annotations

import copy
import math
import sys
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from online import load
from online_networks.known import NETWORKS_BY_NAME
from online_networks.network import LINK
from provenance import drawn_by

import vermilion
from vermilion.objectives import NotMeasuredError, constraints_of, objective_of
from vermilion.objectives.price import price_of
from vermilion.scenario import scenario_from_document
from vermilion.simulate.statistics import ratio_interval
from vermilion.tuning.baselines import packet_seconds
from vermilion.tuning.rules_of_thumb import MEAN_OF_P95, QUICK_ADAPTIVE_RED, STEEP_RED
from vermilion.tuning.verdict import on_known

if TYPE_CHECKING:
    from collections.abc import Mapping

    from online_networks.network import Network

LAWS: Final = ("quick Adaptive RED", "steep RED", "PIE or CoDel")
QUICK_KINDS: Final = {"changing", "radio", "growing"}
QUICK_NETWORKS: Final = {"near-become-far", "outage-one-by-one"}
"""Conditions that change each few seconds."""
NOTICEABLE: Final = 1.1


class Reached(NamedTuple):
    """Outcome of a queue with one seed."""

    value: float
    starved: float
    broken: int


class Unmatched(Exception):  # noqa: N818 - reads as what it says
    """Nothing that the controller is compared with keeps the constraints as often as it does."""


class Row(NamedTuple):
    """One network: its line of the table, and what the summary needs."""

    line: str
    of_best: float
    low: float | None
    more_starved: float


def queues(network: Network) -> dict[str, dict[str, Any]]:
    """The queue of each law, told the network's number; none where the goal has none."""
    scenario = network.scenario()
    objective, packet_s = objective_of(scenario), packet_seconds(scenario, LINK)
    target = float(getattr(objective, "target", 0.0))
    target = target or MEAN_OF_P95 * float(getattr(objective, "at_most", 0.0)) / packet_s
    if not target:
        return {}
    queue = network.document["links"][LINK]["queue"]
    limit = f"{max(target * 10.0 / 3.0, 100.0):.0f} packets"
    common = {"limit": limit, **({"ecn": queue["ecn"]} if "ecn" in queue else {})}

    def red(rule: Mapping[str, float]) -> dict[str, Any]:
        return {
            "min_threshold": f"{rule['low'] * target!r} packets",
            "max_threshold": f"{rule['high'] * target!r} packets",
            "weight": rule["weight"],
        }

    told: dict[str, Any] = {"discipline": "pie", "target": f"{1e3 * target * packet_s!r} ms"}
    if queue["discipline"] == "codel":
        interval_ms = max(100.0, 1e4 * target * packet_s)
        told |= {"discipline": "codel", "interval": f"{interval_ms!r} ms"}
    steep = {"discipline": "red", "max_probability": STEEP_RED["max_probability"]}
    quick = {"discipline": "adaptive-red", "interval": f"{QUICK_ADAPTIVE_RED['interval']!r} s"}
    return {
        LAWS[0]: {**common, **red(QUICK_ADAPTIVE_RED), **quick},
        LAWS[1]: {**common, **red(STEEP_RED), **steep},
        LAWS[2]: {**common, **told},
    }


def reached(network: Network, seed: int, queue: Mapping[str, Any]) -> Reached:
    """Outcome of a queue; of what is maximised the reciprocal."""
    document = copy.deepcopy(dict(network.document))
    document["links"][LINK]["queue"] = dict(queue)
    document["tuning"] = {"objective": document["tuning"]["objective"]}
    result = vermilion.run(scenario_from_document(document, network.name), seed=seed)
    scenario = network.scenario()
    objective = objective_of(scenario)
    alone, broken = None, 0
    for constraint in constraints_of(scenario, objective, links=[LINK]):
        alone = alone or vermilion.run(scenario, seed=seed)
        known = on_known(constraint, [alone])
        broken += sum((each or 0.0) < 0.0 for each in known.margins(known.values(result)))
    starved = price_of(result, LINK).get("starved", 0.0)
    value = objective.measure(result)
    return Reached(1.0 / value if objective.maximised else value, starved, broken)


def compared(network: Network, rows: list[dict[str, Any]]) -> Row:
    """A network's line: every way beside the controller, on the same seeds."""
    ways = {
        each: [
            Reached(
                1.0 / row[each] if row["maximised"] else row[each],
                row[f"{each}_price"].get("starved", 0.0),
                sum(bound["broken_alone" if each == "alone" else "broken"]
                    for bound in row["constraints"]),
            )
            for row in rows
        ]
        for each in ("tuned", "alone")
    }  # fmt: skip
    for law, queue in queues(network).items():
        ways[law] = [reached(network, row["seed"], queue) for row in rows]
    mine, alone = ways.pop("tuned"), ways["alone"]
    allowed = [name for name, each in ways.items() if _broken(each) <= _broken(mine)]
    if not allowed:
        raise Unmatched
    best = min(allowed, key=lambda name: _ratio(ways[name], alone))
    of_best = _ratio(mine, ways[best])
    interval = ratio_interval((a.value, b.value) for a, b in zip(mine, ways[best], strict=True))
    low = None if interval is None else interval.low
    shown = [f"{_ratio(mine, alone):.2f}"]
    for law in LAWS:
        star = "" if law in allowed or law not in ways else " (breaks)"
        shown.append(f"{_ratio(ways[law], alone):.2f}{star}" if law in ways else "")
    starved = [fmean(each.starved for each in way) for way in (alone, mine, ways[best])]
    counts = ", ".join(f"{each:.1f}" for each in starved)
    worse = " \\*" if low is not None and low > 1.0 else ""
    line = f"| `{network.name}` | {' | '.join(shown)} | {of_best:.2f}{worse} | {best} | {counts} |"
    return Row(line, of_best, low, starved[1] - starved[2])


def main() -> None:
    """Prints the tables."""
    file = Path(sys.argv[1])
    by_network: dict[str, list[dict[str, Any]]] = {}
    for row in load(file):
        if row["outcome"] == "ran":
            by_network.setdefault(row["network"], []).append(row)
    unmatched: list[str] = []
    groups: dict[str, list[Row]] = {"last 10 s and longer": [], "change each few seconds": []}
    for name, rows in sorted(by_network.items()):
        network = NETWORKS_BY_NAME[name]
        quick = network.kind in QUICK_KINDS or name in QUICK_NETWORKS
        try:
            groups[list(groups)[quick]].append(compared(network, rows))
        except Unmatched:
            unmatched.append(f"`{name}`")
        except (NotMeasuredError, ZeroDivisionError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
    head = f"| network | controller | {' | '.join(LAWS)} | of the best | the best | starved |"
    print("| conditions | networks | of the best | significantly worse | better, alike, worse "
          "by 10 % | more starved than the best |")  # fmt: skip
    print("| --- | ---: | ---: | ---: | --- | ---: |")
    for name, found in groups.items():
        if found:
            mean = math.exp(fmean(math.log(each.of_best) for each in found))
            worse = sum(each.low is not None and each.low > 1.0 for each in found)
            better = sum(each.of_best < 1.0 / NOTICEABLE for each in found)
            more = sum(each.of_best > NOTICEABLE for each in found)
            counts = f"{better}, {len(found) - better - more}, {more}"
            starved = fmean(each.more_starved for each in found)
            print(f"| {name} | {len(found)} | {mean:.2f} | {worse} | {counts} | {starved:+.2f} |")
    for name, found in groups.items():
        print(f"\nConditions that {name}:\n\n{head}")
        print("| --- | " + "---: | " * (len(LAWS) + 2) + "--- | --- |")
        print("\n".join(each.line for each in found))
    if unmatched:
        names = ", ".join(unmatched)
        print(f"\nThe controller alone keeps the constraints as often as it does: {names}.")
    print(f"\n{drawn_by('benches/online_laws.py', file)}")


def _broken(way: list[Reached]) -> int:
    return sum(each.broken for each in way)


def _ratio(one: list[Reached], other: list[Reached]) -> float:
    """Geometric mean of the paired ratios."""
    pairs = zip(one, other, strict=True)
    return math.exp(fmean(math.log(a.value / b.value) for a, b in pairs))


if __name__ == "__main__":
    main()
