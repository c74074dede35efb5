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
from dataclasses import dataclass, replace

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


@dataclass(frozen=True, slots=True)
class _Estimate:
    """A number believed, and how much it is doubted (variance)."""

    value: float = 0.0
    variance: float = 0.0

    def learned(self, measured: float, variance: float) -> _Estimate:
        """The estimate after a measurement with this variance."""
        gain = self.variance / (self.variance + variance)
        return _Estimate(self.value + gain * (measured - self.value), self.variance * (1.0 - gain))

    def doubted(self, variance: float) -> _Estimate:
        """The estimate, with so much more variance."""
        return replace(self, variance=self.variance + variance)


@dataclass(frozen=True, slots=True)
class Correction:
    """Estimated difference between the mean queues of network and model.

    A value: what teaches it returns the next one.

    Attributes:
        target_packets: the operator's target.
        bias: of the model.
        shortfall: while conditions drift.
        tuned_for: the correction for which the last search was made, packets.
    """

    target_packets: float
    bias: _Estimate
    shortfall: _Estimate = _Estimate()
    tuned_for: float = 0.0

    @classmethod
    def begin(cls, target_packets: float) -> Correction:
        """Return the prior correction."""
        return cls(target_packets, _Estimate(0.0, (_PRIOR_SD * target_packets) ** 2))

    @property
    def packets(self) -> float:
        """The whole correction, within its bound; positive where the network stands higher."""
        bound = LARGEST * self.target_packets
        return min(max(self.bias.value + self.shortfall.value, -bound), bound)

    @property
    def internal_target(self) -> float:
        """The target to tune the model for, so that the network comes to the operator's."""
        return self.target_packets - self.packets

    @property
    def due(self) -> bool:
        """True once the correction has moved enough to be worth a new search."""
        doubt = math.sqrt(self.bias.variance + self.shortfall.variance)
        moved = abs(self.packets - self.tuned_for)
        return moved > max(NEGLIGIBLE * self.target_packets, 2.0 * doubt)

    def learned(
        self, measured: float, seconds: float, noise: float, predicted: float, seen: float = 0.0
    ) -> Correction:
        """After a stretch of settled observation.

        Args:
            measured: mean queue of the network, packets.
            seconds: how long it was measured.
            noise: how far a second's mean strays from the mean in the model, packets.
            predicted: mean queue of the model under the setting in force, packets.
            seen: how far a second's mean has strayed in the network, packets.
        """
        bias = self.bias.doubted(seconds * self._squared(_WANDER_SD))
        uncertainty = max(self._uncertainty(seconds, noise), seen**2 / seconds)
        bias = bias.learned(measured - predicted, uncertainty)
        return replace(self, bias=bias)

    def learned_shortfall(
        self, measured: float, seconds: float, noise: float, promised: float
    ) -> Correction:
        """After what was delivered while conditions drifted; arguments as for ``learned``."""
        missing = measured - promised - self.bias.value
        shortfall = self.shortfall.learned(missing, self._uncertainty(seconds, noise))
        return replace(self, shortfall=shortfall)

    def conditions_drift(self) -> Correction:
        """The shortfall is doubted: conditions have moved a step."""
        return replace(self, shortfall=self.shortfall.doubted(self._squared(_SHORTFALL_SD)))

    def conditions_changed(self) -> Correction:
        """The bias is doubted, part of which belongs to the conditions; there is no drift."""
        bias = self.bias.doubted(self._squared(_CHANGE_SD))
        return replace(self, bias=bias, shortfall=_Estimate())

    def conditions_steady(self) -> Correction:
        """The shortfall is forgotten."""
        return replace(self, shortfall=_Estimate())

    def tuned(self, internal_target: float) -> Correction:
        """Remember the correction that the last search used."""
        return replace(self, tuned_for=self.target_packets - internal_target)

    def _uncertainty(self, seconds: float, noise: float) -> float:
        return (noise**2 + self._squared(_UNMODELLED_SD)) / seconds

    def _squared(self, share: float) -> float:
        return (share * self.target_packets) ** 2
