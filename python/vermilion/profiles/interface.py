"""The one interface of every device profile: what a real device can be set to, and how to say it.

A search works with real numbers; a device takes whole bytes, powers of two or one of a hundred
percentages. A profile moves a setting to the nearest one that the device has, so that what is
simulated, compared and recommended is what the device will do, and writes it in the device's
own syntax.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from vermilion.scenario.errors import ScenarioError, one_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Place:
    """Place where a setting is written; each profile takes what it needs.

    Attributes:
        device: the network interface ("eth0") or the name of the WRED profile; ``None`` for a
            placeholder.
        parent: of a tc queue, like "1:10"; ``None`` for the root.
        verb: of tc: "change" for a queue of this kind that is there, "replace" for whatever is.
    """

    device: str | None = None
    parent: str | None = None
    verb: str = "change"


class DeviceProfile(ABC):
    """Settings of one link's queue on a kind of device.

    To write one, implement ``nearest`` and ``command`` and add its line to
    ``vermilion.profiles.registry``.

    Args:
        scenario: to which the link belongs.
        link: whose queue it is.

    Attributes:
        name: how the profile is chosen.
        summary: one line about it.
        settable: for each discipline that can stand for the device's queue in a simulation,
            its parameters that the device can be set to.

    Raises:
        ScenarioError: the link's discipline cannot stand for the device's queue.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    settable: ClassVar[Mapping[str, Sequence[str]]]

    def __init__(self, scenario: Scenario, link: str) -> None:
        self.scenario = scenario
        self.link = link
        self.discipline = scenario.links[link].queue.discipline
        if self.discipline not in self.settable:
            raise ScenarioError(
                f"links.{link}.queue.discipline",
                self.discipline,
                f"{one_of(self.settable)}, which the profile {self.name} can set",
                scenario.origin,
            )

    def in_force(self, name: str) -> float | None:
        """The scenario's own value of one of the queue's parameters, in its table's unit."""
        value = self.scenario.get(f"links.{self.link}.queue.{name}")
        return None if value is None else float(value)

    def is_set(self, name: str) -> bool:
        """Return whether one of the queue's switches is on."""
        return bool(self.scenario.get(f"links.{self.link}.queue.{name}"))

    def packet_size(self) -> int:
        """Bytes of the largest data packets that cross the link."""
        sizes = [
            group.packet_size for group in self.scenario.flows.values() if self.link in group.path
        ]
        return max(sizes, default=1000)

    @abstractmethod
    def nearest(self, values: Mapping[str, float]) -> dict[str, float]:
        """The nearest values that the device has.

        Args:
            values: some of the queue's parameters by name, in their tables' units; the others
                are as the scenario has them.

        Returns:
            The same parameters. What the device has stays as it is.
        """

    @abstractmethod
    def command(self, values: Mapping[str, float], place: Place) -> str:
        """The device's own words for the nearest setting, one command for each line."""

    def notes(self, values: Mapping[str, float]) -> list[str]:
        """Losses on the device, a sentence each."""
        exact = self.nearest(values)
        others = {
            name: self.in_force(name)
            for name in self.settable[self.discipline]
            if name not in values
        }
        known = {name: value for name, value in others.items() if value is not None}
        moved = self.nearest({**exact, **known})
        return [
            f"links.{self.link}.queue.{name} is {value:g} in the scenario; the nearest on the "
            f"device is {moved[name]:.6g}"
            for name, value in known.items()
            if abs(moved[name] - value) > 1e-6 * abs(value)
        ]
