"""The nearest values that a kernel's queue can be set to.

A search walks over numbers; the kernel has steps. What lies between two of them becomes the nearer,
so that a setting is not refused for its last digits. Rules between parameters are not looked at:
what breaks one is refused by :meth:`vermilion.routers.linux.router.LinuxRouter.apply`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.routers.base import ParameterValue

_GAINS: Final = {"alpha", "beta"}
_GAIN_STEPS: Final = 16
"""Of PIE in one: RFC 8033's gains are told in sixteenths (tc-pie(8))."""
_MOST_GAIN_STEPS: Final = 32
"""The kernel refuses more (net/sched/sch_pie.c), and a search's box goes further."""

_WHOLE: Final = {
    "drop_batch",
    "limit",
    "limit_bytes",
    "max_threshold",
    "memory_limit",
    "min_threshold",
    "quantum",
    "weight_log",
}
_PROBABILITY_STEPS: Final = 2**32
"""In one: the kernel's probabilities are 32 bits, and 1 is not among them."""


def nearest_settable(
    discipline: str, parameters: Mapping[str, ParameterValue]
) -> dict[str, ParameterValue]:
    """The parameters with every number at the nearest that the kernel has.

    Args:
        discipline: by its name in Vermilion, like "choke".
        parameters: in the units of its table.
    """
    return {name: _nearest(discipline, name, value) for name, value in parameters.items()}


def _nearest(discipline: str, name: str, value: ParameterValue) -> ParameterValue:
    if isinstance(value, bool) or not isinstance(value, int | float) or value == 0:
        return value  # 0 is no number of steps: the kernel has it, or refuses it
    if name in _WHOLE:
        return round(value)
    if name in _GAINS:
        return min(max(1, round(_GAIN_STEPS * value)), _MOST_GAIN_STEPS) / _GAIN_STEPS
    if name == "max_probability":
        steps = min(max(1, round(_PROBABILITY_STEPS * value)), _PROBABILITY_STEPS - 1)
        return steps / _PROBABILITY_STEPS
    if discipline == "choke" and name == "weight" and value > 0.0:
        return 0.5 ** max(1, round(-math.log2(value)))
    return value
