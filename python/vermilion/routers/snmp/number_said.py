"""The number that tells the agent a parameter, and whether two values are the same."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from vermilion.scenario.errors import FieldError

if TYPE_CHECKING:
    from vermilion.routers.base import ParameterValue
    from vermilion.routers.snmp.mib import Setting

_CLOSE: Final = 1e-9


def number_said(setting: Setting, value: ParameterValue) -> int:
    """The number for a value.

    Raises:
        FieldError: there is none.
    """
    scale = setting.scale
    try:
        said = scale.said(value)
        near = scale.meant(said)
    except ValueError:
        raise FieldError(setting.parameter, value, "a number") from None
    if not scale.lowest <= said <= scale.highest:
        lowest, highest = scale.meant(scale.lowest), scale.meant(scale.highest)
        raise FieldError(setting.parameter, value, f"{lowest} to {highest}")
    if scale.exact and not is_close(near, value):
        accepted = f"a step that the agent has; the nearest is {near}"
        raise FieldError(setting.parameter, value, accepted)
    return said


def is_close(one: ParameterValue, other: ParameterValue) -> bool:
    """Whether they are the same but for rounding."""
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=_CLOSE, abs_tol=_CLOSE)
    return one == other
