"""RED as devices know it, whichever discipline of a scenario stands for it.

``red`` counts in packets and has any weight, ``linux-red`` counts in bytes and has powers of
two. Between the two stands the size of a packet: the largest that crosses the link. ``wred`` is
``red`` with thresholds and a probability for each colour of packets; in byte mode its packets are
of the mean size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.profiles.interface import DeviceProfile

RED: Final = ("min_threshold", "max_threshold", "max_probability", "weight")
LINUX_RED: Final = ("min_threshold", "max_threshold", "max_probability", "weight_log")
COLOURS: Final = ("green", "yellow", "red")
"""Drop precedences, the lowest first."""

WRED_OF_COLOURS: Final = tuple(
    f"{colour}_{name}" for colour in COLOURS for name in RED if name != "weight"
)
WRED: Final = (*WRED_OF_COLOURS, "weight")
_LARGEST_WEIGHT_LOG: Final = 31
_BURST_OF_TC: Final = 3


@dataclass(frozen=True, slots=True)
class RedSetting:
    """The numbers of a RED queue.

    Attributes:
        min_threshold: bytes of the average queue below which nothing is dropped.
        max_threshold: bytes from which everything is.
        max_probability: reached at the maximum threshold.
        weight: of one arrival in the average.
    """

    min_threshold: float
    max_threshold: float
    max_probability: float
    weight: float


def read_setting(profile: DeviceProfile, values: Mapping[str, float]) -> RedSetting:
    """The setting of a queue, some of whose parameters have other values than in the scenario."""
    known = {**_in_force(profile), **values}
    if profile.discipline == "linux-red":
        return RedSetting(
            known["min_threshold"],
            known["max_threshold"],
            known["max_probability"],
            0.5 ** known["weight_log"],
        )
    size = profile.packet_size()
    return RedSetting(
        size * known["min_threshold"],
        size * known["max_threshold"],
        known["max_probability"],
        known["weight"],
    )


def values_of(profile: DeviceProfile, setting: RedSetting) -> dict[str, float]:
    """The parameters of the scenario's discipline for a setting."""
    if profile.discipline == "linux-red":
        return {
            "min_threshold": setting.min_threshold,
            "max_threshold": setting.max_threshold,
            "max_probability": setting.max_probability,
            "weight_log": float(round(-math.log2(setting.weight))),
        }
    size = profile.packet_size()
    return {
        "min_threshold": setting.min_threshold / size,
        "max_threshold": setting.max_threshold / size,
        "max_probability": setting.max_probability,
        "weight": setting.weight,
    }


def read_settings(profile: DeviceProfile, values: Mapping[str, float]) -> dict[str, RedSetting]:
    """The setting for each colour; the same for all of them where the discipline knows none."""
    if profile.discipline != "wred":
        return dict.fromkeys(COLOURS, read_setting(profile, values))
    known = {**_in_force(profile), **values}
    size = _wred_packet(profile)
    return {
        colour: RedSetting(
            size * known[f"{colour}_min_threshold"],
            size * known[f"{colour}_max_threshold"],
            known[f"{colour}_max_probability"],
            known["weight"],
        )
        for colour in COLOURS
    }


def values_of_colours(
    profile: DeviceProfile, settings: Mapping[str, RedSetting]
) -> dict[str, float]:
    """The parameters of the scenario's discipline for a setting of each colour."""
    if profile.discipline != "wred":
        return values_of(profile, settings[COLOURS[0]])
    size = _wred_packet(profile)
    values = {"weight": settings[COLOURS[0]].weight}
    for colour, setting in settings.items():
        values[f"{colour}_min_threshold"] = setting.min_threshold / size
        values[f"{colour}_max_threshold"] = setting.max_threshold / size
        values[f"{colour}_max_probability"] = setting.max_probability
    return values


def met_settings(
    profile: DeviceProfile, settings: Mapping[str, RedSetting]
) -> Mapping[str, RedSetting]:
    """The settings as a device is to have them.

    Where all packets that cross the link have one colour, nothing is known about the others, which
    the device treats like that one then.
    """
    met = {
        group.colour
        for group in profile.scenario.flows.values()
        if profile.link in (*group.path, *group.return_path)
    }
    return dict.fromkeys(COLOURS, settings[met.pop()]) if len(met) == 1 else settings


def _wred_packet(profile: DeviceProfile) -> float:
    """Bytes of what thresholds count."""
    size = profile.in_force("mean_packet_size") if profile.is_set("byte_mode") else None
    return profile.packet_size() if size is None else size


def limit_bytes(profile: DeviceProfile) -> int:
    """The buffer in bytes."""
    limit = profile.in_force("limit") or 0.0
    return round(limit * (1 if profile.discipline == "linux-red" else profile.packet_size()))


def nearest_power(weight: float, smallest: int, largest: int) -> int:
    """The n for which 2^-n is nearest to a weight, by its logarithm."""
    return min(max(round(-math.log2(weight)), smallest), largest)


def _in_force(profile: DeviceProfile) -> dict[str, float]:
    """The scenario's own values, with what tc makes of those that are automatic."""
    known = {name: profile.in_force(name) for name in profile.settable[profile.discipline]}
    if profile.discipline == "linux-red":
        low, high = known["min_threshold"], known["max_threshold"]
        if high is None:
            high = limit_bytes(profile) / 4 if low is None else 3 * low
        known["max_threshold"] = high
        known["min_threshold"] = low = high / 3 if low is None else low
        if "weight_log" in known and known["weight_log"] is None:
            size = profile.in_force("mean_packet_size") or 1.0
            burst = profile.in_force("burst") or (2 * low + high) / (_BURST_OF_TC * size)
            known["weight_log"] = weight_log_of_burst(low, int(burst), size) or 9
    return {name: value for name, value in known.items() if value is not None}


def weight_log_of_burst(min_threshold: float, burst: int, packet_size: float) -> int | None:
    """The Wlog that tc derives from a burst: iproute2, tc/tc_red.c, ``tc_red_eval_ewma``.

    The smallest w from 1 to 31 with burst + 1 - min / avpkt <= (1 - (1 - 2^-w)^burst) * 2^w,
    which lets so many packets come into an empty queue before the average reaches the minimum
    threshold; ``None`` where tc refuses the burst.
    """
    needed = burst + 1 - min_threshold / packet_size
    if needed < 1.0:
        return None
    for weight_log in range(1, _LARGEST_WEIGHT_LOG + 1):
        weight = 0.5**weight_log
        if needed <= (1.0 - (1.0 - weight) ** burst) / weight:
            return weight_log
    return None
