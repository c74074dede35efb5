"""What a RED queue of a Linux kernel can do with many flows that understand marks.

    python benches/kernel_ecn.py [--flows N] > docs/figures/kernel_ecn.txt
    python benches/kernel_ecn.py --later > docs/figures/kernel_ecn_later.txt

A target of 30 packets cannot be had of 64 flows by marks alone: no mark makes a window of Linux
smaller than two packets. This measures what several settings do to them instead, each in force from
the beginning and left alone, and who pays for it.

`as it comes` is Linux as it is: a sender whose first packet is lost asks again without ECN (RFC
3168, section 6.1.1.1; `tcp_ecn_fallback`), and is dropped from then on where others are marked.
`all capable` switches that off.

With `--later` 48 flows join 16 while a slope stands that suits the 16, so that most of the 48 keep
their marks, and each setting is put in force only then: what is left to whoever sets the queue.
The kernel is the one that `make kernel` builds, or the one that
VERMILION_KERNEL names.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final

from provenance import made_by

from vermilion.scenario import load_scenario
from vermilion.simulate.metric import bulk_flows, slowest_share
from vermilion.simulate.result import Result
from vermilion_lab.kernel_plant.network import RunningNetwork

if TYPE_CHECKING:
    from vermilion.simulate.metric import BulkFlows
    from vermilion.simulate.result_data import LinkMetrics

NETWORK: Final = Path(__file__).parent / "kernel_networks" / "load-red.toml"
TARGET_PACKETS: Final = 30.0
DURATION_S, MEASURED_FROM_S = 60, 15
FALL_BACK: Final = "/proc/sys/net/ipv4/tcp_ecn_fallback"
SHORT: Final = (
    "min_threshold=20000 bytes",
    "max_threshold=32000 bytes",
    "weight_log=4",
)
QUEUE: Final = "links.bottleneck.queue"
SETTINGS: Final[dict[str, tuple[str, ...]]] = {
    "15 to 45 kB, 0.1, 2^-9 (as the scenario has it)": (),
    "5 to 150 kB, 0.8, 2^-3": (
        "min_threshold=5000 bytes",
        "max_threshold=150000 bytes",
        "max_probability=0.8",
        "weight_log=3",
    ),
    "20 to 32 kB, 0.3, 2^-4": (*SHORT, "max_probability=0.3"),
    "the same, above the maximum all are dropped": (
        *SHORT,
        "max_probability=0.3",
        "drop_above_maximum=true",
    ),
    "the same without ECN": (*SHORT, "max_probability=0.3", "ecn=false"),
}
DROP_TAIL: Final = "drop-tail, 30 packets"
SLOPE: Final = (15_000, 90_000, 0.12, 2)
"""Thresholds in bytes, probability and weight: a controller's answer to 16 flows."""
LATER: Final[dict[str, tuple[int, int, float, int] | None]] = {
    "left alone from the beginning": None,
    "15 to 45 kB, 0.1, 2^-9 (the first setting put back)": (15_000, 45_000, 0.1, 9),
    "15 to 52 kB, 0.5, 2^-9": (15_000, 52_000, 0.5, 9),
    "15 to 95 kB, 0.6, 2^-4": (15_000, 95_000, 0.6, 4),
    "15 to 90 kB, 0.12, 2^-2 (the slope stays)": SLOPE,
}
TUNED_S, PUT_S, LATER_SEEDS = 3, 23, 5


def main() -> None:
    """Runs every setting and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--flows", type=int, default=64)
    parser.add_argument("--later", action="store_true", help="put in force once all are there")
    given = parser.parse_args()
    if given.later:
        _print_later()
        return
    head = "senders | setting | queue | deviation | dropped | marked | Jain | slowest | starved"
    sys.stdout.write(f"| {head} |\n|{'---|' * 9}\n")
    for senders, falls_back in (("as it comes", True), ("all capable", False)):
        for name in (*SETTINGS, DROP_TAIL):
            cells = measure(name, given.flows, falls_back=falls_back)
            sys.stdout.write(f"| {senders} | {name} | {' | '.join(cells)} |\n")
            sys.stdout.flush()
    sys.stdout.write(f"\n{made_by('benches/kernel_ecn.py')}\n")


def early_flows_alone(flows: int, begin_s: float, end_s: float) -> list[str]:
    """Changes of the network: so many flows from its beginning, measured between two moments."""
    return [
        f"duration={end_s} s",
        f"warm_up={begin_s} s",
        f"flows.early.count={flows}",
        # Nobody comes later: only those that are there from the beginning are measured.
        f"flows.late.start={end_s - 0.5} s..{end_s - 0.1} s",
    ]


def measure(name: str, flows: int, *, falls_back: bool, seed: int = 1) -> list[str]:
    """What came of a setting: the cells of a row."""
    scenario = load_scenario(
        str(NETWORK),
        [
            *early_flows_alone(flows, MEASURED_FROM_S, DURATION_S),
            "flows.*.sender.ecn=true",
            *_changes(name),
        ],
    )
    with RunningNetwork(scenario.core(), seed) as network:
        order = f"echo {int(falls_back)} > {FALL_BACK}"
        network.call("run", namespace="near", command=["sh", "-c", order])
        network.advance(DURATION_S * 1_000_000_000)
        result = Result({"seed": seed, "version": "", **network.measured()}, {})
    link = result.link("bottleneck").phases[0]
    queue = link["queue_packets"]
    own = bulk_flows([result.flows("early").phases[0]])
    deviation = queue["sd"] ** 2 + (queue["mean"] - TARGET_PACKETS) ** 2
    return [
        f"{queue['mean']:.1f}",
        f"{deviation:.0f}",
        f"{link['drop_rate']:.1%}",
        f"{link['mark_rate']:.1%}",
        f"{own['jain_index']:.3f}",
        f"{slowest_share(own) or 0.0:.2f}",
        f"{own['starved']} of {flows}",
    ]


def _print_later() -> None:
    """The table of settings that are put in force once all flows are there."""
    sys.stdout.write(f"| setting | queue | deviation | Jain | starved of 64 |\n|{'---|' * 5}\n")
    for name, setting in LATER.items():
        queues, deviations, jains, starved = [], [], [], []
        for seed in range(1, LATER_SEEDS + 1):
            link, own = _put_later(setting, seed)
            queue = link["queue_packets"]
            queues.append(queue["mean"])
            deviations.append(queue["sd"] ** 2 + (queue["mean"] - TARGET_PACKETS) ** 2)
            jains.append(own["jain_index"])
            starved.append(f"{own['starved']}")
        sys.stdout.write(
            f"| {name} | {fmean(queues):.1f} | {fmean(deviations):.0f} | {fmean(jains):.3f} "
            f"| {', '.join(starved)} |\n"
        )
        sys.stdout.flush()
    sys.stdout.write(f"\n{made_by('benches/kernel_ecn.py')}\n")


def _put_later(
    setting: tuple[int, int, float, int] | None, seed: int
) -> tuple[LinkMetrics, BulkFlows]:
    """The queue and the flows after a setting was put in force; ``None`` leaves all alone."""
    changes = []
    if setting is not None:
        changes = [
            _change(TUNED_S, SLOPE),
            *([_change(PUT_S, setting)] if setting != SLOPE else []),
        ]
    scenario = load_scenario(
        str(NETWORK), ["flows.*.sender.ecn=true", f"changes=[{', '.join(changes)}]"]
    )
    with RunningNetwork(scenario.core(), seed) as network:
        network.advance(int(scenario.duration * 1e9))
        result = Result({"seed": seed, "version": "", **network.measured()}, {})
    flows = bulk_flows(result.flows(group).phases[-1] for group in result.groups)
    return result.link("bottleneck").phases[-1], flows


def _change(at_s: int, setting: tuple[int, int, float, int]) -> str:
    """A change of the queue, as a scenario has it."""
    low, high, probability, weight = setting
    return (
        f'{{ at = "{at_s} s", link = "bottleneck", queue = {{ min_threshold = "{low} bytes", '
        f'max_threshold = "{high} bytes", max_probability = {probability}, '
        f"weight_log = {weight} }} }}"
    )


def _changes(name: str) -> list[str]:
    """What is changed of the scenario."""
    if name != DROP_TAIL:
        return [f"{QUEUE}.{each}" for each in SETTINGS[name]]
    return [
        f'{QUEUE}={{ discipline = "drop-tail", limit = "30 packets" }}',
        # Nothing is tuned here, but what is named has to be there.
        f'tuning.parameters=["{QUEUE}.limit"]',
        f'tuning.space={{ "{QUEUE}.limit" = ["10 packets", "100 packets"] }}',
    ]


if __name__ == "__main__":
    main()
