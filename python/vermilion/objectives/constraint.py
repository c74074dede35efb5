"""Constraints, which a setting must keep whatever the objective gains by breaking them.

``links.bottleneck.utilization >= 0.95`` is absolute;
``links.bottleneck.utilization >= 0.95 of reference`` is relative to what another setting, the
one in force, reaches with the same seeds, ``flows.*.starved <= reference + 1`` and
``links.bottleneck.drop_rate <= 1.25 of reference + 2 %`` likewise; ``flows.*.jain_index >= 0.8`` is
of all flows together. A constraint must hold in every measured phase: an average would let one
phase pay for another.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.objectives.metrics import MetricPath
from vermilion.scenario.errors import FieldError, ScenarioError
from vermilion.scenario.quantities import RATIO, QuantityError, parse_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.scenario import Scenario
    from vermilion.simulate import Result

BROKEN: Final = 1.0
"""The value from which on a setting breaks a constraint."""


def feasible_first(objective: float, violation: float, scale: float) -> float:
    """The value of a setting for a search: below :data:`BROKEN` if it keeps the constraints.

    Args:
        objective: to be minimised, any finite number.
        violation: the sum over the constraints of how badly each is broken, relative to its
            bound; 0 if all are kept, ``math.inf`` if that cannot be computed.
        scale: a typical size of the objective, such as the incumbent's value, above 0. Well
            below it the squeezed objective is nearly proportional to the objective.
    """
    if violation > 0.0:
        return BROKEN + violation
    if math.isinf(objective):
        return math.inf
    ratio = objective / scale
    return 0.5 * (1.0 + ratio / (1.0 + abs(ratio)))


_PATH: Final = r"\s*(?P<path>(?:links|flows)\.[^.\s<>=]+\.[^\s<>=]+)"
_FORM: Final = re.compile(
    _PATH + r"\s*(?P<relation>>=|<=)"
    r"\s*(?:(?:(?P<factor>\S.*?)\s+of\s+)?reference(?:\s*(?P<sign>[-+])\s*(?P<offset>.*?))?"
    r"|(?P<bound>.*?))\s*"
)
_NUMBER: Final = re.compile(r"[-+0-9.eE]+")
_ACCEPTED: Final = (
    '"links.NAME.METRIC >= NUMBER" (or <=, or flows.GROUP.METRIC), or with "NUMBER of reference" '
    'or "reference - NUMBER", like "links.bottleneck.utilization >= 0.95" or '
    '"flows.*.jain_index >= reference - 0.05"'
)


@dataclass(frozen=True, slots=True)
class Constraint:
    """One bound on one metric of a link or of flows, in every measured phase.

    A phase in which none of the flows is active asks nothing of them: its value counts as
    infinitely far on the right side of the bound.

    Attributes:
        text: as written.
        path: of the metric.
        at_least: whether the bound is a lower one.
        bound: in the metric's own unit; a factor where ``of_reference``.
        of_reference: whether the bound is relative to the reference setting's value.
        offset: what is added to that, in the metric's own unit; 0 for an absolute bound.
        of_harm: whether it bounds what a change may cost (:mod:`vermilion.objectives.harm`): then
            its mean decides, and a metric that the reference lacks asks nothing.
        most: what the metric cannot surpass for long: a reference beyond it asks for no more.
    """

    text: str
    path: MetricPath
    at_least: bool
    bound: float
    of_reference: bool = False
    offset: float = 0.0
    of_harm: bool = False
    most: float = math.inf

    @classmethod
    def parse(
        cls, text: str, *, field: str = "constraint", scenario: Scenario | None = None
    ) -> Constraint:
        """Read a constraint.

        Args:
            text: see the head of this module.
            field: where it stands, for messages.
            scenario: to which the link or the flows must belong; unchecked if not given.

        Raises:
            ScenarioError: the text is no constraint, or names what does not exist.
        """
        origin = "" if scenario is None else scenario.origin
        form = _FORM.fullmatch(text)
        if form is None:
            raise ScenarioError(field, text, _ACCEPTED, origin)
        try:
            path = MetricPath.parse(form["path"], scenario)
        except FieldError as error:
            raise ScenarioError(field, text, error.accepted, origin) from None
        relative = form["bound"] is None
        offset = 0.0
        try:
            bound = 1.0 if relative else _bound(form["bound"], path)
            if form["factor"] is not None:
                bound = _bound(form["factor"], None)
            if form["offset"] is not None:
                offset = float(f"{form['sign']}1") * _bound(form["offset"], path)
        except QuantityError as error:
            raise ScenarioError(field, text, f"{error.accepted} as the bound", origin) from None
        return cls(text.strip(), path, form["relation"] == ">=", bound, relative, offset)

    def values(self, result: Result) -> list[float | None]:
        """The metric in each measured phase.

        ``None`` where it cannot be computed, infinite where no flow is active.
        """
        nothing_asked = math.inf if self.at_least else -math.inf
        return [
            nothing_asked if self.path.is_idle(window) else self.path.value(window)
            for window in self.path.windows(result)
        ]

    def margins(
        self, values: Sequence[float | None], reference: Sequence[float | None] | None = None
    ) -> list[float | None]:
        """Margin of the bound in each phase, in the metric's unit; negative: broken.

        Args:
            values: of :meth:`values`.
            reference: the same of the reference setting, for the relative form.

        Returns:
            One number for each phase; ``None`` where a value that is needed is absent.
        """
        bounds = self.bounds(values, reference)
        return [self._margin(*pair) for pair in zip(values, bounds, strict=True)]

    def _margin(self, value: float | None, bound: float | None) -> float | None:
        if bound is not None and math.isinf(bound):
            return math.inf  # no flow is active
        if value is None or bound is None:
            return None
        if math.isinf(value):
            return math.inf
        return value - bound if self.at_least else bound - value

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
        nothing_asked = -math.inf if self.at_least else math.inf
        absent = nothing_asked if self.of_harm else None
        return [
            absent if value is None else self.bound * min(value, self.most) + self.offset
            for value in reference
        ]

    def margin(self, result: Result, reference: Result | None = None) -> float | None:
        """The smallest margin of all phases; ``None`` where a value that is needed is absent."""
        known = None if reference is None else self.values(reference)
        margins = self.margins(self.values(result), known)
        present = [margin for margin in margins if margin is not None]
        return min(present) if len(present) == len(margins) else None


def path_in(text: str) -> str:
    """The metric's path at the beginning of a constraint, which need not have blanks.

    Args:
        text: of a constraint that has been accepted; words may follow it.
    """
    found = re.match(_PATH, text)
    return "" if found is None else found["path"]


def relative_violation(margin: float, bound: float) -> float:
    """Violation of a bound, as a fraction of it; 0 where it is kept.

    A bound of 0 has no fractions; the violation is then the margin itself.
    """
    if margin >= 0.0:
        return 0.0
    return -margin / abs(bound) if bound else -margin


def _bound(text: str, path: MetricPath | None) -> float:
    """Bound in the metric's unit, also of a bare number; ``None``: a factor."""
    if path is None or path.dimension is RATIO or _NUMBER.fullmatch(text):
        return parse_quantity(text, RATIO)
    return path.scale * parse_quantity(text, path.dimension)
