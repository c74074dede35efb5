"""Constraints: what a setting must hold, whatever the objective gains by breaking it.

``links.bottleneck.utilization >= 0.95`` is absolute;
``links.bottleneck.utilization >= 0.95 of reference`` is relative to what another setting, the
one in force, reaches with the same seeds. A constraint must hold in every measured phase: an
average would let one phase pay for another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.objectives.interface import link_windows
from vermilion.scenario.errors import ScenarioError, did_you_mean
from vermilion.scenario.quantities import (
    PACKETS,
    RATIO,
    SIZE,
    TIME,
    Dimension,
    QuantityError,
    parse_quantity,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.scenario import Scenario
    from vermilion.simulate import Result

_STATISTICS: Final = ("mean", "sd", "p5", "p50", "p95", "p99", "max")
_SIMPLE_METRICS: Final = {
    "utilization": RATIO,
    "drop_rate": RATIO,
    "mark_rate": RATIO,
    "loss_rate": RATIO,
    "packets_forwarded": PACKETS,
    "arrivals": PACKETS,
    "drops": PACKETS,
    "marks": PACKETS,
    "losses": PACKETS,
}
_DISTRIBUTIONS: Final = {
    "queue_packets": PACKETS,
    "average_queue_packets": PACKETS,
    "queue_bytes": SIZE,
    "sojourn_ms": TIME,
}
METRICS: Final[Mapping[str, Dimension]] = {
    **_SIMPLE_METRICS,
    **{
        f"{name}.{statistic}": dimension
        for name, dimension in _DISTRIBUTIONS.items()
        for statistic in _STATISTICS
    },
}
"""What can be constrained, each with the kind of quantity that its bound is."""

_FORM: Final = re.compile(
    r"\s*links\.(?P<link>[^.\s]+)\.(?P<metric>[^\s<>=]+)\s*(?P<relation>>=|<=)"
    r"\s*(?P<bound>.*?)(?P<relative>\s+of\s+reference)?\s*"
)
_NUMBER: Final = re.compile(r"[-+0-9.eE]+")
_ACCEPTED: Final = (
    '"links.NAME.METRIC >= NUMBER" (or <=), optionally "of reference", like '
    '"links.bottleneck.utilization >= 0.95" or "links.bottleneck.sojourn_ms.p99 <= 80 ms"'
)


@dataclass(frozen=True, slots=True)
class Constraint:
    """One bound on one metric of one link, in every measured phase.

    Attributes:
        text: as written.
        link: whose metric.
        metric: dotted, like ``queue_packets.p95``.
        at_least: whether the bound is a lower one.
        bound: in the metric's own unit; a factor where ``of_reference``.
        of_reference: whether the bound is relative to the reference setting's value.
    """

    text: str
    link: str
    metric: str
    at_least: bool
    bound: float
    of_reference: bool = False

    @classmethod
    def parse(
        cls, text: str, *, field: str = "constraint", scenario: Scenario | None = None
    ) -> Constraint:
        """Reads a constraint.

        Args:
            text: see the head of this module.
            field: where it stands, for messages.
            scenario: to which the link must belong; unchecked if not given.

        Raises:
            ScenarioError: the text is no constraint, or names what does not exist.
        """
        origin = "" if scenario is None else scenario.origin
        form = _FORM.fullmatch(text)
        if form is None:
            raise ScenarioError(field, text, _ACCEPTED, origin)
        link, metric = form["link"], form["metric"]
        if scenario is not None and link not in scenario.links:
            accepted = f"a link of this scenario, {did_you_mean(link, scenario.links)}"
            raise ScenarioError(field, text, accepted, origin)
        if metric not in METRICS:
            raise ScenarioError(field, text, f"a metric, {did_you_mean(metric, METRICS)}", origin)
        relative = form["relative"] is not None
        dimension = RATIO if relative else METRICS[metric]
        try:
            bound = _bound(form["bound"], dimension)
        except QuantityError as error:
            accepted = f"{error.accepted} as the bound"
            raise ScenarioError(field, text, accepted, origin) from None
        return cls(text.strip(), link, metric, form["relation"] == ">=", bound, relative)

    def values(self, result: Result) -> list[float | None]:
        """The metric in each measured phase; ``None`` where it cannot be computed."""
        return [metric_of(window, self.metric) for window in link_windows(result, self.link)]

    def margins(
        self, values: Sequence[float | None], reference: Sequence[float | None] | None = None
    ) -> list[float | None]:
        """By how much the bound is kept in each phase, in the metric's unit; negative: broken.

        Args:
            values: of :meth:`values`.
            reference: the same of the reference setting, for the relative form.

        Returns:
            One number for each phase; ``None`` where a value that is needed is absent.
        """
        bounds = self.bounds(values, reference)
        sign = 1.0 if self.at_least else -1.0
        return [
            None if value is None or bound is None else sign * (value - bound)
            for value, bound in zip(values, bounds, strict=True)
        ]

    def bounds(
        self, values: Sequence[float | None], reference: Sequence[float | None] | None = None
    ) -> list[float | None]:
        """The bound in each phase, in the metric's unit.

        Args:
            values: of :meth:`values`.
            reference: the same of the reference setting, for the relative form.
        """
        if not self.of_reference:
            return [self.bound] * len(values)
        if reference is None:
            message = f"{self.text}: the reference's values are needed"
            raise ValueError(message)
        return [None if value is None else self.bound * value for value in reference]

    def margin(self, result: Result, reference: Result | None = None) -> float | None:
        """The smallest margin of all phases; ``None`` where a value that is needed is absent."""
        known = None if reference is None else self.values(reference)
        margins = self.margins(self.values(result), known)
        present = [margin for margin in margins if margin is not None]
        return min(present) if len(present) == len(margins) else None


def relative_violation(margin: float, bound: float) -> float:
    """How badly a bound is broken, as a fraction of it; 0 where it is kept.

    A bound of 0 has no fractions; the violation is then the margin itself.
    """
    return max(0.0, -margin / abs(bound) if bound else -margin)


def _bound(text: str, dimension: Dimension) -> float:
    """A bound in the metric's own unit; a bare number has that unit already."""
    if dimension is RATIO or _NUMBER.fullmatch(text):
        return parse_quantity(text, RATIO)
    number = parse_quantity(text, dimension)
    return 1e3 * number if dimension is TIME else number  # sojourn_ms


def metric_of(window: Mapping[str, object], metric: str) -> float | None:
    """A metric by its dotted name; ``None`` where the window does not have it."""
    value: object = window
    for part in metric.split("."):
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return float(value) if isinstance(value, int | float) else None
