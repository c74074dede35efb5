"""Disciplines in Python: two that the core has as well, and what tests need besides.

Methods look at a part of what they are shown.

The two are written after the same sources as the core's, so that with the same coins each packet
must have the same fate. `python tests/python/own_disciplines.py` measures what they cost.
"""
# ruff: noqa: ARG002, T201 - see above; a program that prints what it measures

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import vermilion
from vermilion import Verdict, number

if TYPE_CHECKING:
    from vermilion._core import Coin, Packet, Queue

ACCEPT, MARK, NOTIFY, DROP, FORCED, OVERFLOW = Verdict


class PythonDropTail(vermilion.Discipline):
    """Accepts packets until the buffer is full."""

    name = "python-drop-tail"
    parameters = (number("limit", "packets", 100, 1, 1e9, whole=True),)

    def on_arrival(self, packet: Packet, queue: Queue, coin: Coin) -> Verdict:
        return ACCEPT if queue.packets < self.limit else OVERFLOW


class PythonRed(vermilion.Discipline):
    """Random Early Detection after the paper of 1993, as the core's `red` with its defaults."""

    name = "python-red"
    parameters = (
        number("limit", "packets", 100, 1, 1e9, whole=True),
        number("min_threshold", "packets", 5, 0, 1e9, search=(1, 50)),
        number("max_threshold", "packets", 15, 0, 1e9, search=(6, 100)),
        number("max_probability", "probability", 0.02, 0, 1, minimum_excluded=True),
        number("weight", "1", 0.002, 0, 1, minimum_excluded=True, search=(1e-4, 1), scale="log"),
        number("mean_packet_size", "bytes", 1000, 1, 65535),
    )
    ordered = (("min_threshold", "max_threshold"),)

    def __init__(self) -> None:
        self.average = 0.0
        self.decayed_until = 0
        self.count = 0

    def prepare(self) -> None:
        self.slope = self.max_probability / (self.max_threshold - self.min_threshold)
        self.transmission_ns = 1e9 / (self.link_rate / (8 * self.mean_packet_size))

    def on_arrival(self, packet: Packet, queue: Queue, coin: Coin) -> Verdict:
        waiting = queue.packets
        if waiting:
            self.average += self.weight * (waiting - self.average)
        else:
            now = queue.now
            empty_ns = now - max(queue.empty_since, self.decayed_until)
            self.average *= (1 - self.weight) ** (empty_ns / self.transmission_ns)
            self.decayed_until = now
        if self.average < self.min_threshold:
            self.count = 0
            verdict = ACCEPT
        elif self.average >= self.max_threshold:
            self.count = 0
            verdict = MARK if packet.ecn_capable else FORCED
        else:
            probability = self.slope * (self.average - self.min_threshold)
            if coin() * (1 - self.count * probability) < probability:
                self.count = 0
                verdict = NOTIFY
            else:
                self.count += 1
                verdict = ACCEPT
        if waiting >= self.limit:
            self.count = 0
            return OVERFLOW
        return verdict

    def average_queue(self) -> float:
        return self.average

    def drop_probability(self) -> float:
        if self.average < self.min_threshold:
            return 0.0
        if self.average < self.max_threshold:
            return min(self.slope * (self.average - self.min_threshold), 1.0)
        return 1.0


class PythonDropTailWatching(PythonDropTail):
    """Drop-tail that is also asked when packets leave."""

    name = "python-drop-tail-watching"

    def on_departure(self, packet: Packet, queue: Queue, coin: Coin) -> Verdict:
        return ACCEPT


class PythonNull(vermilion.Discipline):
    """Accepts everything: what calling Python costs."""

    name = "python-null"

    def on_arrival(self, packet: Packet, queue: Queue, coin: Coin) -> Verdict:
        return ACCEPT


def _measure() -> None:
    """Prints what each costs on the 1 Gbit/s network of the core's benchmarks, in CPU time."""
    own = [PythonNull, PythonDropTail, PythonDropTailWatching, PythonRed]
    for discipline in own:
        vermilion.register_discipline(discipline)
    scenario = vermilion.load_scenario("varying-load")
    scenario = scenario.with_values(
        {"links.bottleneck.rate": "100 Mbit/s", "links.bottleneck.queue.limit": 500}
    )
    from vermilion.scenario.other_values import with_discipline

    reference = 0.0
    for name in ["drop-tail", "red", *(discipline.name for discipline in own)]:
        variant, _ = with_discipline(scenario, name)
        best, packets = float("inf"), 0
        for _ in range(5):
            begun = time.process_time()
            result = vermilion.run(variant)
            best = min(best, time.process_time() - begun)
            packets = result.data["packets_forwarded"]
        reference = reference or best
        print(f"{name:28} {packets / best:12,.0f} packets/s {best / reference:6.1f} x drop-tail")


if __name__ == "__main__":
    _measure()
