"""RED that shuts its queue below a shaper: left alone, with a quick average, and kept tuned.

    python benches/kernel_shut.py --seeds 5 > docs/figures/kernel_shut.txt

The network is `kernel_networks/shut-red.toml`: the example of S. Floyd and V. Jacobson (1993) with
16 flows, and other numbers of flows and settings. What is shown is the utilisation of its 60 s
(the first second is a slow start), as means over the seeds with the least. *Simulator* and *kernel*
are left alone. The kernel is the one that `make kernel` builds, or the one that VERMILION_KERNEL
names.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final

from provenance import made_by

from vermilion.online import run_online
from vermilion.scenario import load_scenario
from vermilion.simulate import run
from vermilion_lab.kernel_plant import KernelPlant

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion.scenario import Scenario
    from vermilion.simulate import Result

NETWORK: Final = Path(__file__).parent / "kernel_networks" / "shut-red.toml"
QUEUE: Final = "links.bottleneck.queue"
QUICK: Final[dict[str, object]] = {f"{QUEUE}.weight_log": 4}
DRAWN: Final[dict[str, object]] = {
    f"{QUEUE}.min_threshold": "10103 bytes",
    f"{QUEUE}.max_threshold": "15790 bytes",
    f"{QUEUE}.max_probability": 0.00975,
    f"{QUEUE}.weight_log": 12,
}
CASES: Final[dict[str, dict[str, object]]] = {
    "5 to 15 kB, 0.02, 2^-9, 16 flows": {},
    "the same, 4 flows": {"flows.long.count": 4},
    "the same, 64 flows": {"flows.long.count": 64},
    "the same, 16 flows of 180 ms": {"flows.long.rtt": "180 ms"},
    "the same, 16 flows with ECN": {"flows.long.sender.ecn": True},
    "10.1 to 15.8 kB, 0.00975, 2^-12, 16 flows": DRAWN,
}
EVALUATIONS: Final = 60
RE_EVALUATIONS: Final = 1
COMPARISONS: Final = 6


def main() -> None:
    """Runs every case in every way and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    ways: dict[str, Callable[[Scenario, int], Result]] = {
        "simulator": lambda scenario, seed: run(scenario, seed=seed),
        "kernel": left_alone,
        "kernel, with 2^-4": lambda scenario, seed: left_alone(scenario.with_values(QUICK), seed),
        "kept tuned by netlink": partial(kept_tuned, "netlink"),
        "kept tuned over SNMP": partial(kept_tuned, "snmp"),
    }
    sys.stdout.write(f"| | {' | '.join(ways)} |\n|{'---|' * (1 + len(ways))}\n")
    for words, values in CASES.items():
        scenario = load_scenario(str(NETWORK)).with_values(values)
        cells = [
            [used(way(scenario, seed)) for seed in range(1, given.seeds + 1)]
            for way in ways.values()
        ]
        shown = [f"{fmean(each):.1%} ({min(each):.1%})" for each in cells]
        sys.stdout.write(f"| {words} | {' | '.join(shown)} |\n")
        sys.stdout.flush()
    sys.stdout.write(f"\n{made_by('benches/kernel_shut.py')}\n")


def left_alone(scenario: Scenario, seed: int) -> Result:
    """The kernel, to which nobody does anything."""
    return KernelPlant().left_alone(scenario, seed, 1.0)


def kept_tuned(control: str, scenario: Scenario, seed: int) -> Result:
    """The kernel with the controller, whose searches take fixed numbers of simulations."""
    plant = KernelPlant("snmp" if control == "snmp" else "netlink")
    return run_online(
        scenario,
        seed=seed,
        clock="fixed",
        evaluations=EVALUATIONS,
        re_evaluations=RE_EVALUATIONS,
        comparisons=COMPARISONS,
        plant=plant,
    ).tuned


def used(result: Result) -> float:
    """The share of the link's rate that was used in the whole run."""
    return float(result.link("bottleneck").total["utilization"])


if __name__ == "__main__":
    main()
