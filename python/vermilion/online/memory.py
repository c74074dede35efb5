"""Earlier answers of the controller, and how similar the traffic was to today's.

The memory itself is the tuner's (:mod:`vermilion.tuning.answers`); here is what conditions are on
line: a picture of the traffic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.online.picture import round_trip_distance
from vermilion.tuning.answers import Answer, Answers, times_apart

if TYPE_CHECKING:
    from vermilion.online.picture import TrafficPicture

_MOST_ANSWERS = 64


class AnswerMemory:
    """Settings that were found for conditions, the oldest forgotten first."""

    def __init__(self) -> None:
        self._answers: Answers[TrafficPicture] = Answers(_MOST_ANSWERS)

    def keep(self, conditions: TrafficPicture, setting: dict[str, float]) -> None:
        """Remember the answer for these conditions."""
        self._answers.keep(Answer(conditions, dict(setting)))

    def similar(
        self, conditions: TrafficPicture, queueing_s: float, most: int
    ) -> list[dict[str, float]]:
        """The answers for the most similar conditions, the most similar first, all different."""
        nearest = self._answers.nearest(
            lambda earlier: condition_distance(earlier, conditions, queueing_s), most
        )
        return [dict(answer.setting) for _, answer in nearest]


def condition_distance(one: TrafficPicture, other: TrafficPicture, queueing_s: float) -> float:
    """How different two conditions are: 0 for equal ones, ln 2 for twice the flows or rate."""
    distance = round_trip_distance(one, other, queueing_s)
    distance += times_apart(max(one.flows, 1), max(other.flows, 1))
    if one.rate_bit_per_s and other.rate_bit_per_s:
        distance += times_apart(one.rate_bit_per_s, other.rate_bit_per_s)
    return distance
