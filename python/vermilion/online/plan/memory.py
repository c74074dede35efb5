"""Earlier answers of the controller, and how similar the traffic was to today's.

How answers are ranked is the tuner's (:mod:`vermilion.tuning.earlier_answers`); here is what
conditions are on line: a picture of the traffic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vermilion.online.sense.picture import round_trip_distance
from vermilion.tuning.earlier_answers import EarlierAnswer, nearest_answers, times_apart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.sense.picture import TrafficPicture

_MOST_ANSWERS = 64


@dataclass(frozen=True, slots=True)
class AnswerMemory:
    """Settings that were found for conditions, the oldest forgotten first.

    A value: what is kept makes the next one.

    Attributes:
        answers: the oldest first.
    """

    answers: tuple[EarlierAnswer[TrafficPicture], ...] = ()

    def kept(self, conditions: TrafficPicture, setting: Mapping[str, float]) -> AnswerMemory:
        """The memory with the answer for these conditions."""
        answers = (*self.answers, EarlierAnswer(conditions, dict(setting)))[-_MOST_ANSWERS:]
        return replace(self, answers=answers)

    def similar(
        self, conditions: TrafficPicture, queueing_s: float, most: int
    ) -> tuple[tuple[float, Mapping[str, float]], ...]:
        """(distance, setting) for the most similar conditions, these first, all different."""
        nearest = nearest_answers(
            self.answers,
            lambda earlier: condition_distance(earlier, conditions, queueing_s),
            most,
        )
        return tuple((apart, answer.setting) for apart, answer in nearest)


def condition_distance(one: TrafficPicture, other: TrafficPicture, queueing_s: float) -> float:
    """How different two conditions are: 0 for equal ones, ln 2 for twice the flows or rate.

    Of several queues the one that differs most counts.
    """
    if len(one.parts) > 1 and len(one.parts) == len(other.parts):
        return max(
            condition_distance(mine, theirs, queueing_s)
            for mine, theirs in zip(one.parts, other.parts, strict=True)
        )
    distance = round_trip_distance(one, other, queueing_s)
    distance += times_apart(max(one.flows, 1), max(other.flows, 1))
    if one.rate_bit_per_s and other.rate_bit_per_s:
        distance += times_apart(one.rate_bit_per_s, other.rate_bit_per_s)
    return distance
