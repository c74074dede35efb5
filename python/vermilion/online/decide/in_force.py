"""What a router says is in force, beside what it was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.routers.base import ParameterValue

_SAME = 0.01  # relative: routers round what they are given


def holds(asked: Mapping[str, ParameterValue], in_force: Mapping[str, ParameterValue]) -> bool:
    """Whether what was asked for is what the router has, give or take its rounding."""
    return all(is_same(value, in_force.get(name)) for name, value in asked.items())


def is_mixture(
    in_force: Mapping[str, ParameterValue],
    before: Mapping[str, ParameterValue],
    asked: Sequence[Mapping[str, ParameterValue]],
) -> bool:
    """Whether nothing is in force but what stood before and what was asked for.

    Args:
        in_force: what the router says.
        before: every parameter before it was asked.
        asked: for what it was asked since.
    """
    return all(
        value == before.get(name)
        or any(name in change and is_same(change[name], value) for change in asked)
        for name, value in in_force.items()
    )


def is_same(asked: ParameterValue, found: ParameterValue) -> bool:
    """Whether a value is what was asked for, give or take a router's rounding."""
    if _is_number(asked) and _is_number(found):
        return abs(float(found or 0.0) - float(asked or 0.0)) <= _SAME * abs(float(asked or 0.0))
    return asked == found


def _is_number(value: ParameterValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
