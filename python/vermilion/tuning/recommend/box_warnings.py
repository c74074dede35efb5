"""Answers at an end of the box in which they were searched: a better one may lie beyond."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vermilion.scenario import Scenario
    from vermilion.search import Dimension, Space
    from vermilion.tuning.measure.candidates import Setting

AT_THE_END: Final = 0.01
"""The part of the box, on the scale on which it is searched, that counts as its end."""


def box_warnings(scenario: Scenario, space: Space, setting: Setting) -> tuple[str, ...]:
    """A sentence for each value that lies at an end of its box.

    An end beyond which the parameter itself does not go, like a probability of 1, is none; nor is
    the least distance to another parameter.

    Args:
        scenario: to which the parameters belong.
        space: that was searched.
        setting: what was found; automatic values lie at no end.
    """
    return tuple(
        _sentence(scenario, dimension, end)
        for dimension in space.dimensions
        for end in _ends_reached(scenario, dimension, setting.get(dimension.name))
    )


def _ends_reached(scenario: Scenario, dimension: Dimension, value: float | None) -> Iterator[str]:
    """The names of the ends where a value lies."""
    if value is None or dimension.switch:
        return
    parameter = scenario.parameter(dimension.name)
    if not _is(parameter.minimum, dimension.lower) and _reaches(dimension, value, 0.0):
        yield "lower"
    if not _is(parameter.maximum, dimension.upper) and _reaches(dimension, value, 1.0):
        yield "upper"


def _reaches(dimension: Dimension, value: float, end: float) -> bool:
    """Whether a value lies at the end whose coordinate is 0 or 1, or beyond."""
    if dimension.integer:
        return value <= dimension.lower if end == 0.0 else value >= dimension.upper
    return abs(dimension.coordinate(value) - end) <= AT_THE_END


def _is(limit: float | None, end: float) -> bool:
    return limit is not None and math.isclose(limit, end, rel_tol=1e-9, abs_tol=1e-12)


def _sentence(scenario: Scenario, dimension: Dimension, end: str) -> str:
    value = dimension.lower if end == "lower" else dimension.upper
    readable = scenario.parameter(dimension.name).readable(value)
    return (
        f"{dimension.name} is at the {end} end of its box ({readable}): "
        "a better value may lie beyond"
    )
