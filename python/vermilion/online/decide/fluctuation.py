"""Loads that change faster than they can be answered.

On a radio link, or under traffic that comes and goes every few seconds, every answer is for
conditions that have passed when it is in force. Who chases them changes the router all the time and
is always late. So where conditions have changed often within a minute, one setting is sought for
all that were met in it, and what stays within their span is no change any more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.sense.picture import TrafficPicture

WITHIN_S = 60.0
"""Over which changes are counted."""

OFTEN = 4
"""Changes within that time from which on conditions count as fluctuating: one every quarter of a
minute, while an answer, its observation and its refinement take about ten seconds."""

CALM_S = 30.0
"""Conditions that have not changed for so long no longer fluctuate."""

_SLACK = 0.15  # share by which conditions may leave the span of those met


@dataclass(frozen=True, slots=True)
class Fluctuation:
    """How often conditions have changed lately, and within which span.

    A value: every change makes the next one.

    Attributes:
        changes_s: when they changed, of the last minute, ascending.
        met: what they were while they fluctuated; empty while they do not.
    """

    changes_s: tuple[float, ...] = ()
    met: tuple[TrafficPicture, ...] = ()

    @property
    def lasts(self) -> bool:
        """Whether one setting is sought for all conditions met."""
        return bool(self.met)

    @property
    def usual_s(self) -> float:
        """How long conditions have lasted lately, from one change to the next; 0 while unknown."""
        if len(self.changes_s) < 2:  # noqa: PLR2004 - a change and the next
            return 0.0
        return (self.changes_s[-1] - self.changes_s[0]) / (len(self.changes_s) - 1)

    def changed(self, now_s: float) -> Fluctuation:
        """After one more change."""
        lately = tuple(time_s for time_s in self.changes_s if time_s > now_s - WITHIN_S)
        return replace(self, changes_s=(*lately, now_s))

    def with_conditions(self, pictures: Sequence[TrafficPicture]) -> Fluctuation:
        """Once a model is due: whether it has to be one of all these conditions.

        Args:
            pictures: the conditions of the last models and of this one, oldest first.
        """
        if len(self.changes_s) < OFTEN and not self.lasts:
            return self
        return replace(self, met=tuple(pictures))

    def calmed(self, now_s: float) -> Fluctuation:
        """After a look at the clock: nothing has changed for a while."""
        if not self.lasts or (self.changes_s and now_s - self.changes_s[-1] < CALM_S):
            return self
        return Fluctuation()

    def spans(self, picture: TrafficPicture) -> bool:
        """Whether these conditions are within what was met."""
        return self.lasts and all(
            _within(of(part), [of(each.parts[place]) for each in self.met])
            for place, part in enumerate(picture.parts)
            for of in (_flows, _rate, _round_trip)
        )


def _flows(picture: TrafficPicture) -> float:
    return float(picture.flows)


def _rate(picture: TrafficPicture) -> float:
    return picture.rate_bit_per_s or 0.0


def _round_trip(picture: TrafficPicture) -> float:
    trips = picture.base_rtts_s
    return sum(trips) / len(trips) if trips else 0.0


def _within(value: float, met: Sequence[float]) -> bool:
    return min(met) / (1.0 + _SLACK) <= value <= max(met) * (1.0 + _SLACK)
