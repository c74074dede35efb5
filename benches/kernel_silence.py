"""How long single flows are silent behind a RED queue: on a Linux kernel and in the simulator.

    python benches/kernel_silence.py --seeds 5 > docs/figures/kernel_silence.txt
    python benches/kernel_silence.py --seeds 5 --round-trips \
        > docs/figures/kernel_silence_round_trips.txt

Each setting is in force from the beginning of `kernel_networks/load-red.toml`, and nobody changes
it. What is measured are the 55 s in which all 64 flows are there and have settled. A flow is silent
while none of its packets leaves the queue, as the controller's own monitor sees it, ten times a
second. With ``--round-trips`` the last setting alone is in force, with several round trips: at the
queue's rate a packet takes 0.8 ms, and 28 ms are 35 of them. The kernel is the one that
`make kernel` builds, or the one that VERMILION_KERNEL names.
"""

from __future__ import annotations

import argparse
import sys
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from provenance import made_by

from vermilion.online.drive.run import SimulatedPlant
from vermilion.scenario import load_scenario
from vermilion.simulate.metric import bulk_flows, slowest_share
from vermilion_lab.kernel_plant import KernelPlant

if TYPE_CHECKING:
    from vermilion.online.drive.run import Plant
    from vermilion.routers.base import ManagedQueue

NETWORK: Final = Path(__file__).parent / "kernel_networks" / "load-red.toml"
QUEUE: Final = "links.bottleneck.queue"
TARGET_PACKETS: Final = 30.0
PHASE: Final = 1
READING_S: Final = 0.1
LONG_S: Final = 12.0
SETTINGS: Final[dict[str, tuple[int, int, float, int]]] = {
    "15.0 to 45.0 kB, 0.1, 2^-9 (as the scenario has it)": (15000, 45000, 0.1, 9),
    "26.8 to 45.0 kB, 0.9, 2^-1": (26800, 45000, 0.9, 1),
    "21.0 to 31.5 kB, 0.01, 2^-4": (21000, 31500, 0.01, 4),
    "16.6 to 30.8 kB, 0.009, 2^-1": (16600, 30800, 0.009, 1),
}
"""Thresholds in bytes, the maximum probability, and the average's weight as a power of two."""
ROUND_TRIPS: Final = ("27.6 ms", "27.99 ms", "28 ms", "28.2 ms", "28.4 ms", "26 ms .. 30 ms")

_HEAD: Final = (
    "{what} | | deviation | dropped | Jain | slowest | longest silence, median | of all | "
    f"over {LONG_S:.0f} s"
)


def main() -> None:
    """Runs every setting on both and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--round-trips", action="store_true", help="of the last setting, by them")
    given = parser.parse_args()
    plants: dict[str, Plant] = {"kernel": KernelPlant(), "simulator": SimulatedPlant(READING_S)}
    last = list(SETTINGS.values())[-1]
    cases = (
        {trip: (last, trip) for trip in ROUND_TRIPS}
        if given.round_trips
        else {words: (setting, "28 ms") for words, setting in SETTINGS.items()}
    )
    head = _HEAD.format(what="round trip" if given.round_trips else "setting")
    sys.stdout.write(f"| {head} |\n|{'---|' * 9}\n")
    for words, (setting, round_trip) in cases.items():
        for name, plant in plants.items():
            rows = [measure(plant, setting, round_trip, seed) for seed in range(1, given.seeds + 1)]
            cells = _cells([list(column) for column in zip(*rows, strict=True)])
            sys.stdout.write(f"| {words} | {name} | {' | '.join(cells)} |\n")
            sys.stdout.flush()
    sys.stdout.write(f"\n{made_by('benches/kernel_silence.py')}\n")


def measure(
    plant: Plant, setting: tuple[int, int, float, int], round_trip: str, seed: int
) -> tuple[float, float, float, float, float, float, float]:
    """The row of one run: what the table has, in its order."""
    low, high, probability, weight_log = setting
    changes = [
        f'{QUEUE}.min_threshold="{low} bytes"',
        f'{QUEUE}.max_threshold="{high} bytes"',
        f"{QUEUE}.max_probability={probability}",
        f"{QUEUE}.weight_log={weight_log}",
        f'flows.*.rtt="{round_trip}"',
    ]
    scenario = load_scenario(str(NETWORK), changes)
    with plant.under_control(scenario, ["bottleneck"], seed, "full") as network:
        heard = _heard(network.router, scenario.duration)
        result = network.result(READING_S)
    window = result.link("bottleneck").phases[PHASE]
    begin_s, end_s = window["start_s"], window["end_s"]
    longest = [_longest(times, begin_s, end_s) for times in heard.values()]
    queue = window["queue_packets"]
    flows = bulk_flows(result.flows(group).phases[PHASE] for group in result.groups)
    return (
        queue["sd"] ** 2 + (queue["mean"] - TARGET_PACKETS) ** 2,
        window["drop_rate"],
        flows["jain_index"],
        slowest_share(flows) or 0.0,
        median(longest),
        max(longest),
        float(sum(each > LONG_S for each in longest)),
    )


def _heard(router: ManagedQueue, duration_s: float) -> dict[int, list[float]]:
    """The ends of the intervals in which packets of each flow left the queue."""
    heard: dict[int, list[float]] = {}
    for tick in range(1, round(duration_s / READING_S) + 1):
        router.wait(tick * READING_S)
        traffic = router.observe().traffic
        if traffic is None:
            continue
        for flow in traffic.flows[traffic.packets > 0].tolist():
            if flow >= 0:
                heard.setdefault(flow, []).append(tick * READING_S)
    return heard


def _longest(heard_s: list[float], begin_s: float, end_s: float) -> float:
    """The longest time between two moments at which a flow was heard, in a stretch, s."""
    moments = [begin_s, *(each for each in heard_s if begin_s < each < end_s), end_s]
    return max(after - before for before, after in pairwise(moments))


def _cells(columns: list[list[float]]) -> list[str]:
    """Means over the seeds, but of the longest silence of all the longest."""
    deviation, dropped, jain, slowest, usual, longest, long = columns
    return [
        f"{fmean(deviation):.1f}",
        f"{100.0 * fmean(dropped):.1f}%",
        f"{fmean(jain):.3f}",
        f"{fmean(slowest):.2f}",
        f"{fmean(usual):.1f} s",
        f"{max(longest):.0f} s",
        f"{fmean(long):.1f} of 64",
    ]


if __name__ == "__main__":
    main()
