"""Rules of cake-autorate for one direction: an answer in, a rate of CAKE out.

As of lynxthecat/cake-autorate 94238be, in whole microseconds, kbit/s and thousandths as there.
Many configurations take a step at once: every number is an array with an entry for each. Left out
are what reflectors and pingers need (health, stalls, sleep) and changes of CPU load.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Flags = NDArray[np.bool_]

PACKET_BITS: Final = 8 * 1514
"""A full packet: what delays are compensated for while it passes CAKE."""

DEFAULTS: Final[Mapping[str, float]] = {
    "min_dl_shaper_rate_kbps": 5000,
    "base_dl_shaper_rate_kbps": 20000,
    "max_dl_shaper_rate_kbps": 80000,
    "min_ul_shaper_rate_kbps": 5000,
    "base_ul_shaper_rate_kbps": 20000,
    "max_ul_shaper_rate_kbps": 35000,
    "dl_owd_delta_delay_thr_ms": 30,
    "ul_owd_delta_delay_thr_ms": 30,
    "dl_avg_owd_delta_max_adjust_up_thr_ms": 10,
    "ul_avg_owd_delta_max_adjust_up_thr_ms": 10,
    "dl_avg_owd_delta_max_adjust_down_thr_ms": 60,
    "ul_avg_owd_delta_max_adjust_down_thr_ms": 60,
    "connection_active_thr_kbps": 2000,
    "bufferbloat_detection_window": 6,
    "bufferbloat_detection_thr": 3,
    "shaper_rate_min_adjust_down_bufferbloat": 0.99,
    "shaper_rate_max_adjust_down_bufferbloat": 0.75,
    "shaper_rate_min_adjust_up_load_high": 1.0,
    "shaper_rate_max_adjust_up_load_high": 1.04,
    "shaper_rate_adjust_down_load_low": 0.99,
    "shaper_rate_adjust_up_load_low": 1.01,
    "high_load_thr": 0.75,
    "bufferbloat_refractory_period_ms": 300,
    "decay_refractory_period_ms": 1000,
    "monitor_achieved_rates_interval_ms": 200,
}
"""Numbers of a configuration that the rules read, with the defaults of ``defaults.sh``."""

_ASSIGNMENT: Final = re.compile(r"^\s*(?:export\s+)?([A-Za-z_]\w*)=[\"']?([^\"'#\s]*)")
_DIRECTION: Final = re.compile(r"(?:^|_)(?:dl|ul)_")


def read_configuration(text: str) -> dict[str, float]:
    """Read the numbers of a ``config.primary.sh``; nothing of it is run.

    Raises:
        ValueError: a number that the rules read is none.
    """
    found = dict(DEFAULTS)
    for line in text.splitlines():
        matched = _ASSIGNMENT.match(line)
        if matched and matched[1] in DEFAULTS:
            try:
                found[matched[1]] = float(matched[2])
            except ValueError:
                message = f"{matched[1]}: {matched[2]!r} is no number"
                raise ValueError(message) from None
    return found


@dataclass(frozen=True, slots=True)
class Rules:
    """Configurations in the script's whole numbers, an entry for each; times in us.

    ``min_rate``, ``base_rate`` and ``max_rate`` are in kbit/s, ``least_down`` to ``up_low`` in
    thousandths of the rate.
    """

    min_rate: Integers
    base_rate: Integers
    max_rate: Integers
    delay_threshold: Integers
    up_threshold: Integers
    down_threshold: Integers
    active: Integers
    window: Integers
    detection: Integers
    least_down: Integers
    most_down: Integers
    least_up: Integers
    most_up: Integers
    down_low: Integers
    up_low: Integers
    high_percent: Integers
    refractory: Integers
    decay: Integers
    monitoring: Integers

    @classmethod
    def of(cls, configurations: Iterable[Mapping[str, float]], direction: str) -> Rules:
        """Take one direction of configurations."""
        rows = list(configurations)

        def column(name: str, scale: float) -> Integers:
            return np.array([round(row[name] * scale) for row in rows], dtype=np.int64)

        columns = []
        for name in DEFAULTS:
            of_direction = _DIRECTION.search(name) is not None
            if of_direction and f"{direction}_" not in name:
                continue
            scale = 1000.0 if name.endswith("_ms") or "_adjust_" in name else 1.0
            if name.endswith("_kbps"):
                scale = 1.0
            elif name == "high_load_thr":
                scale = 100.0
            columns.append(column(name, scale))
        return cls(*columns)

    @property
    def count(self) -> int:
        """Number of configurations."""
        return len(self.min_rate)


@dataclass(slots=True)
class Shapers:
    """State of CAKE's rate under each configuration.

    Attributes:
        rate: kbit/s.
    """

    rules: Rules
    rate: Integers = field(init=False)
    _deltas: Integers = field(init=False)
    _delayed: Flags = field(init=False)
    _place: Integers = field(init=False)
    _last_bufferbloat: Integers = field(init=False)
    _last_decay: Integers = field(init=False)
    _achieved: Integers = field(init=False)
    _updated: Flags = field(init=False)
    _percent: Integers = field(init=False)
    _thresholds: tuple[Integers, Integers, Integers] = field(init=False)
    _rows: Integers = field(init=False)

    def __post_init__(self) -> None:
        """Start at the base rates, with no answers."""
        count, most = self.rules.count, int(self.rules.window.max())
        self.rate = self.rules.base_rate.copy()
        self._deltas = np.zeros((count, most), dtype=np.int64)
        self._delayed = np.zeros((count, most), dtype=bool)
        self._place, self._last_bufferbloat, self._last_decay, self._achieved, self._percent = (
            np.zeros(count, dtype=np.int64) for _ in range(5)
        )
        self._updated = np.zeros(count, dtype=bool)
        self._rows = np.arange(count)
        self._compensate()

    def _compensate(self) -> None:
        packet = 1000 * PACKET_BITS // self.rate
        rules = self.rules
        self._thresholds = (
            rules.up_threshold + packet,
            rules.delay_threshold + packet,
            rules.down_threshold + packet,
        )

    def on_achieved(self, achieved_kbps: Integers) -> None:
        """Take what has passed CAKE since the last such call."""
        self._achieved = achieved_kbps
        self._percent = 100 * achieved_kbps // self.rate
        self._updated[:] = True

    def on_answer(self, now_us: int, delta_us: Integers, answered: Flags | None = None) -> None:
        """Take the delay of an answer above its baseline, and set the rates.

        Args:
            now_us: time.
            delta_us: for each configuration.
            answered: configurations for which there is one; all by default.
        """
        rules, rows, place = self.rules, self._rows, self._place
        told = np.ones(rules.count, dtype=bool) if answered is None else answered
        up_threshold, threshold, down_threshold = self._thresholds
        self._deltas[rows, place] = np.where(told, delta_us, self._deltas[rows, place])
        self._delayed[rows, place] = np.where(
            told, delta_us > threshold, self._delayed[rows, place]
        )
        self._place = np.where(told, (place + 1) % rules.window, place)
        # As in the shell: quotients are cut towards 0.
        average = _cut(self._deltas.sum(axis=1), rules.window)

        bloated = self._delayed.sum(axis=1) >= rules.detection
        ready = now_us > self._last_bufferbloat + rules.refractory
        high = self._percent > rules.high_percent
        falls = told & bloated & ready
        rises = told & ~bloated & high & self._updated & ready
        rests = told & ~bloated & ~high & (now_us > self._last_decay + rules.decay)

        share = _share(average - threshold, down_threshold - threshold)
        down = 1000 * rules.least_down - share * (rules.least_down - rules.most_down)
        share = _share(threshold - average, threshold - up_threshold)
        up = 1000 * rules.least_up - share * (rules.least_up - rules.most_up)
        lower = np.maximum(self.rate * rules.down_low // 1000, rules.base_rate)
        upper = np.minimum(self.rate * rules.up_low // 1000, rules.base_rate)
        rested = np.where(self.rate > rules.base_rate, lower, upper)

        rate = np.where(falls, self.rate * down // 1_000_000, self.rate)
        rate = np.where(rises, self.rate * up // 1_000_000, rate)
        rate = np.where(rests, rested, rate)
        self._last_bufferbloat = np.where(falls, now_us, self._last_bufferbloat)
        self._last_decay = np.where(falls | rises | rests, now_us, self._last_decay)
        self._updated &= ~rises
        self.rate = np.clip(rate, rules.min_rate, np.maximum(rules.min_rate, rules.max_rate))
        self._compensate()


def _cut(amount: Integers, parts: Integers) -> Integers:
    """Quotients without their fraction."""
    return np.sign(amount) * (np.abs(amount) // parts)


def _share(part: Integers, whole: Integers) -> Integers:
    """Thousandths from 0 to 1000; all where there is no whole."""
    cut = np.clip(1000 * np.maximum(part, 0) // np.maximum(whole, 1), 0, 1000)
    return np.where(whole <= 0, 1000, cut)
