"""Jain's fairness index: how equally flows fare.

R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness and Discrimination for Resource
Allocation in Shared Computer Systems", DEC-TR-301, 1984: (sum x)^2 / (n sum x^2), 1 if all get
the same, k/n if k of n flows get all there is in equal parts. Flows that get nothing at all have
no index by this formula; they count as the most unequal case, 1/n. Where bulk flows are beside
others, the bulk flows alone are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from vermilion.objectives.interface import FlowsObjective, measured
from vermilion.objectives.noticeable import SHARE_OF_GOODPUT
from vermilion.objectives.windows import flows_without_goodput

if TYPE_CHECKING:
    from vermilion.objectives.windows import FlowsWindow


@dataclass(frozen=True)
class JainIndex(FlowsObjective):
    """Jain's index of the goodputs of all flows that are meant, 1/n to 1; maximised."""

    name: ClassVar[str] = "jain-index"
    summary: ClassVar[str] = "Jain's fairness index of the flows' goodputs; maximised"
    goal: ClassVar[Literal["minimise", "maximise", "either"]] = "maximise"
    noticeable: ClassVar[float] = 0.01
    noticeable_share: ClassVar[float] = SHARE_OF_GOODPUT

    def value(self, window: FlowsWindow) -> float:
        """The index over the window, 1/n to 1."""
        nothing = flows_without_goodput(window)
        if nothing is not None:
            return 1.0 / nothing
        return measured(self.name, window, "jain_index")
