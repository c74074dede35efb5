"""What a reader is shown of an objective: words instead of a path, "%" instead of a fraction.

An objective that has a name of its own keeps it, and so does a metric that is not listed here: a
path says what it is, only not as shortly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vermilion.objectives.price import PRICE

_DELAY: Final = {"mean": "mean", "p50": "median", "p95": "p95", "p99": "p99", "max": "longest"}
_QUEUE: Final = {"mean": "mean", "p95": "p95", "max": "longest"}

METRIC_WORDS: Final = {
    "utilization": "utilisation",
    "drop_rate": "dropped",
    "mark_rate": "marked",
    "goodput_bit_per_s.total": "goodput",
    "jain_index": "fairness (Jain)",
    "slowest_share": "slowest flow, of the mean",
    "starved": "starved flows",
    **{f"sojourn_ms.{key}": f"{word} queueing delay" for key, word in _DELAY.items()},
    "queue_packets.sd": "standard deviation of the queue",
    **{f"queue_packets.{key}": f"{word} queue" for key, word in _QUEUE.items()},
}
"""What a narrow heading calls a metric, by its name in docs/metrics.md."""

_UNITS: Final = {row.metric: (row.unit, row.factor) for row in PRICE}


@dataclass(frozen=True, slots=True)
class ShownObjective:
    """An objective as a table or a figure shows it.

    Attributes:
        name: what it is called.
        unit: of its values, "" for a plain number.
        factor: from the objective's own unit to that.
    """

    name: str
    unit: str
    factor: float


def shown_objective(label: str, unit: str) -> ShownObjective:
    """How an objective is shown.

    Args:
        label: its name, or a path like ``links.bottleneck.sojourn_ms.mean``.
        unit: its own.

    >>> shown_objective("links.bottleneck.utilization", "")
    ShownObjective(name='utilisation', unit='%', factor=100.0)
    >>> shown_objective("queue-deviation", "packets^2")
    ShownObjective(name='queue-deviation', unit='packets^2', factor=1.0)
    """
    room, _, rest = label.partition(".")
    metric = rest.partition(".")[2]
    if room not in {"links", "flows"} or metric not in METRIC_WORDS:
        return ShownObjective(label, unit, 1.0)
    shown, factor = _UNITS.get(metric, (unit, 1.0))
    return ShownObjective(METRIC_WORDS[metric], shown, factor)


def shown_objectives(labels: tuple[str, ...], units: tuple[str, ...]) -> list[ShownObjective]:
    """How several objectives are shown beside each other: by their paths if words are the same."""
    shown = [shown_objective(*each) for each in zip(labels, units, strict=True)]
    if len({each.name for each in shown}) == len(shown):
        return shown
    return [
        ShownObjective(label, each.unit, each.factor)
        for label, each in zip(labels, shown, strict=True)
    ]
