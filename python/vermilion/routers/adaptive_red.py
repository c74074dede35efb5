"""Adaptive RED run from beside a queue: the law that a kind of router may offer for plain RED.

S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED: An Algorithm for Increasing the Robustness of RED's
Active Queue Management", 2001: RED's maximum probability grows additively while the average stands
in the upper two fifths between the thresholds, and shrinks by a tenth in the lower two. Here every
tenth of a second (the paper: half a second), down to a twentieth of the paper's floor, for fast
links; and with the backlog in place of the average, which is meant to be quick.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.routers.base import HeldValues, ParameterValue

if TYPE_CHECKING:
    from collections.abc import Mapping

ADAPTIVE: Final = "adaptive"
"""The switch: Linux's own name for it; of a plain RED, that the law beside it runs."""

MOVED: Final = "max_probability"
"""What the law moves."""

INTERVAL_S: Final = 0.1
LOWEST: Final = 0.0005
HIGHEST: Final = 0.5
INCREASE: Final = (0.01, 0.25)  # at most, and of the probability
_DECREASE: Final = 0.9
_MIDDLE: Final = 0.4  # of the distance between the thresholds, at either end, outside of it

PLAIN_RED: Final = "red"
"""The discipline beside which the law can run."""


@dataclass(frozen=True, slots=True)
class AdaptiveRed:
    """The law, between two of its moves.

    Attributes:
        probability: the maximum probability in force.
        due_s: time of the next move.
    """

    probability: float
    due_s: float

    def after(self, backlog: float, parameters: Mapping[str, ParameterValue]) -> AdaptiveRed:
        """The law after a move.

        Args:
            backlog: packets waiting now.
            parameters: RED's in force; its thresholds are read.
        """
        low, high = (float(parameters[f"{each}_threshold"] or 0.0) for each in ("min", "max"))
        outside = _MIDDLE * (high - low)
        probability = self.probability
        if backlog > high - outside and probability < HIGHEST:
            probability += min(INCREASE[0], INCREASE[1] * probability)
        elif backlog < low + outside and probability > LOWEST:
            probability *= _DECREASE
        return AdaptiveRed(probability, self.due_s + INTERVAL_S)


class HeldBesideLaw(HeldValues):
    """Values of a RED whose maximum probability is the law's while it runs."""

    def moving(self, parameters: Mapping[str, ParameterValue]) -> frozenset[str]:
        """The maximum probability, while the law runs."""
        return frozenset((MOVED,) if parameters.get(ADAPTIVE) is True else ())
