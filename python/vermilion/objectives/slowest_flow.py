"""Relative goodput of the slowest flow: starvation in one number.

The goodput of the slowest flow over the mean of all, 1 if all get the same and 0 if one gets
nothing. Jain's index of a hundred flows hardly sees one of them starve; this sees nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from vermilion.objectives.interface import FlowsObjective, measured
from vermilion.objectives.windows import flows_without_goodput

if TYPE_CHECKING:
    from vermilion.objectives.windows import FlowsWindow


@dataclass(frozen=True)
class SlowestFlow(FlowsObjective):
    """Goodput of the slowest of the flows that are meant per mean goodput, 0 to 1; maximised."""

    name: ClassVar[str] = "slowest-flow"
    summary: ClassVar[str] = "goodput of the slowest flow per mean goodput; maximised"
    goal: ClassVar[Literal["minimise", "maximise", "either"]] = "maximise"
    noticeable: ClassVar[float] = 0.01

    def value(self, window: FlowsWindow) -> float:
        """The slowest flow's share of the mean in the window, 0 to 1."""
        if flows_without_goodput(window) is not None:
            return 0.0
        return measured(self.name, window, "slowest_share")
