"""Rules of the literature for setting RED, as settings for a cell.

Most rules do not ask what the queue is for; where one can be told a target, it is there twice. All
of them have ``max_probability`` 0.1 unless their source says otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vermilion_lab.atlas.scenarios import packets_per_second, pipe_packets, target_packets

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion_lab.atlas.plan import Condition, Plan

RED_LIKE: Final = ("red", "ns2-red")
"""Disciplines that the rules are for."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the literature.

    Attributes:
        name: in tables and figures.
        source: where it comes from.
        queue: the queue that it asks for in a cell.
    """

    name: str
    source: str
    queue: Callable[[Plan, Condition], dict[str, Any]]


def automatic_weight(plan: Plan, condition: Condition) -> float:
    """1 - exp(-1/(10 R C)), R = max(0.1 s, 3 (link delay + 1/C)): ns-2's ``q_weight_ -1``."""
    rate = packets_per_second(plan, condition)
    trip = max(0.1, 3.0 * (condition.round_trip_s / 4.0 + 1.0 / rate))
    return -math.expm1(-1.0 / (10.0 * trip * rate))


def stable_weight(rate: float, flows: float, round_trip_s: float, slope: float) -> float | None:
    """The largest weight for which the linearised loop of TCP and RED is stable.

    Args:
        rate: of the link, packets/s.
        flows: at least so many.
        round_trip_s: at most so long, queueing included.
        slope: of the drop probability, 1/packets.

    Returns:
        ``None`` where the slope is small enough for any weight.
    """
    gain = slope * (round_trip_s * rate) ** 3 / (2.0 * flows) ** 2
    if gain <= 1.0:
        return None
    crossover = 0.1 * min(2.0 * flows / (round_trip_s**2 * rate), 1.0 / round_trip_s)
    return -math.expm1(-crossover / math.sqrt(gain**2 - 1.0) / rate)


def _red(
    low: float, high: float, probability: float, weight: float, **more: object
) -> dict[str, object]:
    return {
        "discipline": "red",
        "min_threshold": low,
        "max_threshold": high,
        "max_probability": probability,
        "weight": weight,
        **more,
    }


def _automatic(plan: Plan, condition: Condition, delay_s: float) -> dict[str, object]:
    low = max(5.0, delay_s * packets_per_second(plan, condition) / 2.0)
    return _red(low, 3.0 * low, 0.1, automatic_weight(plan, condition), gentle=True)


def _adaptive(plan: Plan, condition: Condition) -> dict[str, object]:
    del condition
    return {
        "discipline": "adaptive-red",
        "min_threshold": "automatic",
        "max_threshold": "automatic",
        "weight": "automatic",
        "max_probability": 0.1,
        "target_delay": f"{plan.delay_s!r} s",
    }


def _stable(plan: Plan, condition: Condition) -> dict[str, object]:
    target = target_packets(plan, condition)
    low, high = 0.5 * target, 1.5 * target
    rate = packets_per_second(plan, condition)
    trip = condition.round_trip_s + plan.delay_s
    weight = stable_weight(rate, condition.flows, trip, 0.1 / (high - low))
    return _red(low, high, 0.1, 1.0 if weight is None else weight, gentle=True)


def _pipes(plan: Plan, condition: Condition) -> dict[str, object]:
    pipe = max(2.0, pipe_packets(plan, condition))
    limit = f"{math.ceil(6.0 * pipe)} packets"
    return _red(2.0 * pipe, 3.0 * pipe, 0.1, 0.002, gentle=True, limit=limit)


RULES: Final = (
    Rule(
        "RED 1993",
        "Floyd and Jacobson 1993: 5, 15, 1/50, 0.002",
        lambda _plan, _condition: _red(5.0, 15.0, 0.02, 0.002),
    ),
    Rule(
        "Floyd 1997/2000",
        "Floyd's recommendations of 1997 (5, 15, 0.1, 0.002) and 2000 (gentle)",
        lambda _plan, _condition: _red(5.0, 15.0, 0.1, 0.002, gentle=True),
    ),
    Rule(
        "ns-2 automatic",
        "ns-2.35: thresholds for a delay of 5 ms, weight by rate and delay; Floyd, Gummadi and "
        "Shenker 2001",
        lambda plan, condition: _automatic(plan, condition, 0.005),
    ),
    Rule(
        "ns-2 automatic, told the target",
        "the same with the plan's target for the 5 ms",
        lambda plan, condition: _automatic(plan, condition, plan.delay_s),
    ),
    Rule(
        "adaptive RED, told the target",
        "Floyd, Gummadi and Shenker 2001; it moves its maximum probability by itself",
        _adaptive,
    ),
    Rule(
        "stable loop around the target",
        "Hollot, Misra, Towsley and Gong 2001, proposition 1: the largest weight that it allows "
        "for thresholds at 0.5 and 1.5 targets",
        _stable,
    ),
    Rule(
        "2 and 3 BDP",
        "a rule of thumb: thresholds at two and three bandwidth-delay products, weight 0.002",
        _pipes,
    ),
)
"""All of them, in the order in which they were published."""
