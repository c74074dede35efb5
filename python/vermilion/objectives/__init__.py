"""Objectives: a number to be minimised, from the result of a run, and constraints on others.

:data:`OBJECTIVES` has every objective by name; :class:`Constraint` reads
"links.bottleneck.utilization >= 0.95".
"""

from __future__ import annotations

from vermilion.objectives.constraint import Constraint, feasible_first
from vermilion.objectives.interface import (
    CalledFunction,
    FlowsObjective,
    LinkObjective,
    NotMeasuredError,
    Objective,
    WindowObjective,
)
from vermilion.objectives.metrics import FLOW_METRICS, METRICS, MetricPath
from vermilion.objectives.noticeable import Noticeable
from vermilion.objectives.registry import (
    DEFAULT_CONSTRAINT,
    OBJECTIVES,
    constraints_of,
    default_link,
    objective_from_table,
    objective_from_text,
    objective_of,
    stated_constraints,
)
from vermilion.objectives.windows import flow_windows, link_windows, weighted_mean
from vermilion.simulate.metric import metric_of

__all__ = [
    "DEFAULT_CONSTRAINT",
    "FLOW_METRICS",
    "METRICS",
    "OBJECTIVES",
    "CalledFunction",
    "Constraint",
    "FlowsObjective",
    "LinkObjective",
    "MetricPath",
    "NotMeasuredError",
    "Noticeable",
    "Objective",
    "WindowObjective",
    "constraints_of",
    "default_link",
    "feasible_first",
    "flow_windows",
    "link_windows",
    "metric_of",
    "objective_from_table",
    "objective_from_text",
    "objective_of",
    "stated_constraints",
    "weighted_mean",
]
