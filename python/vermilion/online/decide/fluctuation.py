"""Loads that change faster than they can be answered.

On a radio link, or under traffic that comes and goes every few seconds, every answer is for
conditions that have passed when it is in force. Who chases them changes the router all the time and
is always late. So where conditions have changed often within a minute, one setting is sought for
all that were met in it, and what stays within their span is no change any more.

A load that grows steadily changes as often and is no fluctuation: what was met does not come back,
and one setting for all of it would be one for the past. It is followed, change by change, a little
ahead (:mod:`vermilion.online.decide.trend`), within the budget of changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vermilion.online.decide.trend import flows_of, rate_of, round_trip_of, trend_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.decide.trend import Trend
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
        trend: how fast they move, where they change often and always the same way.
    """

    changes_s: tuple[float, ...] = ()
    met: tuple[TrafficPicture, ...] = ()
    trend: Trend | None = None

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
            return replace(self, trend=None)
        since_s = pictures[-1].time_s - WITHIN_S
        trend = trend_of([each for each in pictures if each.time_s > since_s])
        return replace(self, met=() if trend else tuple(pictures), trend=trend)

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
            for of in (flows_of, rate_of, round_trip_of)
        )


def _within(value: float, met: Sequence[float]) -> bool:
    return min(met) / (1.0 + _SLACK) <= value <= max(met) * (1.0 + _SLACK)
