"""Effort: how much is simulated, so that time is kept on any network.

A plan is made in packets' work and never in seconds, so that the same question has the same answer
everywhere. A fast line sends more packets in the least time that tells something. Then there are
fewer conditions and seeds, and beyond that nothing is judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.advise.conditions import packet_time_s, subset
from vermilion.advise.scaled_line import ScaledLine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.advise.conditions import Condition
    from vermilion.advise.measuring import Laboratory
    from vermilion.advise.question import Question, QueueSetting

LEAST_SEEDS: Final = 3
"""Of a comparison: fewer show nothing."""

LEAST_COMPARED: Final = 3
"""Queues of a comparison, that in force among them."""

SCREENING: Final = 0.2
SEARCH: Final = 0.35
COMPARISON: Final = 0.6
"""Parts of the budget; the comparison gets what the others have left, and this at the least."""

PROBES: Final = 0.05
"""Part of the budget for conditions around the range."""

_PACKETS_OF_A_BOUND: Final = 20.0
_LEAST_WINDOW: Final = 24.0
_MOST_SCALE: Final = 1024
_SPARE: Final = 1.1
_MORE: Final = 3


def affordable_conditions(
    conditions: Sequence[Condition], laboratory: Laboratory
) -> list[Condition] | None:
    """The conditions of a comparison: all, or the corners that matter most.

    ``None`` where not even the least comparison of these is within the budget.
    """
    for some in (list(conditions), subset(conditions)):
        if _least_cost(some, laboratory) <= COMPARISON * laboratory.budget:
            return some
    return None


def may_shrink(question: Question, queue: QueueSetting) -> bool:
    """Check whether a line of half the rate may still stand for this one.

    A packet then takes twice as long: not more than a twentieth of the bound or of a round trip.
    Windows have some packets left, and queues that are told a bound are.
    """
    scale = 2 * question.scale
    packet_s = scale * packet_time_s(question)
    trip = question.round_trip_s[0]
    if scale > _MOST_SCALE or packet_s > min(question.bound_s, trip) / _PACKETS_OF_A_BOUND:
        return False
    models = {flows: ScaledLine.of(flows, scale).windows for flows in question.flows}
    product = (trip + question.bound_s) / packet_time_s(question)
    if not ScaledLine(scale).suits(queue):
        return False
    return all(
        windows == 1 or product / (flows * windows) >= _LEAST_WINDOW
        for flows, windows in models.items()
    )


def needed_budget(conditions: Sequence[Condition], laboratory: Laboratory) -> float:
    """The budget with which there would be a judgement."""
    return _SPARE * _least_cost(subset(conditions), laboratory) / COMPARISON


def _least_cost(conditions: Sequence[Condition], laboratory: Laboratory) -> float:
    return laboratory.cost(conditions, 0.0, LEAST_COMPARED, LEAST_SEEDS)


def seeds_for(
    conditions: Sequence[Condition], laboratory: Laboratory, queues: int, most: int, packets: float
) -> int:
    """Number of seeds that a comparison has room for.

    As many as are usual if runs of the least length allow it; on a slow line, where a full run is
    cheap, up to three times as many, because few seeds are mistaken about harm.

    Args:
        conditions: of the comparison.
        laboratory: of which the costs are.
        queues: that are compared.
        most: how many are usual.
        packets: what the comparison may cost.
    """
    least = int(packets / laboratory.cost(conditions, 0.0, queues, 1))
    full = int(packets / laboratory.cost(conditions, 1.0, queues, 1))
    return max(min(max(least, LEAST_SEEDS), most), min(full, _MORE * most))
