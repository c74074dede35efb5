"""Conditions met before, and what was found for them.

Traffic comes back: every evening, after every failover, each time a video call ends. A regime that
returns is answered at once with the setting that did well in it, which is verified like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from vermilion.online.plan.memory import condition_distance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.sense.picture import TrafficPicture

SAME_REGIME = 0.08
"""Distance of conditions (:func:`condition_distance`) within which they count as the same."""

_MOST_REGIMES = 64


@dataclass(frozen=True, slots=True)
class Regime:
    """Conditions, and the setting that was found for them.

    Attributes:
        time_s: when its setting was last judged, in the network's time.
        picture: the conditions.
        setting: what was found for them.
        verdict: what the network said of it; ``worse`` only where it is written down that it is
            no longer to be recalled.
        predicted_mean: mean queue under it in the model, packets.
        noise: how far a second's mean strays from it in the model, packets.
        predicted_cost: the objective's value under it in the model.
        predicted_cost_before: the same under the setting it replaced.
        goal: what was wanted, in the words of the policy; "" where it was not kept.
        of_earlier_run: whether it was judged in another run, whose clock was another.
    """

    time_s: float
    picture: TrafficPicture
    setting: Mapping[str, float]
    verdict: Literal["better", "unproven", "worse"]
    predicted_mean: float
    noise: float
    predicted_cost: float
    predicted_cost_before: float
    goal: str = ""
    of_earlier_run: bool = False


@dataclass(frozen=True, slots=True)
class Regimes:
    """All regimes that are remembered, the one judged longest ago forgotten first.

    A value: what is learned makes the next one.

    Attributes:
        known: in order of their last judgement.
    """

    known: tuple[Regime, ...] = ()

    def learned(self, regime: Regime, queueing_s: float) -> Regimes:
        """With this one, in place of what was known of the same conditions."""
        others = tuple(
            each
            for each in self.known
            if condition_distance(each.picture, regime.picture, queueing_s) > SAME_REGIME
        )
        return Regimes((*others, regime)[-_MOST_REGIMES:])

    def forgotten(self, picture: TrafficPicture, queueing_s: float) -> Regimes:
        """Without what was known of these conditions: it has proved to be bad."""
        return Regimes(
            tuple(
                each
                for each in self.known
                if condition_distance(each.picture, picture, queueing_s) > SAME_REGIME
            )
        )

    def recalled(self, picture: TrafficPicture, queueing_s: float) -> Regime | None:
        """The regime that these conditions are, if they were met before."""
        near = [
            (condition_distance(each.picture, picture, queueing_s), each) for each in self.known
        ]
        apart, nearest = min(near, key=lambda entry: entry[0], default=(float("inf"), None))
        return nearest if apart <= SAME_REGIME else None
