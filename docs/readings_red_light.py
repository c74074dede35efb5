"""RED Light's readings in its talk's comparison, beside RED: the tables of refresh_readings.py."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from vermilion.simulate import mean_interval, run_many
from vermilion.simulate.metric import metric_of
from vermilion.simulate.sweeps import make_variants

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vermilion.simulate import Result

SCENARIO = "red-light-one-transfer"
SEEDS = range(1, 21)
QUEUE = "links.bottleneck.queue"

# Round trip (ms) and buffer (packets) at which the readings are compared: those at which RED does
# about what the talk says, and a buffer of the bandwidth-delay product of 100 ms.
PLACES = ((31, 11), (50, 11), (100, 12))
WHERE = (
    *product((16, 31, 50, 100, 200), (10, 11, 12, 15, 25), ("reno",)),
    *product((31, 50, 100), (11, 12), ("sack",)),
)
TALK_SAMPLES = "interval=1 ms,gain=0.0625"
READINGS = {
    "the default": "",
    "every 1/p-th packet": "spacing=regular",
    "filter read the other way": "filter=follow-up",
    "no packet spared": "emptying=1e6 packets,least_queue=0 packets",
    "samples of 1 ms, gain 1/16 (the talk's)": TALK_SAMPLES,
    "the same, every 1/p-th packet": f"{TALK_SAMPLES},spacing=regular",
    "regular sampling": "jitter=0",
    "threshold 10 % of 100 ms": "threshold=10 ms",
    "threshold 20 % of 100 ms": "threshold=20 ms",
    "0.02 at the threshold": "base_probability=0.02",
    "0.05 at the threshold": "base_probability=0.05",
    "1 at twice the threshold": "certain_at=2",
    "1 at eight times the threshold": "certain_at=8",
}


def runs(
    disciplines: Sequence[str], place: tuple[int, int], *settings: str
) -> dict[str, list[Result | None]]:
    """Every discipline at a place, with all seeds."""
    round_trip, limit = place
    common = [f"flows.transfer.rtt={round_trip} ms", f"{QUEUE}.limit={limit} packets", *settings]
    variants, _ = make_variants(SCENARIO, disciplines, common)
    return run_many(variants, SEEDS)


def shown(results: Iterable[Result | None]) -> str:
    """Median and 95th percentile of the queue, share of tail drops, utilisation: three cells."""
    windows = [result.link("bottleneck").total for result in results if result is not None]

    def mean(values: Iterable[float | None], digits: int, unit: str = "") -> str:
        # A run without a drop has no share of tail drops.
        interval = mean_interval(value for value in values if value is not None)
        error = f"{interval.half_width:.{digits}f}"
        return f"{interval.mean:.{digits}f}{f' ± {error}' if float(error) else ''}{unit}"

    middle, high = (
        mean((metric_of(window, f"queue_packets.{name}") for window in windows), 1)
        for name in ("p50", "p95")
    )
    tail = mean(
        (
            100 * window["overflow_drops"] / window["drops"] if window["drops"] else None
            for window in windows
        ),
        0,
        " %",
    )
    busy = mean((100 * window["utilization"] for window in windows), 1, " %")
    return f"{middle}; {high} | {tail} | {busy}"


def red_light_tables() -> dict[str, str]:
    """What RED does at each round trip and buffer, and each reading where that fits the talk."""
    columns = "median; p95 | tail drops | utilisation"
    red = [
        f"| round trip | buffer | sender | RED: {columns} | RED Light: {columns} |",
        "|---" * 9 + "|",
    ]
    for round_trip, limit, sender in WHERE:
        found = runs(["red", "red-light"], (round_trip, limit), f"flows.transfer.sender={sender}")
        cells = " | ".join(shown(results) for results in found.values())
        red.append(f"| {round_trip} ms | {limit} | {sender} | {cells} |")
    heading = " | ".join(f"{trip} ms, {limit} packets: {columns}" for trip, limit in PLACES)
    light = [f"| reading | {heading} |", "|---" * 10 + "|"]
    disciplines = ["red", *(f"red-light:{own}" for own in READINGS.values())]
    places = [list(runs(disciplines, place).values()) for place in PLACES]
    for number, name in enumerate(["RED 1993", *READINGS]):
        light.append(f"| {name} | {' | '.join(shown(place[number]) for place in places)} |")
    return {"red-light-places": "\n".join(red), "red-light": "\n".join(light)}
