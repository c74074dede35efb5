"""The on-line controller beside what needs no simulation, on networks of `benches/online.py`.

    python benches/online_laws.py RESULTS.jsonl > docs/figures/online_laws.txt

Beside each run of RESULTS (of `benches/online.py`) the same network and seed runs left alone, with
quick Adaptive RED, with a steep RED and with PIE, each told the target.
"""

from __future__ import annotations

import copy
import math
import sys
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from online import load
from online_networks.known import NETWORKS_BY_NAME
from online_networks.network import LINK
from provenance import drawn_by

import vermilion
from vermilion.objectives import objective_of
from vermilion.objectives.price import price_of
from vermilion.scenario import scenario_from_document
from vermilion.simulate.statistics import ratio_interval
from vermilion.tuning.baselines import packet_seconds
from vermilion.tuning.rules_of_thumb import QUICK_ADAPTIVE_RED, STEEP_RED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from online_networks.network import Network

LAWS: Final = ("quick Adaptive RED", "steep RED", "PIE")


def queues(network: Network) -> dict[str, dict[str, Any]]:
    """The queue of each law, told the network's target, with the buffer that it has."""
    scenario = network.scenario()
    target = float(getattr(objective_of(scenario), "target", 0.0))
    queue = network.document["links"][LINK]["queue"]
    limit = f"{max(target * 10.0 / 3.0, 100.0):.0f} packets"
    common = {"limit": limit, **({"ecn": queue["ecn"]} if "ecn" in queue else {})}

    def red(rule: Mapping[str, float]) -> dict[str, Any]:
        return {
            "min_threshold": f"{rule['low'] * target!r} packets",
            "max_threshold": f"{rule['high'] * target!r} packets",
            "weight": rule["weight"],
        }

    delay_ms = 1e3 * target * packet_seconds(scenario, LINK)
    steep = {"discipline": "red", "max_probability": STEEP_RED["max_probability"]}
    quick = {"discipline": "adaptive-red", "interval": f"{QUICK_ADAPTIVE_RED['interval']!r} s"}
    return {
        LAWS[0]: {**common, **red(QUICK_ADAPTIVE_RED), **quick},
        LAWS[1]: {**common, **red(STEEP_RED), **steep},
        LAWS[2]: {**common, "discipline": "pie", "target": f"{delay_ms!r} ms"},
    }


def reached(network: Network, seed: int, queue: Mapping[str, Any]) -> tuple[float, float]:
    """What is minimised, and the starved flows, with this queue."""
    document = copy.deepcopy(dict(network.document))
    document["links"][LINK]["queue"] = dict(queue)
    document["tuning"] = {"objective": document["tuning"]["objective"]}
    result = vermilion.run(scenario_from_document(document, network.name), seed=seed)
    objective = objective_of(network.scenario())
    return objective.measure(result), price_of(result, LINK).get("starved", 0.0)


def main() -> None:
    """Prints the table."""
    file = Path(sys.argv[1])
    by_network: dict[str, list[dict[str, Any]]] = {}
    for row in load(file):
        if row["outcome"] == "ran":
            by_network.setdefault(row["network"], []).append(row)
    print("| network | controller | " + " | ".join(LAWS) + " | of the best law | starved |")
    print("| --- | " + "---: | " * (len(LAWS) + 2) + "--- |")
    of_best = []
    for name, rows in sorted(by_network.items()):
        network = NETWORKS_BY_NAME[name]
        alone = [row["alone"] for row in rows]
        tuned = [row["tuned"] for row in rows]
        starved = [[row[f"{each}_price"].get("starved", 0.0) for row in rows]
                   for each in ("alone", "tuned")]  # fmt: skip
        values = {}
        for law, queue in queues(network).items():
            found = [reached(network, row["seed"], queue) for row in rows]
            values[law] = [value for value, _ in found]
            starved.append([each for _, each in found])
        ratios = [_ratio(tuned, alone), *(_ratio(values[law], alone) for law in LAWS)]
        best = min(LAWS, key=lambda law: _ratio(values[law], alone))
        beside = ratio_interval(zip(tuned, values[best], strict=True))
        of_best.append(_ratio(tuned, values[best]))
        shown = " | ".join(f"{each:.2f}" for each in ratios)
        ends = f"{of_best[-1]:.2f}"
        if beside is not None and beside.low is not None and beside.high is not None:
            ends += f" ({beside.low:.2f} to {beside.high:.2f})"
        counts = ", ".join(f"{fmean(each):.1f}" for each in starved)
        print(f"| `{name}` ({len(rows)}) | {shown} | {ends} | {counts} |")
    mean = math.exp(fmean(math.log(each) for each in of_best))
    print(f"\nGeometric mean of the column before the last: {mean:.2f}.")
    print(f"\n{drawn_by('benches/online_laws.py', file)}")


def _ratio(one: list[float], other: list[float]) -> float:
    """Geometric mean of the paired ratios."""
    return math.exp(fmean(math.log(a / b) for a, b in zip(one, other, strict=True)))


if __name__ == "__main__":
    main()
