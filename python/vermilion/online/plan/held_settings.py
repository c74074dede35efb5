"""Settings that the router can hold: what is tried in the models is what will be in force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.routers.queue_set import joint_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vermilion.routers.base import HeldValues


def held_setting(held: HeldValues, setting: Mapping[str, float]) -> dict[str, float]:
    """The nearest setting that the router has, by the names of its parameters."""
    return {
        name: value if isinstance(value, bool) else float(value)
        for name, value in held.nearest(setting).items()
        if isinstance(value, int | float)
    }


@dataclass(frozen=True, slots=True)
class HeldByPath:
    """What the router can hold, by the paths of a search's box.

    Attributes:
        held: what it makes of the values that it is told.
        name_of: what the router calls the parameter with a path.
    """

    held: HeldValues
    name_of: Callable[[str], str]

    def nearest(self, values: Mapping[str, float]) -> dict[str, float]:
        """The nearest setting that it has."""
        near = held_setting(self.held, {self.name_of(path): each for path, each in values.items()})
        return {path: near[self.name_of(path)] for path in values}


def bare_name(path: str) -> str:
    """The name of a parameter of the only queue, from its path."""
    return path.rpartition(".")[2]


def joint_name_of(path: str) -> str:
    """The joint name of a parameter of one of several queues, from its path."""
    _, link, _, name = path.split(".")
    return joint_name(link, name)
