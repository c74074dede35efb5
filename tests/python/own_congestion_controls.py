"""Congestion controls in Python: two that the core has as well, and what tests need besides.

The two are written after the same sources as the core's, so that with the same acknowledgements
each window must be the same.
`python tests/python/own_congestion_controls.py` measures what they cost.
"""
# ruff: noqa: ARG002, T201 - methods look at a part of what they are shown; it prints what it measures

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import vermilion
from vermilion import number, switch

if TYPE_CHECKING:
    from vermilion._core import Acknowledgement, Reduction, Window


class PythonReno(vermilion.CongestionControl):
    """Additive increase, multiplicative decrease (RFC 5681), as the core's `reno` counts."""

    name = "python-reno"
    defaults = {"recovery": "reno"}  # noqa: RUF012 - declared once, changed by nobody

    def on_ack(self, ack: Acknowledgement, window: Window) -> None:
        size = window.size
        window.size = size + 1.0 if size < window.threshold else size + 1.0 / size

    def on_loss(self, loss: Reduction, window: Window) -> float:
        return loss.base / 2


class PythonCubic(vermilion.CongestionControl):
    """CUBIC after RFC 9438 with HyStart++ (RFC 9406), as the core's `cubic` with its defaults."""

    name = "python-cubic"
    defaults = {"timestamps": True}  # noqa: RUF012 - as above
    parameters = (
        number("scaling", "1", 0.4, 0, 1e3, minimum_excluded=True, search=(0.05, 3), scale="log"),
        number("decrease", "1", 0.7, 0.1, 0.99, search=(0.5, 0.95)),
        switch("fast_convergence", default=True),
        switch("hystart", default=True),
    )

    def __init__(self) -> None:
        self.plateau = self.prior = 0.0
        self.began: int | None = None
        self.plateau_time = self.reno = 0.0
        self.flat = True
        self.slow_start = HyStart() if self.hystart else None

    def prepare(self) -> None:
        self.friendly = 3 * (1 - self.decrease) / (1 + self.decrease)

    def on_ack(self, ack: Acknowledgement, window: Window) -> None:
        size, threshold = window.size, window.threshold
        if size >= threshold:
            self.avoid(ack, window, size, ack.counted, float(ack.delivered))
            return
        self.began = None
        self.flat = True
        counted = ack.counted
        slow_start = self.slow_start
        if slow_start:
            counted = slow_start.growth(ack)
        grown = min(counted, max(threshold - size, 0.0))
        size += grown
        window.size = size
        if slow_start and slow_start.over:
            self.slow_start = None
            window.threshold = size
        elif counted - grown > 0:
            self.avoid(ack, window, size, counted - grown, counted - grown)

    def avoid(
        self, ack: Acknowledgement, window: Window, size: float, counted: float, delivered: float
    ) -> None:
        if size >= window.cap:
            return
        now = ack.now
        if self.began is None:
            if self.flat or self.plateau < size:
                self.plateau = size
            self.flat = False
            self.prior = self.prior or size
            self.plateau_time = math.cbrt((self.plateau - size) / self.scaling)
            self.began, self.reno = now, size
        age = (now - self.began) / 1e9
        ahead = (ack.smoothed_round_trip or 0) / 1e9
        distance = age - self.plateau_time
        here = self.scaling * (distance * distance * distance) + self.plateau
        slope = 1.0 if self.reno >= self.prior else self.friendly
        self.reno += 1.0 * slope * delivered / size
        if here < self.reno:
            grown = max(self.reno, size)
        else:
            distance = age + ahead - self.plateau_time
            target = self.scaling * (distance * distance * distance) + self.plateau
            target = min(max(target, size), 1.5 * size)
            grown = min(size + (target - size) * counted / size, target)
        window.size = min(grown, window.cap)

    def reduced(self, base: float, window: Window, least: float) -> float:
        size = min(window.size, window.cap)
        releases = self.fast_convergence and size < self.plateau
        self.plateau = size * (1 + self.decrease) / 2 if releases else size
        self.prior = size
        self.began = None
        self.flat = False
        self.slow_start = None
        return max(base * self.decrease, least)

    def on_loss(self, loss: Reduction, window: Window) -> float:
        return self.reduced(loss.base, window, 2.0)

    def on_mark(self, mark: Reduction, window: Window) -> float:
        return self.reduced(mark.base, window, 1.0)

    def on_timeout(self, timeout: Reduction, window: Window) -> float:
        threshold = self.reduced(timeout.base, window, 2.0)
        self.flat = True
        return threshold


class HyStart:
    """HyStart++ (RFC 9406): ends the first slow start when round trips lengthen."""

    UNKNOWN = 1 << 64

    def __init__(self) -> None:
        self.baseline: int | None = None
        self.rounds = self.samples = self.window_end = 0
        self.last_round = self.this_round = self.UNKNOWN
        self.over = False

    def growth(self, ack: Acknowledgement) -> float:
        counted = min(ack.counted, 8.0)
        growth = counted if self.baseline is None else counted / 4
        if ack.round_trip is not None:
            self.this_round = min(self.this_round, ack.round_trip)
            self.samples += 1
        if self.samples >= 8:
            if self.baseline is not None:
                if self.this_round < self.baseline:
                    self.baseline = None
            elif self.last_round < self.UNKNOWN and self.this_round < self.UNKNOWN:
                threshold = min(max(self.last_round // 8, 4_000_000), 16_000_000)
                if self.this_round >= self.last_round + threshold:
                    self.baseline, self.rounds = self.this_round, 0
        if self.window_end == 0:
            self.window_end = ack.highest
        elif ack.unacknowledged >= self.window_end:
            self.window_end = ack.highest
            self.last_round, self.this_round = self.this_round, self.UNKNOWN
            self.samples = 0
            if self.baseline is not None:
                self.rounds += 1
                self.over = self.rounds >= 5
        return growth


class PythonFixed(vermilion.CongestionControl):
    """A window that stays: what calling Python costs."""

    name = "python-fixed"

    def on_ack(self, ack: Acknowledgement, window: Window) -> None:
        pass

    def on_loss(self, loss: Reduction, window: Window) -> float:
        return loss.base


def _measure() -> None:
    """Prints what each costs on `varying-load` at 100 Mbit/s, in CPU time."""
    own = [PythonReno, PythonCubic, PythonFixed]
    for each in own:
        vermilion.register_congestion_control(each)
    scenario = vermilion.load_scenario("varying-load")
    scenario = scenario.with_values(
        {"links.bottleneck.rate": "100 Mbit/s", "links.bottleneck.queue.limit": 500}
    )
    reference = 0.0
    for name in ["reno", "cubic", *(each.name for each in own)]:
        variant = scenario.with_values(
            {f"flows.{group}.sender.congestion_control": name for group in scenario.flows}
        )
        best, packets = float("inf"), 0
        for _ in range(5):
            begun = time.process_time()
            result = vermilion.run(variant)
            best = min(best, time.process_time() - begun)
            packets = result.data["packets_forwarded"]
        reference = reference or best
        print(f"{name:16} {packets / best:12,.0f} packets/s {best / reference:6.1f} x reno")


if __name__ == "__main__":
    _measure()
