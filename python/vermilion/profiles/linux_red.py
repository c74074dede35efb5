"""Settings of RED of the Linux kernel, as tc says them.

Sources: net/sched/sch_red.c and include/net/red.h (Linux 6.12), tc/q_red.c and tc/tc_red.c
(iproute2 6.1), tc-red(8).

- Thresholds and limit are whole bytes, the probability is a multiple of 2^-32 below 1, the
  weight is 2^-Wlog with Wlog from 1 to 31.
- tc has no argument for the weight: it derives Wlog from burst, min and avpkt. The command has
  the smallest burst that yields the Wlog meant. Not every Wlog has one: with a minimum
  threshold of few packets some are out of reach, and the nearest that has one is taken. Below
  one packet none has, so the minimum threshold is raised to that.
- The kernel refuses thresholds and weights with fls(threshold) + Wlog >= 32.
- tc refuses a probability of less than (max - min) / 2^31, for which it finds no Plog, even
  though kernels no longer use that.
- tc's ``probability 1`` overflows to 0, which the kernel takes for "not given".
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Final

from vermilion.profiles.interface import DeviceProfile, Place
from vermilion.profiles.red_setting import (
    LINUX_RED,
    RED,
    RedSetting,
    limit_bytes,
    nearest_power,
    read_setting,
    values_of,
    weight_log_of_burst,
)
from vermilion.scenario.wire import nominal_rate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ONE: Final = 2**32
"""The kernel's unit of probability is 1 / this."""

_BITS: Final = 31
"""fls(threshold) + Wlog may not exceed it."""

_MOST_BURST: Final = 1_000_000

_HARD_DROP: Final = "drop_above_maximum"
"""The one switch that is searched, where it is named."""


class LinuxRed(DeviceProfile):
    """RED of Linux: ``tc qdisc change ... red``."""

    name: ClassVar[str] = "linux-red"
    summary: ClassVar[str] = "red of a Linux kernel: whole bytes, weights 2^-n; printed for tc"
    settable: ClassVar[Mapping[str, Sequence[str]]] = {
        "linux-red": (*LINUX_RED, _HARD_DROP),
        "red": (*RED, _HARD_DROP),
    }

    def nearest(self, values: Mapping[str, float]) -> dict[str, float]:
        """The nearest setting that tc can write and the kernel accepts."""
        known = values_of(self, self._settle(read_setting(self, values))[0])
        return {name: known.get(name, value) for name, value in values.items()}

    def command(self, values: Mapping[str, float], place: Place) -> str:
        """The call of tc; it has all arguments, because a change replaces them all."""
        setting, burst = self._settle(read_setting(self, values))
        rate = round(nominal_rate(self.scenario, self.link))
        words = [
            *tc_change(place),
            f"red limit {limit_bytes(self)}",
            f"min {setting.min_threshold:.0f} max {setting.max_threshold:.0f}",
            f"avpkt {self._average_packet()} burst {burst}",
            f"bandwidth {rate}bit probability {setting.max_probability!r}",
        ]
        hard = bool(values.get(_HARD_DROP, self.is_set(_HARD_DROP)))
        words += [flag for flag, on in self._flags(hard=hard).items() if on]
        return " ".join(words)

    def _flags(self, *, hard: bool) -> dict[str, bool]:
        linux = self.discipline == "linux-red"
        ecn = self.is_set("ecn")
        return {
            "ecn": ecn,
            "harddrop": ecn and hard,
            "nodrop": linux and ecn and self.is_set("no_drop"),
            "adaptive": linux and self.is_set("adaptive"),
        }

    def _average_packet(self) -> int:
        if self.discipline == "linux-red":
            return round(self.in_force("mean_packet_size") or 1000)
        return self.packet_size()

    def _settle(self, wanted: RedSetting) -> tuple[RedSetting, int]:
        """The nearest setting, and the burst that has its weight."""
        size = self._average_packet()
        low = max(round(wanted.min_threshold), size)
        high = max(round(wanted.max_threshold), low + 1)
        most = min(_BITS, _BITS - high.bit_length())
        meant = nearest_power(wanted.weight, 1, most)
        bursts = smallest_bursts(low, size)
        # The nearest one; of two equally near, the slower average, which RED is safer with.
        within = [known for known in bursts if known <= most] or [min(bursts)]
        weight_log = min(within, key=lambda known: (abs(known - meant), -known))
        setting = replace(
            wanted,
            min_threshold=float(low),
            max_threshold=float(high),
            max_probability=nearest_probability(low, high, wanted.max_probability),
            weight=0.5**weight_log,
        )
        return setting, bursts[weight_log]


@lru_cache(maxsize=4096)
def smallest_bursts(min_threshold: int, packet_size: int) -> dict[int, int]:
    """Smallest burst for each Wlog that tc can be brought to.

    A larger burst never has a smaller Wlog, so each is found by bisection.
    """
    first = math.ceil(min_threshold / packet_size)
    found: dict[int, int] = {}
    burst = max(first, 1)
    while burst <= _MOST_BURST:
        weight_log = weight_log_of_burst(min_threshold, burst, packet_size)
        if weight_log is None:
            break
        found[weight_log] = burst
        burst = _next_burst(min_threshold, packet_size, burst, weight_log)
    return found


def packet_and_burst(
    min_threshold: int, weight_log: int, largest_packet: int
) -> tuple[int, int] | None:
    """The avpkt and the burst by which tc comes to a Wlog, or the nearest; ``None``: to none.

    tc comes to more of them with a smaller avpkt, and to none with one above the minimum
    threshold. So the largest is taken that has the Wlog.
    """
    size = min(largest_packet, min_threshold)
    found: list[tuple[int, int, int, int]] = []
    while size > 0:
        bursts = smallest_bursts(min_threshold, size)
        # The nearest one; of two equally near, the slower average, which RED is safer with.
        found += [(abs(log - weight_log), -log, -size, burst) for log, burst in bursts.items()]
        size = 0 if weight_log in bursts else size // 2
    if not found:
        return None
    _, _, negative, burst = min(found)
    return -negative, burst


def nearest_probability(min_threshold: int, max_threshold: int, wanted: float) -> float:
    """The nearest maximum probability that tc takes and the kernel has."""
    least = math.floor((max_threshold - min_threshold) / 2**31 * _ONE) + 1
    return min(max(round(wanted * _ONE), least), _ONE - 1) / _ONE


def _next_burst(min_threshold: int, packet_size: int, burst: int, weight_log: int) -> int:
    """The smallest burst above the one given whose Wlog is larger, or that tc refuses."""

    def is_beyond(candidate: int) -> bool:
        found = weight_log_of_burst(min_threshold, candidate, packet_size)
        return found is None or found > weight_log

    step = 1
    while not is_beyond(burst + step):
        if burst + step > _MOST_BURST:
            return burst + step
        step *= 2
    low, high = burst + step // 2, burst + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_beyond(middle) else (middle, high)
    return high


def tc_change(place: Place) -> list[str]:
    """The words with which a change, or a replacement, of any queue begins."""
    at = "root" if place.parent is None else f"parent {place.parent}"
    return [f"tc qdisc {place.verb} dev", place.device or "DEV", at]
