"""What the best of many settings of RED reaches on a Linux kernel, without any model.

    python benches/kernel_best.py [--cases PATTERN] [--settings N] > docs/figures/kernel_best.txt

How near to the best is what the controller finds (`kernel_online.py`)? Here settings are drawn
evenly over a box, each is in force from the beginning of a run of its own on the kernel, and those
that have the least squared deviation of the queue from its target are run again with other seeds,
which nothing was chosen by. Of each network two are shown: the best of all, and the best of those
that do no harm beside the first setting, by the seed that chose them. Harm is a quarter more drops
and two points on top, or Jain's index 0.05 lower, as in the controller's default bounds; or a
further flow that starves, of which those allow one.

The kernel is the one that `make kernel` builds, or the one that VERMILION_KERNEL names.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import fmean
from typing import Final

from kernel_ecn import early_flows_alone
from provenance import made_by
from scipy.stats import qmc

from vermilion.scenario import load_scenario
from vermilion.simulate.metric import bulk_flows
from vermilion_lab.kernel_plant import run_on_kernel

NETWORK: Final = Path(__file__).parent / "kernel_networks" / "load-red.toml"
TARGET_PACKETS: Final = 30.0
DURATION_S, MEASURED_FROM_S = 40, 5
CHOSEN_BY, JUDGED_BY = 1, (2, 3, 4, 5)
QUEUE: Final = "links.bottleneck.queue"
CASES: Final[dict[str, tuple[int, tuple[str, ...]]]] = {
    "16 Reno": (16, ()),
    "64 Reno": (64, ()),
    "16 Reno, ECN": (16, ("flows.*.sender.ecn=true",)),
    "64 Reno, ECN": (64, ("flows.*.sender.ecn=true",)),
    "64 Reno, ECN, drops above the maximum": (
        64,
        ("flows.*.sender.ecn=true", f"{QUEUE}.drop_above_maximum=true"),
    ),
}
_LEAST_BYTES, _MOST_BYTES = 5_000, 60_000
_NARROWEST, _WIDEST = 1.1, 4.0
_LEAST_PROBABILITY = 0.001
_WEIGHTS = 10


@dataclass(frozen=True)
class Outcome:
    """What a setting did in one run."""

    deviation: float
    queue: float
    drop_rate: float
    jain_index: float
    starved: float

    def harms(self, first: Outcome) -> bool:
        """Whether somebody pays more for it than for the first setting than is allowed."""
        return (
            self.drop_rate > 1.25 * first.drop_rate + 0.02
            or self.jain_index < first.jain_index - 0.05
            or self.starved > first.starved
        )


Setting = tuple[int, int, float, int]
"""Thresholds in bytes, largest probability, and the weight as the logarithm of one over it."""


def main() -> None:
    """Runs the cases and prints a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", default="*", help="a pattern of names")
    parser.add_argument("--settings", type=int, default=48, help="drawn for each case")
    given = parser.parse_args()
    head = "network | setting | queue | deviation | dropped | Jain | starved"
    sys.stdout.write(f"| {head} |\n|{'---|' * 7}\n")
    for name, (flows, changes) in CASES.items():
        if fnmatchcase(name, given.cases):
            for words, setting in chosen(flows, changes, given.settings).items():
                row = mean([run(flows, changes, setting, seed) for seed in JUDGED_BY])
                cells = (
                    f"{row.queue:.1f} | {row.deviation:.1f} | {row.drop_rate:.1%} | "
                    f"{row.jain_index:.3f} | {row.starved:g} of {flows}"
                )
                sys.stdout.write(f"| {name} | {words}: {in_words(setting)} | {cells} |\n")
                sys.stdout.flush()
    sys.stdout.write(f"\n{made_by('benches/kernel_best.py')}\n")


def chosen(flows: int, changes: tuple[str, ...], count: int) -> dict[str, Setting | None]:
    """The settings that are worth a row, by one seed; ``None`` is the scenario's own."""
    first = run(flows, changes, None, CHOSEN_BY)
    tried = {}
    for number, setting in enumerate(drawn(count), 1):
        tried[setting] = run(flows, changes, setting, CHOSEN_BY)
        sys.stderr.write(
            f"{number} of {count}: {in_words(setting)}: {tried[setting].deviation:.1f}\n"
        )
    harmless = {each: outcome for each, outcome in tried.items() if not outcome.harms(first)}
    found: dict[str, Setting | None] = {"first": None, "best": least(tried)}
    if harmless:
        found["best without harm"] = least(harmless)
    return found


def least(tried: dict[Setting, Outcome]) -> Setting:
    """The setting with the least deviation."""
    return min(tried, key=lambda each: tried[each].deviation)


def drawn(count: int) -> list[Setting]:
    """Settings that fill the box evenly (Sobol's points)."""
    settings = []
    for low, width, probability, weight in qmc.Sobol(4, seed=1).random(count).tolist():
        least_bytes = round(_LEAST_BYTES * (_MOST_BYTES / _LEAST_BYTES) ** low)
        most_bytes = round(least_bytes * _NARROWEST * (_WIDEST / _NARROWEST) ** width)
        settings.append(
            (
                least_bytes,
                min(most_bytes, 99_000),
                float(_LEAST_PROBABILITY ** (1.0 - probability)),
                1 + int(_WEIGHTS * weight),
            )
        )
    return settings


def run(flows: int, changes: tuple[str, ...], setting: Setting | None, seed: int) -> Outcome:
    """One run with a setting that stands all the time."""
    scenario = load_scenario(
        str(NETWORK),
        [
            *early_flows_alone(flows, MEASURED_FROM_S, DURATION_S),
            *changes,
            *([] if setting is None else assignments(setting)),
        ],
    )
    result = run_on_kernel(scenario, seed)
    link = result.link("bottleneck").phases[0]
    own = bulk_flows([result.flows("early").phases[0]])
    queue = link["queue_packets"]
    return Outcome(
        deviation=queue["sd"] ** 2 + (queue["mean"] - TARGET_PACKETS) ** 2,
        queue=queue["mean"],
        drop_rate=link["drop_rate"],
        jain_index=own.get("jain_index", 0.0),  # where nothing arrived there is none
        starved=own.get("starved", flows),
    )


def assignments(setting: Setting) -> list[str]:
    """The setting in the scenario's words."""
    low, high, probability, weight = setting
    return [
        f"{QUEUE}.min_threshold={low} bytes",
        f"{QUEUE}.max_threshold={high} bytes",
        f"{QUEUE}.max_probability={probability}",
        f"{QUEUE}.weight_log={weight}",
    ]


def mean(outcomes: list[Outcome]) -> Outcome:
    """The mean of several runs, figure by figure."""
    names = Outcome.__dataclass_fields__
    return Outcome(**{name: fmean(getattr(each, name) for each in outcomes) for name in names})


def in_words(setting: Setting | None) -> str:
    """The setting, for a reader."""
    if setting is None:
        return "15 to 45 kB, 0.1, 2^-9"
    low, high, probability, weight = setting
    return f"{low / 1000:.0f} to {high / 1000:.0f} kB, {probability:.2g}, 2^-{weight}"


if __name__ == "__main__":
    main()
