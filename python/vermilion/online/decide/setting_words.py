"""A setting as the log and a person say it: "target 1.294 ms, alpha 0.125"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.routers.queue_set import by_queue, joint_name
from vermilion.scenario import disciplines
from vermilion.scenario.quantities import RATIO, format_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.routers import LinkConfiguration
    from vermilion.scenario.algorithms import ParameterValue

_DIGITS: Final = 4
"""Significant ones: more than any link can tell apart, and few enough to be read."""


def setting_in_words(
    setting: Mapping[str, ParameterValue], configuration: LinkConfiguration
) -> str:
    """Parameters with their units: "min_threshold 12.5 packets, weight 0.0021".

    Args:
        setting: some of a discipline's parameters in the units of its table, or of several queues'
            with each link's name before them.
        configuration: of the queue or the queues that they belong to.
    """
    queues = {each.link: each.discipline for each in configuration.queues}
    if not queues:
        return ", ".join(
            f"{name} {_value(configuration.discipline, name, value)}"
            for name, value in setting.items()
        )
    return ", ".join(
        f"{joint_name(link, name)} {_value(queues[link], name, value)}"
        for link, part in by_queue(setting).items()
        for name, value in part.items()
    )


def _value(discipline: str, name: str, value: ParameterValue) -> str:
    text = f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)
    known = disciplines().get(discipline)
    if known is None:  # a discipline of the user's own that this process has not loaded
        return text
    parameter = known.parameters[name]
    if not isinstance(value, float):
        return parameter.readable(value)
    # A plain number keeps the notation of the other figures in the log.
    if parameter.dimension is RATIO:
        return text
    return format_quantity(float(text), parameter.dimension)
