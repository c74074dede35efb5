"""What a Linux queue makes of the values that it is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.routers.base import HeldValues
from vermilion.routers.linux.kinds import KINDS
from vermilion.routers.linux.nearest import nearest_settable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.routers.base import ParameterValue


@dataclass(frozen=True, slots=True)
class LinuxValues(HeldValues):
    """Those of a kernel's queue: its steps, and what it moves by itself.

    Attributes:
        discipline: by its name in Vermilion, like "choke".
    """

    tolerance: float = 0.01
    discipline: str = ""

    def nearest(self, setting: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
        """Every number at the nearest that the kernel has."""
        return nearest_settable(self.discipline, setting)

    def moving(self, parameters: Mapping[str, ParameterValue]) -> frozenset[str]:
        """What the kind says that the kernel moves while a switch is on."""
        return frozenset(
            name
            for kind in KINDS.values()
            if kind.discipline == self.discipline
            for name, switch in kind.moved.items()
            if parameters.get(switch) is True
        )
