"""VRED's readings in the two scenarios of its paper: the tables of refresh_readings.py."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from vermilion import load_scenario
from vermilion.simulate import mean_interval, run_many
from vermilion.simulate.statistics import ratio_interval

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vermilion.simulate import Result

SCENARIOS = ("vred-staged-load", "vred-sudden-load")
SEEDS = range(1, 21)
FRESH_SEEDS = range(101, 141)
QUEUE = "links.bottleneck.queue"

# What else "ns-2's default RED" can have been. The scenarios as they are written come first.
BYTE_MODE = [
    "flows.*.packet_size=1040 bytes",
    f"{QUEUE}.byte_mode=true",
    f"{QUEUE}.gentle=true",
    f"{QUEUE}.min_threshold=automatic",
    f"{QUEUE}.max_threshold=automatic",
    f"{QUEUE}.weight=automatic",
]
RENO = [
    "flows.*.sender.congestion_control=reno",
    "flows.*.sender.initial_window=2 packets",
    "flows.*.sender.clock_tick=0.01 s",
    "flows.*.sender.minimum_timeout=0.2 s",
]
SETTINGS = {
    "Tahoe before 2001, 5 and 15 packets": [],
    "Tahoe before 2001, RED of ns-2.35": BYTE_MODE,
    "Reno and RED of ns-2.35": [*BYTE_MODE, *RENO],
}

# When a velocity is taken and counts. The last one does without the paper's threshold of 5 packets.
WHEN = {
    f"{role}, {seconds} s": {"threshold_role": role, "observation_time": f"{seconds} s"}
    for role, seconds in product(("dead-band", "trigger"), ("0.01", "0.1", "1"))
} | {"trigger of 1 packet": {"threshold_role": "trigger", "growth_threshold": "0.9 packets"}}
GAINS = {
    "5/10/20/40 %": (0.05, 0.1, 0.2, 0.4),
    "10/20/40/80 %": (0.1, 0.2, 0.4, 0.8),
    "25/50/75/100 %": (0.25, 0.5, 0.75, 1.0),
}
# What the default does on seeds that did not choose it, and others with the same buffer.
OTHERS: dict[tuple[str, ...], list[str]] = {
    ("vred",): [f"{QUEUE}.discipline=vred"],
    **{
        (name,): [f'{QUEUE}={{ discipline = "{name}", limit = "50 packets" }}']
        for name in ("adaptive-red", "codel", "drop-tail")
    },
}
EDGES = {"0.1/0.3/0.6": (0.1, 0.3, 0.6), "0.01/0.03/0.06": (0.01, 0.03, 0.06)}


def readings() -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Each reading: what it is called, and what sets it."""
    for action, (when, observed), (gains, shares), (edges, limits) in product(
        ("multiply", "integrate"), WHEN.items(), GAINS.items(), EDGES.items()
    ):
        own = {"action": action, **observed}
        own |= {f"gain_{level}": str(share) for level, share in enumerate(shares, start=1)}
        own |= {f"edge_{level}": str(limit) for level, limit in enumerate(limits, start=1)}
        settings = [f"{QUEUE}.{name}={value}" for name, value in own.items()]
        settings.append(f"{QUEUE}.discipline=vred")
        yield (action, when, gains, edges), settings


def total(result: Result | None, metric: str) -> float:
    """A metric of the bottleneck in the whole run."""
    assert result is not None, "no deadline was given"  # noqa: S101 - run_many without a deadline
    return float(result.link("bottleneck").total[metric])


def cell(results: list[Any], base: list[Any]) -> tuple[float, str]:
    """Drops against the base: the change, and it as it is shown, with that of the utilisation."""
    pairs = zip(results, base, strict=True)
    drops = ratio_interval((total(a, "drops"), total(b, "drops")) for a, b in pairs)
    pairs = zip(results, base, strict=True)
    busy = mean_interval(total(a, "utilization") - total(b, "utilization") for a, b in pairs)
    if drops is None or drops.low is None or drops.high is None or busy.half_width is None:
        message = "no interval"
        raise ValueError(message)
    low, mean, high = (100 * (ratio - 1) for ratio in (drops.low, drops.mean, drops.high))
    change = f"{mean:+.1f} % ({low:+.1f} .. {high:+.1f})"
    share = f"{100 * busy.mean:+.2f} ± {100 * busy.half_width:.2f}"
    return mean, f"{change} | {share}".replace("-", "\N{MINUS SIGN}")


def compare(
    changes: list[str], queues: dict[tuple[str, ...], list[str]], seeds: range
) -> tuple[list[list[Result | None]], dict[tuple[str, ...], list[tuple[float, str]]]]:
    """RED's runs of both scenarios, and what each queue does against them."""
    base: list[list[Result | None]] = []
    found: dict[tuple[str, ...], list[tuple[float, str]]] = {}
    for scenario in SCENARIOS:
        candidates = [load_scenario(scenario, changes)]
        candidates += [load_scenario(scenario, [*changes, *own]) for own in queues.values()]
        red, *others = run_many(candidates, seeds)
        base.append(red)
        for name, results in zip(queues, others, strict=True):
            found.setdefault(name, []).append(cell(results, red))
    return base, found


def vred_tables() -> dict[str, str]:
    """Every reading as the scenarios are written; the best for each setting; the default anew."""
    measured = "S1: drops | utilisation | S2: drops | utilisation |"
    whole = [f"| action | threshold, time | gains | {measured}", "|---" * 7 + "|"]
    best = [f"| settings of ns-2 | RED drops, S1; S2 | reading | {measured}", "|---" * 7 + "|"]
    for setting, changes in SETTINGS.items():
        base, found = compare(changes, dict(readings()), SEEDS)
        if not changes:
            whole += [
                f"| {' | '.join(name[:3])} | {cells[0][1]} | {cells[1][1]} |"
                for name, cells in found.items()
                if name[3] == "0.1/0.3/0.6"
            ]
        drops = [mean_interval(total(result, "drops") for result in results) for results in base]
        red = "; ".join(f"{mean.mean:.0f} ± {mean.half_width:.0f}" for mean in drops)
        ranked = sorted(found.items(), key=lambda item: sum(change for change, _ in item[1]))
        best += [
            f"| {setting} | {red} | {', '.join(name)} | {cells[0][1]} | {cells[1][1]} |"
            for name, cells in (*ranked[:2], ranked[-1])
        ]
    anew = [f"| queue | {measured}", "|---" * 5 + "|"]
    _, found = compare([], OTHERS, FRESH_SEEDS)
    anew += [f"| {name} | {cells[0][1]} | {cells[1][1]} |" for (name,), cells in found.items()]
    return {
        "vred": "\n".join(whole),
        "vred-settings": "\n".join(best),
        "vred-default": "\n".join(anew),
    }
