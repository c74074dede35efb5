"""Earlier answers: where to begin the next search.

Conditions come back (every evening, after every failover). The setting that was best for
the most similar conditions seen so far is a better first guess than any random one; the
search tries it, and the setting in force, before anything else.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

from vermilion.online.picture import round_trip_distance

if TYPE_CHECKING:
    from vermilion.online.picture import TrafficPicture

_MOST_ANSWERS = 64


class AnswerMemory:
    """Settings that were found for conditions, the oldest forgotten first."""

    def __init__(self) -> None:
        self._answers: deque[tuple[TrafficPicture, dict[str, float]]] = deque(maxlen=_MOST_ANSWERS)

    def keep(self, conditions: TrafficPicture, setting: dict[str, float]) -> None:
        """Remember the answer for these conditions."""
        self._answers.append((conditions, dict(setting)))

    def similar(
        self, conditions: TrafficPicture, queueing_s: float, most: int
    ) -> list[dict[str, float]]:
        """The answers for the most similar conditions, the most similar first, all different."""
        newest_first = list(self._answers)[::-1]  # among equally similar ones
        ranked = sorted(
            newest_first, key=lambda a: condition_distance(a[0], conditions, queueing_s)
        )
        found: list[dict[str, float]] = []
        for _, setting in ranked:
            if setting not in found:
                found.append(dict(setting))
            if len(found) == most:
                break
        return found


def condition_distance(one: TrafficPicture, other: TrafficPicture, queueing_s: float) -> float:
    """How different two conditions are: 0 for equal ones, ln 2 for twice the flows or rate."""
    distance = round_trip_distance(one, other, queueing_s)
    distance += abs(math.log(max(one.flows, 1) / max(other.flows, 1)))
    if one.rate_bit_per_s and other.rate_bit_per_s:
        distance += abs(math.log(one.rate_bit_per_s / other.rate_bit_per_s))
    return distance
