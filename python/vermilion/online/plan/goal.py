"""What the controller pursues: the operator's objective, and where that is a target, then some.

The operator asks for the smallest mean squared deviation of the instantaneous queue,
sd^2 + (mean - target)^2. Taken alone it trades: with few flows and long round trips the
queue swings so widely that a mean well below the target gives the smaller sum, because the
queue cannot swing below empty. A controller that promises to hold the queue *at* the target
must not take that trade, so whatever of the mean's error exceeds a tenth of the target
counts ten times.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from vermilion.objectives import LinkObjective
from vermilion.objectives.fields import OVER, TARGET

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.objectives import Objective
    from vermilion.objectives.windows import Over
    from vermilion.online.policy import Policy
    from vermilion.scenario import Scenario

FREE_ERROR = 0.10
"""Error of the mean, as a share of the target, that counts only once."""
EXCESS_WEIGHT = 9.0
"""How much more often the excess counts."""


@dataclass(frozen=True)
class HeldQueue(LinkObjective):
    """An objective: hold the instantaneous queue at ``target`` packets."""

    name: ClassVar[str] = "held-queue"
    summary: ClassVar[str] = "queue deviation, where an error of the mean above a tenth costs more"
    unit: ClassVar[str] = "packets^2"
    noticeable: ClassVar[float] = 1.0

    target: float = field(metadata=TARGET)
    over: Over = field(default="total", kw_only=True, metadata=OVER)

    @property
    def label(self) -> str:
        """What a log calls it."""
        return "cost"

    def cost(self, mean: float, sd: float) -> float:
        """The cost of a queue with this mean and standard deviation, in packets^2."""
        error = abs(mean - self.target)
        excess = max(0.0, error - FREE_ERROR * self.target)
        return sd**2 + error**2 + EXCESS_WEIGHT * excess**2

    def value(self, window: Mapping[str, Any]) -> float:
        """The cost of one measured window of a link, in packets^2."""
        queue = window["queue_packets"]
        return self.cost(queue["mean"], queue["sd"])


def goal_of(policy: Policy, model: Scenario, internal_target: float) -> Objective:
    """What is pursued in a model.

    A queue that is wanted at a target is to be held there, and a little above or below where the
    model is known to stand beside the network. Any other objective is taken as it is, told of the
    model's round trips, by which it knows what difference anyone would notice.

    Args:
        policy: what the operator wants.
        model: in which it is pursued.
        internal_target: where to put the model's queue, packets; without meaning where the
            operator has no target.
    """
    if policy.target_packets is not None:
        return HeldQueue(policy.link, internal_target)
    return policy.objective.for_scenario(model)
