"""Several objectives in one number.

Objectives have units, and milliseconds do not add to bits: each part is divided by a scale. That
is the incumbent's own value, so that a sum of 1 per unit of weight means "as now", unless a
part's table states another. A weight chosen beforehand hides what was given up for what; where
that is the question, ``vermilion tune --pareto`` shows it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final

from vermilion.objectives.fields import kind_with_tables
from vermilion.objectives.interface import NotMeasuredError, Objective
from vermilion.scenario.errors import MISSING, FieldError, errors_under
from vermilion.scenario.quantities import RATIO, Quantity, QuantityError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from vermilion.objectives.fields import ReadTable
    from vermilion.objectives.metrics import MetricPath
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result


@dataclass(frozen=True, slots=True)
class Part:
    """One of the objectives of a sum.

    Attributes:
        objective: what it is.
        weight: above 0.
        scale: what its values are divided by; ``None``: the incumbent's value.
    """

    objective: Objective
    weight: float
    scale: float | None = None


def _parts(value: object, scenario: Scenario, read_table: ReadTable) -> tuple[Part, ...]:
    if not isinstance(value, list | tuple) or not value:
        accepted = "a list of tables, like [{ weight = 1, name = ... }, { weight = 2, name = ... }]"
        raise FieldError("", value, accepted)
    parts = []
    for index, table in enumerate(value):
        with errors_under(str(index)):
            parts.append(_part(table, scenario, read_table))
    return tuple(parts)


def _part(table: object, scenario: Scenario, read_table: ReadTable) -> Part:
    if not isinstance(table, dict):
        raise FieldError("", table, "a table, like { weight = 1, name = ... }")
    own = {key: value for key, value in table.items() if key not in {"weight", "scale"}}
    weight = _parse_positive("weight", table.get("weight", MISSING))
    scale = _parse_positive("scale", table["scale"]) if "scale" in table else None
    return Part(read_table(own, scenario), weight, scale)


def _parse_positive(name: str, value: object) -> float:
    quantity = Quantity(RATIO, minimum_excluded=True)
    try:
        return float(quantity.parse(value))
    except QuantityError as error:
        raise error.under(name) from None


PARTS: Final = kind_with_tables(
    "tables of objectives, each with weight and optionally scale", _parts
)


@dataclass(frozen=True)
class WeightedSum(Objective):
    """Sum of weight * value / scale over its parts; objectives to be maximised count negative.

    Attributes:
        parts: the objectives with their weights.
    """

    name: ClassVar[str] = "weighted-sum"
    summary: ClassVar[str] = "several objectives, each divided by the incumbent's value"
    noticeable: ClassVar[float] = 0.0

    parts: tuple[Part, ...] = field(metadata=PARTS)

    @property
    def links(self) -> tuple[str, ...]:
        """The links of all parts."""
        return tuple(dict.fromkeys(link for part in self.parts for link in part.objective.links))

    @property
    def paths(self) -> tuple[MetricPath, ...]:
        """Paths of all parts."""
        return tuple(dict.fromkeys(path for part in self.parts for path in part.objective.paths))

    @property
    def guarding(self) -> tuple[str, ...]:
        """Metrics that guard any of the parts."""
        return tuple(dict.fromkeys(text for part in self.parts for text in part.objective.guarding))

    @property
    def own_constraints(self) -> tuple[str, ...]:
        """Constraints of all parts."""
        texts = (text for part in self.parts for text in part.objective.own_constraints)
        return tuple(dict.fromkeys(texts))

    @property
    def needs_incumbent(self) -> bool:
        """True if a part has no scale yet."""
        return any(part.scale is None or part.objective.needs_incumbent for part in self.parts)

    @property
    def least_size(self) -> float:
        """The sum of the weights where parts cancel: some are minimised, others maximised.

        With equal weights and the incumbent's scales such a sum is 0 now, whatever that is like.
        """
        wanted = {part.objective.maximised for part in self.parts}
        cancels = len(wanted) > 1 or any(part.objective.least_size for part in self.parts)
        return math.fsum(part.weight for part in self.parts) if cancels else 0.0

    def relative_to(self, incumbent: Sequence[Result]) -> Self:
        """The same with the incumbent's mean values as the scales of parts that state none."""
        return replace(self, parts=tuple(_with_scale(part, incumbent) for part in self.parts))

    def measure(self, result: Result) -> float:
        """The sum for a run.

        Raises:
            NotMeasuredError: a part that the run has not measured, or one without a scale.
        """
        total = []
        for part in self.parts:
            if part.scale is None:
                message = f"{self.name}: {part.objective.label} has no scale; see relative_to"
                raise NotMeasuredError(message)
            total.append(part.weight * part.objective.evaluate(result) / part.scale)
        return math.fsum(total)


def _with_scale(part: Part, incumbent: Sequence[Result]) -> Part:
    objective = part.objective.relative_to(incumbent)
    if part.scale is not None:
        return replace(part, objective=objective)
    values = [objective.size_of(objective.measure(result)) for result in incumbent]
    scale = math.fsum(values) / len(values)
    if scale == 0.0:
        message = f"weighted-sum: {objective.label} is 0 now, so it needs a scale of its own"
        raise NotMeasuredError(message)
    return Part(objective, part.weight, scale)
