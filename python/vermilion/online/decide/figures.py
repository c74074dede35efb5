"""What was measured under a setting, beside what was promised and what was before."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.objectives import Objective
    from vermilion.online.sense.stretch import Stretch
    from vermilion.simulate.statistics import Interval


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the model said before the change.

    Attributes:
        cost_before: the objective under the old setting in the present conditions.
        cost_after: the same under the new one.
        mean_after: mean queue under the new setting, packets.
        most_starved: how many flows may starve under it without harm; ``None`` for any number.
        starved_over_s: in stretches of this length.
        of_model: whether a model said so, and not a measurement of what was before.
        first_beside_previous: what each metric with a bound of harm would be more under the first
            setting than under the one before, by its path; none where they are the same.
    """

    cost_before: float
    cost_after: float
    mean_after: float
    most_starved: float | None = None
    starved_over_s: float = 0.0
    of_model: bool = True
    first_beside_previous: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers of a verdict: said in a sentence and written down from the same values.

    Attributes:
        objective: what is minimised or maximised.
        expected: what the model said.
        seconds: how long was measured.
        mean_queue_packets: under the new setting.
        utilization: the same.
        signal_rate: the same, packets dropped or marked over all.
        now: the objective's value, where it can be measured.
        then: the same before the change, where that was measured.
        utilization_before: before the change, where that was measured.
    """

    objective: Objective
    expected: Expectation
    seconds: float
    mean_queue_packets: float
    utilization: float
    signal_rate: float
    now: Interval | None
    then: Interval | None
    utilization_before: float | None

    @classmethod
    def of(
        cls, after: Stretch, before: Stretch | None, expected: Expectation, objective: Objective
    ) -> Figures:
        """The figures of two stretches.

        Args:
            after: under the new setting.
            before: under the old one in the same conditions, where that was measured.
            expected: what the model said.
            objective: of the operator.
        """
        return cls(
            objective,
            expected,
            after.seconds,
            after.queue.mean,
            after.utilization.mean,
            after.signal_rate,
            after.objective(objective),
            None if before is None else before.objective(objective),
            None if before is None else before.utilization.mean,
        )

    def in_words(self) -> str:
        """Like "mean queue 30 packets (model 31), queue-deviation 4 packets^2 (...)"."""
        expected, objective = self.expected, self.objective
        unit = f" {objective.unit}" if objective.unit else ""
        stood = f"{'model' if expected.of_model else 'before'} {expected.mean_after:.1f}"
        parts = [f"mean queue {self.mean_queue_packets:.1f} packets ({stood})"]
        if self.now is not None:
            compared = (
                f"model of the old setting {expected.cost_before:.4g}"
                if self.then is None
                else f"before {self.then.mean:.4g}"
            )
            model = f"model {expected.cost_after:.4g}, " if expected.of_model else ""
            parts.append(f"{objective.label} {self.now.mean:.4g}{unit} ({model}{compared})")
        utilization = f"utilisation {self.utilization:.1%}"
        if self.utilization_before is not None:
            utilization += f" (before {self.utilization_before:.1%})"
        return ", ".join([*parts, utilization])

    def details(self) -> dict[str, object]:
        """The numbers, for the journal; those of the objective are in its unit."""
        from vermilion.objectives.queue_deviation import QueueDeviation

        now, expected = self.now, self.expected
        numbers: dict[str, object] = {
            "mean_queue_packets": self.mean_queue_packets,
            "utilization": self.utilization,
            "signal_rate": self.signal_rate,
            "seconds": self.seconds,
            "objective": self.objective.name,
            "unit": self.objective.unit,
            "measured": None if now is None else now.mean,
            "measured_half_width": None if now is None else now.half_width,
            "measured_before": None if self.then is None else self.then.mean,
            "utilization_before": self.utilization_before,
        }
        if expected.of_model:
            numbers["model_mean_queue_packets"] = expected.mean_after
            numbers["model_objective"] = expected.cost_after
            numbers["model_objective_before"] = expected.cost_before
        else:
            numbers["mean_queue_before_packets"] = expected.mean_after
            numbers["measured_before"] = expected.cost_before
        if isinstance(self.objective, QueueDeviation) and now is not None:
            numbers["squared_deviation"] = now.mean
            numbers["squared_deviation_half_width"] = now.half_width
        return numbers
