"""From the result of a run to a number to be minimised, and what must hold besides.

:data:`OBJECTIVES` has every objective by name; :class:`Constraint` reads
"links.bottleneck.utilization >= 0.95".
"""

from __future__ import annotations

from vermilion.objectives.constraint import METRICS, Constraint
from vermilion.objectives.feasible_first import feasible_first
from vermilion.objectives.interface import (
    NotMeasuredError,
    Objective,
    WindowObjective,
    evaluate,
    link_windows,
)
from vermilion.objectives.registry import (
    DEFAULT_CONSTRAINT,
    OBJECTIVES,
    constraints_of,
    objective_from_table,
    objective_of,
)

__all__ = [
    "DEFAULT_CONSTRAINT",
    "METRICS",
    "OBJECTIVES",
    "Constraint",
    "NotMeasuredError",
    "Objective",
    "WindowObjective",
    "constraints_of",
    "evaluate",
    "feasible_first",
    "link_windows",
    "objective_from_table",
    "objective_of",
]
