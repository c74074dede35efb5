"""Random networks on a real Linux kernel: kept tuned with the defaults, beside left alone.

    python benches/kernel_random.py --networks 1:25
    python benches/kernel_random.py --networks 7 --decisions

A search for trouble, not for averages. A network follows from its number: rate, round trips, flows
of which some join after 20 s, their congestion control, ECN, a queue with a setting that somebody
might have chosen by hand, netlink or SNMP, and a goal. Each stretch of each run is held against the
same network left alone by the rules of :data:`RULES`, which are wider than the controller's own
bounds by what chance does in one run. A rule that is broken is no proof of a mistake, but every one
deserves a look at the decisions.

The kernel is the one that `make kernel` builds, or the one that VERMILION_KERNEL names.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from vermilion import parse_scenario
from vermilion.online import run_online
from vermilion.simulate.metric import bulk_flows
from vermilion_lab.kernel_plant import KernelPlant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vermilion.simulate import Result

JOIN_S, END_S = 20, 45
OPTIONS: Final = 'option_set = "linux", timer_tick = "10 ms", shared_clock = true'
TARGETED_DISCIPLINE: Final = "linux-red"

Figures = dict[str, float]

RULES: Final[dict[str, Callable[[Figures, Figures], bool]]] = {
    "goodput": lambda tuned, alone: tuned["goodput"] >= 0.93 * alone["goodput"],
    "starved": lambda tuned, alone: (
        tuned["starved"] <= alone["starved"] + max(1.0, 0.15 * tuned["flows"])
    ),
    "fairness": lambda tuned, alone: tuned["jain"] >= alone["jain"] - 0.15,
    "drops": lambda tuned, alone: tuned["drops"] <= 1.25 * alone["drops"] + 0.05,
    "goal": lambda tuned, alone: tuned["goal"] <= 1.25 * alone["goal"] + tuned["least"],
}
"""What must hold in each stretch; see :func:`figures` for what is compared."""

OF_A_QUEUE_IN_USE: Final = ("drops", "goal")
"""Rules that say nothing where the network left alone lets hardly anything through."""

SHUT: Final = 0.7
"""Of the goodput that the network has when it is kept tuned, left alone: it is hardly in use."""


@dataclass(frozen=True, slots=True)
class Network:
    """A network that was drawn.

    Attributes:
        text: the scenario.
        words: what it is, in a few.
        management: "netlink" or "snmp".
        target_packets: at which the queue is to be held; ``None`` for a short delay.
    """

    text: str
    words: str
    management: str
    target_packets: float | None


def main() -> None:
    """Runs the networks and prints a line for each, and how often each rule was broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--networks", default="1:25", help="FIRST:BEHIND_LAST, or one number")
    parser.add_argument("--decisions", action="store_true", help="show what the controller did")
    given = parser.parse_args()
    first, _, behind = given.networks.partition(":")
    numbers = range(int(first), int(behind or int(first) + 1))
    broken: dict[str, list[int]] = {rule: [] for rule in RULES}
    gains: list[float] = []
    for number in numbers:
        network = drawn(number)
        found, run = measure(network, number)
        troubles = []
        for place, (tuned, alone) in enumerate(found, start=1):
            gains.append(tuned["goal"] / max(alone["goal"], tuned["least"]))
            shut = alone["goodput"] < SHUT * tuned["goodput"]
            for rule, holds in RULES.items():
                if not holds(tuned, alone) and not (shut and rule in OF_A_QUEUE_IN_USE):
                    broken[rule].append(number)
                    key = {"fairness": "jain"}.get(rule, rule)
                    troubles.append(f"{rule} {place}: {alone[key]:.3g} -> {tuned[key]:.3g}")
        _say(f"{number:4d}  {network.words}: {'; '.join(troubles) or 'all rules hold'}")
        if given.decisions:
            for each in run.decisions:
                _say(f"      {each.time_s:6.1f} s  {each.kind}: {each.reason}")
    for rule, those in broken.items():
        _say(f"{rule}: broken in {len(those)} of {2 * len(numbers)} stretches {those or ''}")
    _say(f"goal, tuned over alone: {median(gains):.2f} in the median")


def drawn(number: int) -> Network:
    """The network of this number."""
    chance = random.Random(f"vermilion kernel random {number}")  # noqa: S311 - no secret

    def spread(low: float, high: float) -> float:
        return math.exp(chance.uniform(math.log(low), math.log(high)))

    rate = spread(2.0, 30.0)
    trip = spread(8.0, 150.0)
    early, late = round(spread(2, 32)), chance.choice([0, round(spread(2, 48))])
    control = chance.choices(["cubic", "sack", "bbr"], [5, 3, 1])[0]
    ecn = control != "bbr" and chance.choice([False, True])
    queue, in_words, targeted = _queue(chance, spread)
    management = chance.choice(["netlink", "snmp"])
    ends = f"{trip:.1f} ms .. {trip * chance.choice([1.0, 1.0, 2.0]):.1f} ms"
    sender = f'{{ congestion_control = "{control}", {OPTIONS}{", ecn = true" if ecn else ""} }}'
    if control == "bbr":
        sender = '{ congestion_control = "bbr", timer_tick = "10 ms" }'
    groups = "".join(
        f"""
        [flows.{name}]
        count = {count}
        path = ["bottleneck"]
        rtt = "{ends}"
        sender = {sender}
        packet_size = "1000 bytes"
        start = "{start} s .. {start + 1} s"
        """
        for name, count, start in (("early", early, 0), ("late", late, JOIN_S))
        if count
    )
    target = max(8.0, 0.01 * rate * 1e6 / 8e3) if targeted else None
    held = f'name = "queue-deviation", link = "bottleneck", target = "{target or 0:.0f} packets"'
    tuning = f"[tuning]\nobjective = {{ {held} }}" if targeted else ""
    # Without newcomers there are two stretches all the same: something changes at that moment.
    change = "" if late else f'[[changes]]\nat = "{JOIN_S} s"\nlink = "bottleneck"\ndelay = "1 ms"'
    text = f"""
        duration = "{END_S} s"
        warm_up = "8 s"
        settle = "8 s"
        [links.bottleneck]
        rate = "{rate:.2f} Mbit/s"
        delay = "1 ms"
        [links.bottleneck.queue]
        {queue}
        {groups}
        {change}
        {tuning}
    """
    flows = f"{early}+{late} {control}{' ECN' if ecn else ''}"
    words = f"{rate:.1f} Mbit/s, {ends}, {flows}, {in_words}, {management}"
    return Network(text, words, management, target)


def _queue(chance: random.Random, spread: Callable[[float, float], float]) -> tuple[str, str, bool]:
    """A queue, in a few words, and whether it is to be held at a length."""
    kind = chance.choices([TARGETED_DISCIPLINE, "pie", "codel", "fq-codel"], [5, 2, 2, 2])[0]
    if kind != TARGETED_DISCIPLINE:
        return f'discipline = "{kind}"', kind, False
    low = spread(3_000, 40_000)
    high = low * spread(1.5, 4.0)
    probability, log = spread(0.02, 0.3), chance.randint(2, 10)
    text = f"""discipline = "{kind}"
        limit = "{4 * high:.0f} bytes"
        min_threshold = "{low:.0f} bytes"
        max_threshold = "{high:.0f} bytes"
        max_probability = {probability:.3f}
        weight_log = {log}"""
    words = f"red {low / 1e3:.0f} to {high / 1e3:.0f} kB, {probability:.2f}, 2^-{log}"
    return text, words, chance.choice([False, True])


def measure(network: Network, number: int) -> tuple[list[tuple[Figures, Figures]], Any]:
    """Of each stretch what is compared, kept tuned and left alone; and the run."""
    scenario = parse_scenario(network.text)
    plant = KernelPlant("snmp" if network.management == "snmp" else "netlink")
    run = run_online(scenario, seed=number, clock="fixed", plant=plant)
    both = zip(figures(run.tuned, network), figures(run.reference, network), strict=True)
    return list(both), run


def figures(result: Result, network: Network) -> list[Figures]:
    """What is compared of each stretch.

    ``goal`` is the mean squared distance from the target, or the 95th percentile of what waits, in
    ms; ``least`` is what of it nobody would notice.
    """
    found = []
    link = result.link("bottleneck")
    for place, window in enumerate(link.phases):
        flows: Mapping[str, Any] = bulk_flows(
            result.flows(group).phases[place] for group in result.groups
        )
        queue, target = window["queue_packets"], network.target_packets
        waits: Mapping[str, float] = window["sojourn_ms"]
        goal = waits.get("p95", waits["mean"])
        if target is not None:
            goal = queue["sd"] ** 2 + (queue["mean"] - target) ** 2
        found.append(
            {
                "goodput": flows["goodput_bit_per_s"]["total"],
                "flows": float(flows["flows"]),
                "starved": float(flows["starved"]),
                "jain": flows["jain_index"],
                "drops": window["drop_rate"],
                "goal": goal,
                "least": 2.0 if target is None else 10.0,
            }
        )
    return found


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
