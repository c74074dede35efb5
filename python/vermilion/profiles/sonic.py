"""Settings of the WRED of a SONiC switch, as a JSON patch of its CONFIG_DB.

Source: sonic-wred-profile.yang of sonic-buildimage (revisions 2021-04-01 and 2026-06-23):
thresholds are whole bytes, max not below min; drop probabilities are whole percents from 0 to
100; ``ecn`` is one of several modes. Values are strings in CONFIG_DB, and ``config apply-patch``
takes a patch after RFC 6902.

The averaging weight is not part of the schema: it is the switch's own, so it cannot be tuned
here. All three colours get the same numbers, because a simulated packet of ``red`` has no colour;
with ``wred`` each has its own, unless all packets that cross the link are of one. A drop
probability of 0 would switch the profile off; the least here is 1 %.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from vermilion.profiles.interface import DeviceProfile, Place
from vermilion.profiles.red_setting import (
    COLOURS,
    RED,
    WRED_OF_COLOURS,
    RedSetting,
    met_settings,
    read_settings,
    values_of_colours,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SETTABLE: Final = tuple(name for name in RED if name != "weight")


class Sonic(DeviceProfile):
    """A WRED_PROFILE of a SONiC switch."""

    name: ClassVar[str] = "sonic"
    summary: ClassVar[str] = "WRED profile of a SONiC switch: bytes, percents; as a JSON patch"
    settable: ClassVar[Mapping[str, Sequence[str]]] = {
        "red": _SETTABLE,
        "linux-red": _SETTABLE,
        "wred": WRED_OF_COLOURS,
    }

    def nearest(self, values: Mapping[str, float]) -> dict[str, float]:
        """Whole bytes and whole percents."""
        known = values_of_colours(self, self._settle(values))
        return {name: known[name] for name in values}

    def command(self, values: Mapping[str, float], place: Place) -> str:
        """The patch; ``place.device`` is the name of the profile."""
        settings = met_settings(self, self._settle(values))
        table = {"ecn": "ecn_all" if self.is_set("ecn") else "ecn_none"}
        for colour in COLOURS:
            setting = settings[colour]
            table |= {
                f"wred_{colour}_enable": "true",
                f"{colour}_min_threshold": f"{setting.min_threshold:.0f}",
                f"{colour}_max_threshold": f"{setting.max_threshold:.0f}",
                f"{colour}_drop_probability": f"{100 * setting.max_probability:.0f}",
            }
        path = f"/WRED_PROFILE/{place.device or 'PROFILE'}"
        # "add" replaces a member that exists (RFC 6902, 4.1), and makes one that does not.
        patch = [{"op": "add", "path": f"{path}/{key}", "value": table[key]} for key in table]
        return json.dumps(patch, indent=2)

    def _settle(self, values: Mapping[str, float]) -> dict[str, RedSetting]:
        # The weight does not matter to the switch, but to the model that stands for it.
        wanted = read_settings(self, {**self._weight(), **values})
        return {colour: _nearest(setting) for colour, setting in wanted.items()}

    def _weight(self) -> dict[str, float]:
        name = "weight_log" if self.discipline == "linux-red" else "weight"
        value = self.in_force(name)
        return {name: 9.0 if value is None else value}


def _nearest(wanted: RedSetting) -> RedSetting:
    low = max(round(wanted.min_threshold), 1)
    high = max(round(wanted.max_threshold), low + 1)
    percent = min(max(round(100 * wanted.max_probability), 1), 100)
    return replace(
        wanted,
        min_threshold=float(low),
        max_threshold=float(high),
        max_probability=percent / 100,
    )
