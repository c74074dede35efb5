"""The slow outer loop that removes what bias is left between model and network.

A model is never the network. The setting that puts the model's mean queue at the target then
puts the network's a few packets beside it, and the model must be tuned for the target less
that difference. Two differences are kept apart because they end differently:

- the *bias* of the model itself, learned from settled observations. It is estimated by a
  Kalman filter of one state (R. E. Kalman, 1960): every stretch of observation shifts the
  estimate in proportion to how much more is known from it than from before, so that a noisy
  queue teaches slowly and a quiet one quickly;
- the *shortfall* while conditions drift. A model describes the traffic as it was when the
  search began and as if it had always been so, while in truth the traffic has moved on and
  young flows have not found their windows. What the last answer failed to deliver, the next
  would fail to deliver too. The shortfall is forgotten as soon as conditions are steady.

Two bounds keep this from becoming a second controller that fights the first: together they
never exceed a quarter of the target, and a new search needs a change that is significant and
matters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

LARGEST = 0.25
"""Largest correction, as a share of the target."""
NEGLIGIBLE = 0.05
"""Change of the correction, as a share of the target, that is not worth a new search."""

# Standard deviations, as shares of the target.
_PRIOR_SD = 0.10  # of a new model's bias
_CHANGE_SD = 0.10  # of what a change of conditions does to the bias
_WANDER_SD = 0.01  # of what a second does to the bias
_SHORTFALL_SD = 0.25  # of what a step of a drift does to the shortfall
_UNMODELLED_SD = 0.05  # of a second's mean, beyond the noise the model shows


@dataclass(slots=True)
class _Estimate:
    """A number believed, and how much it is doubted (variance)."""

    value: float
    variance: float

    def learn(self, measured: float, variance: float) -> None:
        """Take in a measurement with this variance."""
        gain = self.variance / (self.variance + variance)
        self.value += gain * (measured - self.value)
        self.variance *= 1.0 - gain


class OuterCorrection:
    """How much higher the network's mean queue stands than the model's, as far as is known."""

    def __init__(self, target_packets: float) -> None:
        self._target = target_packets
        self._bias = _Estimate(0.0, self._squared(_PRIOR_SD))
        self._shortfall = _Estimate(0.0, 0.0)
        self._tuned_for = 0.0

    @property
    def packets(self) -> float:
        """The whole correction, within its bound; positive where the network stands higher."""
        bound = LARGEST * self._target
        return min(max(self._bias.value + self._shortfall.value, -bound), bound)

    @property
    def internal_target(self) -> float:
        """The target to tune the model for, so that the network comes to the operator's."""
        return self._target - self.packets

    def learn(self, measured: float, seconds: float, noise: float, predicted: float) -> None:
        """Take in a stretch of settled observation.

        Args:
            measured: mean queue of the network, packets.
            seconds: how long it was measured.
            noise: how far a second's mean strays from the mean in the model, packets.
            predicted: mean queue of the model under the setting in force, packets.
        """
        self._bias.variance += seconds * self._squared(_WANDER_SD)
        self._bias.learn(measured - predicted, self._uncertainty(seconds, noise))

    def learn_shortfall(
        self, measured: float, seconds: float, noise: float, promised: float
    ) -> None:
        """Take in what was delivered while conditions drifted; arguments as for ``learn``."""
        self._shortfall.learn(
            measured - promised - self._bias.value, self._uncertainty(seconds, noise)
        )

    def conditions_drift(self) -> None:
        """Doubt the shortfall: conditions have moved a step."""
        self._shortfall.variance += self._squared(_SHORTFALL_SD)

    def conditions_changed(self) -> None:
        """Doubt the bias, part of which belongs to the conditions; there is no drift."""
        self._bias.variance += self._squared(_CHANGE_SD)
        self.conditions_steady()

    def conditions_steady(self) -> None:
        """Forget the shortfall."""
        self._shortfall = _Estimate(0.0, 0.0)

    def tuned(self, internal_target: float) -> None:
        """Remember what the last search was asked for."""
        self._tuned_for = self._target - internal_target

    @property
    def due(self) -> bool:
        """Whether the correction has moved enough since the last search to be worth a new one."""
        doubt = math.sqrt(self._bias.variance + self._shortfall.variance)
        return abs(self.packets - self._tuned_for) > max(NEGLIGIBLE * self._target, 2.0 * doubt)

    def _uncertainty(self, seconds: float, noise: float) -> float:
        return (noise**2 + self._squared(_UNMODELLED_SD)) / seconds

    def _squared(self, share: float) -> float:
        return (share * self._target) ** 2
