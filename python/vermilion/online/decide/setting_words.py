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
    names = setting
    if configuration.queues:
        names = {
            joint_name(link, name): value
            for link, part in by_queue(setting).items()
            for name, value in part.items()
        }
    return ", ".join(f"{each} {value_in_words(each, names[each], configuration)}" for each in names)


def value_in_words(
    name: str, value: ParameterValue, configuration: LinkConfiguration, *, exact: bool = False
) -> str:
    """The value of one parameter, with its unit: "12.5 packets".

    Args:
        name: the parameter's, with its link's name before it where there are several queues.
        value: in the unit of its table.
        configuration: of the queue or the queues that it belongs to.
        exact: whether all of its digits are wanted.
    """
    queues = {each.link: each.discipline for each in configuration.queues}
    if not queues:
        return _value(configuration.discipline, name, value, exact=exact)
    [(link, part)] = by_queue({name: value}).items()
    return _value(queues[link], *part.popitem(), exact=exact)


def _value(discipline: str, name: str, value: ParameterValue, *, exact: bool) -> str:
    text = f"{value:.{_DIGITS}g}" if isinstance(value, float) and not exact else str(value)
    known = disciplines().get(discipline)
    if known is None:  # a discipline of the user's own that this process has not loaded
        return text
    parameter = known.parameters[name]
    if exact:
        return str(parameter.exact_text(value))
    if not isinstance(value, float):
        return parameter.readable(value)
    # A plain number keeps the notation of the other figures in the log.
    if parameter.dimension is RATIO:
        return text
    return format_quantity(float(text), parameter.dimension)
