"""A congestion control as a plugin: see docs/own-congestion-control.md."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from vermilion import CongestionControl, number

if TYPE_CHECKING:
    from vermilion._core import Acknowledgement, Reduction, Window


class SquareRootIncrease(CongestionControl):
    """Grows and shrinks with the square root of the window (SQRT of Bansal and Balakrishnan)."""

    name = "square-root-increase"
    source = "D. Bansal, H. Balakrishnan, Binomial Congestion Control Algorithms, INFOCOM 2001"
    parameters = (
        number("increase", "packets", 1, 0.01, 100, search=(0.1, 10), scale="log"),
        number("decrease", "1", 0.5, 0.01, 1, search=(0.1, 1)),
    )

    def on_ack(self, ack: Acknowledgement, window: Window) -> None:  # noqa: ARG002 - not needed here
        """A packet for each one in slow start, later increase / sqrt(window) in a round trip."""
        if window.in_slow_start:
            window.size += 1
        else:
            window.size += self.increase / window.size**1.5

    def on_loss(self, loss: Reduction, window: Window) -> float:  # noqa: ARG002 - as above
        """A part of the square root of what is to be reduced."""
        return max(1.0, loss.base - self.decrease * sqrt(loss.base))
