"""What a router says is in force, beside what it was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.routers.base import ParameterValue

_SAME = 0.01  # relative: routers round what they are given


def holds(asked: Mapping[str, ParameterValue], in_force: Mapping[str, ParameterValue]) -> bool:
    """Whether what was asked for is what the router has, give or take its rounding."""
    return all(is_same(value, in_force.get(name)) for name, value in asked.items())


def is_same(asked: ParameterValue, found: ParameterValue) -> bool:
    """Whether a value is what was asked for, give or take a router's rounding."""
    if _is_number(asked) and _is_number(found):
        return abs(float(found or 0.0) - float(asked or 0.0)) <= _SAME * abs(float(asked or 0.0))
    return asked == found


def _is_number(value: ParameterValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
