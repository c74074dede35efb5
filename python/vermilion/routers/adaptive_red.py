"""Adaptive RED run from beside a queue: the law that a kind of router may offer for plain RED.

Adaptive RED moves the maximum probability so that the queue stays between its thresholds (S. Floyd,
R. Gummadi, S. Shenker, "Adaptive RED", 2001). Here it does so each tenth of a second, by the
backlog, and departs from the paper in two points, by which the squared deviation from a target is
.9 of the better of quick Adaptive RED and a static steep RED (benches/online_laws.py):

1. The thresholds are those of a steep RED about the target, which has a sixth of their distance
   below it: a flat slope would let a crowd's first windows pass.
2. The probability moves in proportion to itself and to the error, instead of by steps: a line with
   few flows needs a thousandth and one with many a half, and each is reached within a second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from vermilion.routers.base import HeldValues, ParameterValue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ADAPTIVE: Final = "adaptive"
"""The switch: Linux's own name for it; of a plain RED, that the law beside it runs."""

MOVED: Final = "max_probability"
"""What the law moves."""

INTERVAL_S: Final = 0.1
LOWEST: Final = 0.0005
HIGHEST: Final = 0.9
GAIN: Final = 0.2
"""Logarithm of the probability, for an error of the whole target, in one interval."""
_MOST: Final = 0.3  # in one interval

THRESHOLDS: Final = (0.75, 2.2)
"""In targets."""
WEIGHT: Final = 0.3
_BELOW: Final = (1.0 - THRESHOLDS[0]) / (THRESHOLDS[1] - THRESHOLDS[0])

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
        target = aim(parameters)
        step = GAIN * (backlog - target) / max(target, 1.0)
        probability = self.probability * math.exp(min(max(step, -_MOST), _MOST))
        return AdaptiveRed(min(max(probability, LOWEST), HIGHEST), self.due_s + INTERVAL_S)


def aim(parameters: Mapping[str, ParameterValue]) -> float:
    """Queue that the law aims at between a RED's thresholds, packets."""
    low, high = (float(parameters[f"{each}_threshold"] or 0.0) for each in ("min", "max"))
    return low + _BELOW * (high - low)


class LawBesideQueue:
    """The law beside one plain RED, with a switch among its parameters.

    Args:
        read: returns the parameters of the queue itself.
        write: sets some of them.
    """

    def __init__(
        self,
        read: Callable[[], dict[str, ParameterValue]],
        write: Callable[[Mapping[str, ParameterValue]], object],
    ) -> None:
        self._read, self._write = read, write
        self._law: AdaptiveRed | None = None
        self._last: float | None = None

    @property
    def due_s(self) -> float:
        """Time of the next move; infinite while the law is off."""
        return math.inf if self._law is None else self._law.due_s

    def parameters(self) -> dict[str, ParameterValue]:
        """Every parameter in force, with the switch where it is on."""
        in_force = self._read()
        return in_force if self._law is None else {**in_force, ADAPTIVE: True}

    def apply(self, parameters: Mapping[str, ParameterValue], now_s: float) -> None:
        """Put parameters in force; who sets the maximum probability takes it from the law."""
        values = dict(parameters)
        adaptive = values.pop(ADAPTIVE, None)
        self._write(values)
        if adaptive is True:
            # What the law had found before tells more than a static setting's slope.
            known = self._last if MOVED not in values else None
            probability = max(known or float(self._read()[MOVED] or 0.0), LOWEST)
            self._write({MOVED: probability})
            self._law = AdaptiveRed(probability, now_s + INTERVAL_S)
        elif adaptive is False or MOVED in values:
            self._law = None

    def move(self, backlog_packets: float, now_s: float) -> None:
        """Move the probability, which is due."""
        if self._law is None:
            return
        law = self._law.after(backlog_packets, self._read())
        if law.probability != self._law.probability:
            self._write({MOVED: law.probability})
        late = law.due_s <= now_s
        self._law = replace(law, due_s=now_s + INTERVAL_S) if late else law
        self._last = law.probability


class HeldBesideLaw(HeldValues):
    """Values of a RED whose maximum probability is the law's while it runs."""

    def moving(self, parameters: Mapping[str, ParameterValue]) -> frozenset[str]:
        """The maximum probability, while the law runs."""
        return frozenset((MOVED,) if parameters.get(ADAPTIVE) is True else ())
