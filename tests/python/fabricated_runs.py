"""On-line runs made up for tests of the report: the shape of real ones, numbers of no meaning.

Nothing here was simulated. Tests that need true numbers run the simulator.
"""

from __future__ import annotations

import numpy as np

from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.online.entries import Decision, OnlineRun
from vermilion.scenario import load_scenario
from vermilion.simulate import Result

MILLISECONDS_PER_PACKET = 0.8
"""1000 bytes at 10 Mbit/s."""

PHASES_S = ((5.0, 20.0), (25.0, 80.0))
STANDARD = {"weight": 0.002, "max_probability": 0.1, "min_threshold": 15.0, "max_threshold": 45.0}
TUNED = {"weight": 0.03, "max_probability": 0.21, "min_threshold": 12.2, "max_threshold": 61.0}
TUNED_AGAIN = {"weight": 0.2, "max_probability": 0.4, "min_threshold": 21.0, "max_threshold": 52.0}


def fabricated_run(seed=1, overrides=(), *, extra_decisions=0, has_average=True):
    """A run in which the controller acts twice and takes its second setting back."""
    random = np.random.default_rng(seed)
    scenario = load_scenario("varying-load", overrides)
    decisions = [
        Decision(0.0, "start", "watching link bottleneck (red)"),
        Decision(3.0, "model-built", "16 flows of 28 ms at 10 Mbit/s"),
        Decision(4.6, "tuned", "412 settings tried in 1.6 s"),
        Decision(4.6, "applied", "deviation 15.9 +- 0.8 instead of 106.8 +- 4.1"),
        Decision(12.6, "verified", "mean queue 29.3 packets, as predicted"),
        Decision(21.0 + 0.1 * seed, "change-detected", "16 flows have become 64"),
        Decision(22.7 + 0.1 * seed, "applied", "deviation 4.2 +- 0.3 instead of 39.4 +- 2.0"),
        Decision(60.0, "rolled-back", "deviation 44.1 where 4.2 was predicted"),
    ]
    kinds = ("applied", "change-detected", "kept", "rolled-back")
    decisions += [
        Decision(60 + 20 * (index + 1) / (extra_decisions + 1), kinds[index % 4], f"extra {index}")
        for index in range(extra_decisions)
    ]
    return OnlineRun(
        scenario=scenario,
        seed=seed,
        link="bottleneck",
        objective=QueueDeviation("bottleneck", 30.0),
        parameters=tuple(f"links.bottleneck.queue.{name}" for name in STANDARD),
        decisions=tuple(decisions),
        settings=((0.0, STANDARD), (4.6, TUNED), (22.8, TUNED_AGAIN), (60.0, TUNED)),
        tuned=_result(random, seed, ((29.0, 3.8), (29.5, 2.0)), (0.994, 0.999), has_average),
        reference=_result(random, seed, ((23.0, 8.0), (37.0, 9.0)), (0.985, 0.994), has_average),
    )


def _result(random, seed, moments, utilization, has_average):
    time = np.arange(0, 80, 0.05)
    queue = np.where(
        time < PHASES_S[0][1],
        _wandering(random, len(time), *moments[0]),
        _wandering(random, len(time), *moments[1]),
    )
    average = np.convolve(queue, np.full(20, 1 / 20))[: len(queue)]
    windows = []
    for index, (start_s, end_s) in enumerate(PHASES_S):
        inside = (time >= start_s) & (time < end_s)
        window = {
            "start_s": start_s,
            "end_s": end_s,
            "utilization": utilization[index] + 0.0005 * random.standard_normal(),
            "drop_rate": 0.03 * (index + 1) + 0.001 * random.standard_normal(),
            "queue_packets": _statistics(queue[inside]),
            "sojourn_ms": _statistics(MILLISECONDS_PER_PACKET * queue[inside]),
        }
        if has_average:
            window["average_queue_packets"] = _statistics(average[inside])
        windows.append(window)
    link = {"total": windows[-1], "phases": windows, "ledger": {}}
    flows = {
        group: {"total": _flows(1, counts[-1], utilization[-1]), "phases": phases}
        for group, counts in {"early": (16, 16), "late": (0, 48)}.items()
        for phases in [
            [_flows(index, count, utilization[index]) for index, count in enumerate(counts)]
        ]
    }
    data = {"seed": seed, "version": "0.1.0", "links": {"bottleneck": link}, "flows": flows}
    nothing = np.full(len(time), np.nan)
    series = {
        "time_s": time,
        "queue_packets": queue,
        "average_queue_packets": average if has_average else nothing,
    }
    return Result(data, {"bottleneck": series})


def _flows(index, count, utilization):
    """All flows alike but the slowest, who gets half, and the fastest, who gets that too."""
    window = dict(zip(("start_s", "end_s"), PHASES_S[index], strict=True)) | {"flows": count}
    if count:
        mean = 10e6 * utilization / (16, 64)[index]
        moments = {
            "mean": mean,
            "sd": mean / 2 * np.sqrt(2 / count),
            "min": mean / 2,
            "max": 1.5 * mean,
        }
        window |= {"starved": 0, "goodput_bit_per_s": {"total": count * mean, **moments}}
        window["jain_index"] = mean**2 / (mean**2 + moments["sd"] ** 2)
    return window


def _wandering(random, length, mean, sd):
    """A queue that stays near its mean and forgets within a second or so."""
    values = np.zeros(length)
    for index, noise in enumerate(random.standard_normal(length - 1), start=1):
        values[index] = 0.9 * values[index - 1] + np.sqrt(1 - 0.9**2) * noise
    return np.clip(mean + sd * values, 0, 100)


def _statistics(values):
    return {
        "mean": float(values.mean()),
        "sd": float(values.std()),
        **{f"p{each}": float(np.quantile(values, each / 100)) for each in (5, 50, 95, 99)},
    }
