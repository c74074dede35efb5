"""Device profiles by name, one line each, and a profile for all tuned queues of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.profiles.cisco import Cisco
from vermilion.profiles.interface import Place
from vermilion.profiles.linux import (
    LinuxCodel,
    LinuxFifo,
    LinuxFq,
    LinuxFqCodel,
    LinuxFqPie,
    LinuxPie,
)
from vermilion.profiles.linux_cake import LinuxCake
from vermilion.profiles.linux_red import LinuxRed
from vermilion.profiles.sonic import Sonic
from vermilion.scenario.errors import ScenarioError, did_you_mean, one_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.profiles.interface import DeviceProfile
    from vermilion.scenario import Scenario

_PROFILES: Final[tuple[type[DeviceProfile], ...]] = (
    LinuxRed,
    Sonic,
    Cisco,
    LinuxCodel,
    LinuxPie,
    LinuxFq,
    LinuxFqCodel,
    LinuxFqPie,
    LinuxCake,
    LinuxFifo,
)

PROFILES: Final[Mapping[str, type[DeviceProfile]]] = {
    profile.name: profile for profile in _PROFILES
}
"""The profiles by name."""

LINUX_PROFILES: Final[Mapping[str, type[DeviceProfile]]] = {
    "fq": LinuxFq,
    "fq-codel": LinuxFqCodel,
    "fq-pie": LinuxFqPie,
    "cake": LinuxCake,
    "codel": LinuxCodel,
    "pie": LinuxPie,
    "linux-red": LinuxRed,
    "drop-tail": LinuxFifo,
}
"""Disciplines that Linux has, and the profile that writes them as tc does."""


class Device:
    """Queues on devices of one kind.

    Args:
        profile: the name of the profile.
        scenario: to which the queues belong.
        paths: the parameters that are tuned, like ``links.bottleneck.queue.weight``.

    Raises:
        ScenarioError: there is no such profile, or it cannot set one of the parameters.
    """

    def __init__(self, profile: str, scenario: Scenario, paths: Sequence[str]) -> None:
        if profile not in PROFILES:
            accepted = did_you_mean(profile, PROFILES)
            raise ScenarioError("profile", profile, accepted, scenario.origin)
        self.name = profile
        self._links: dict[str, DeviceProfile] = {}
        for path in paths:
            room, _, rest = path.partition(".")
            link = rest.partition(".")[0]
            if room != "links":
                accepted = f"parameters of queues, which the profile {profile} can set"
                raise ScenarioError("tuning.parameters", path, accepted, scenario.origin)
            if link not in self._links:
                self._links[link] = PROFILES[profile](scenario, link)
            queue = self._links[link]
            names = queue.settable[queue.discipline]
            if path.rpartition(".")[2] not in names:
                known = one_of(f"links.{link}.queue.{name}" for name in names)
                accepted = f"{known}, which the profile {profile} can set"
                raise ScenarioError("tuning.parameters", path, accepted, scenario.origin)

    def nearest(self, values: Mapping[str, float]) -> dict[str, float]:
        """The nearest setting that the devices have, by path."""
        moved: dict[str, float] = {}
        for link, queue in self._links.items():
            names = _paths_of_link(link, values)
            near = queue.nearest({name: values[path] for name, path in names.items()})
            moved.update((names[name], value) for name, value in near.items())
        return {path: moved[path] for path in values}

    def command(self, values: Mapping[str, float], place: Place | None = None) -> str:
        """The devices' own words for a setting, after a line with the link's name if several."""
        texts = []
        for link, queue in self._links.items():
            own = {name: values[path] for name, path in _paths_of_link(link, values).items()}
            text = queue.command(own, place or Place())
            texts.append(text if len(self._links) == 1 else f"# {link}\n{text}")
        return "\n".join(texts)

    def notes(self, values: Mapping[str, float]) -> list[str]:
        """Fixed values of the scenario that the devices lack, a sentence each."""
        return [
            note
            for link, queue in self._links.items()
            for note in queue.notes(
                {name: values[path] for name, path in _paths_of_link(link, values).items()}
            )
        ]


def _paths_of_link(link: str, values: Mapping[str, float]) -> dict[str, str]:
    """The paths of one link's queue, by the parameter's name."""
    prefix = f"links.{link}.queue."
    return {path.removeprefix(prefix): path for path in values if path.startswith(prefix)}
