"""Variation of goodput among flows: the objective for several queues at once.

The coefficient of variation sigma / mu of the goodputs of flows, whatever their group: 0 if every
flow gets the same, sqrt(n - 1) if one of n gets everything. T. Ye and S. Kalyanaraman, "Adaptive
Tuning of RED Using On-line Simulation", IEEE GLOBECOM 2002, section III.B, tune four RED queues in
a row for it, sixteen parameters as one black box.

It is what flows get and not what a queue computes, so no parameter of a queue pleases it alone.
But a link that carries little is easily shared equally: tune it under bounds on utilisation.

A window in which flows are active and nothing arrives counts as the most unequal one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from vermilion.objectives.interface import FlowsObjective, measured
from vermilion.objectives.windows import flows_without_goodput

if TYPE_CHECKING:
    from vermilion.objectives.windows import FlowsWindow


@dataclass(frozen=True)
class GoodputVariation(FlowsObjective):
    """Coefficient of variation of the goodputs of flows, a plain number."""

    name: ClassVar[str] = "goodput-variation"
    summary: ClassVar[str] = "coefficient of variation of the goodputs of flows"
    noticeable: ClassVar[float] = 0.01

    def value(self, window: FlowsWindow) -> float:
        """Standard deviation / mean of the flows' goodputs in the window.

        Raises:
            NotMeasuredError: flows come and go, so that no single one has a goodput.
        """
        nothing = flows_without_goodput(window)
        if nothing is not None:
            return math.sqrt(nothing - 1)
        return measured(self.name, window, "goodput_cov")
