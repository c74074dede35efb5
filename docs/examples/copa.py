"""Copa as a plug-in: see docs/bench.md.

After V. Arun and H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the
Internet", NSDI 2018, sections 2 and 3. Departures: the window is never below two packets, and a
timeout starts again with slow start.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from vermilion import CongestionControl, number

if TYPE_CHECKING:
    from vermilion._core import Acknowledgement, Reduction, Window

SECOND = 1_000_000_000  # nanoseconds, as all times here


class Least:
    """Least of the values of the last so many nanoseconds; with ``sign=-1`` the greatest."""

    def __init__(self, sign: int = 1) -> None:
        self.sign = sign
        self.kept: deque[tuple[int, int]] = deque()

    def add(self, now: int, value: int, span: int) -> int:
        """Take a value and return the least within the span."""
        kept, value = self.kept, self.sign * value
        while kept and kept[-1][1] >= value:
            kept.pop()
        kept.append((now, value))
        while kept[0][0] < now - span:
            kept.popleft()
        return self.sign * kept[0][1]


class Copa(CongestionControl):
    """Aims at a rate of 1 / (delta x queueing delay), and competes where others fill the queue."""

    name = "copa"
    source = "V. Arun, H. Balakrishnan, Copa, NSDI 2018"
    parameters = (
        number(
            "delta", "1", 0.5, 0.004, 2, search=(0.05, 1), scale="log",
            meaning="1 / packets that a flow keeps in the queue",
        ),
    )  # fmt: skip
    defaults = {"pacing": True, "recovery": "rack", "timestamps": True}  # noqa: RUF012 - read only
    governs_window = True

    def __init__(self) -> None:
        self.lowest, self.standing, self.highest = Least(), Least(), Least(-1)
        self.slow_start, self.velocity, self.rising, self.same = True, 1.0, True, 0
        self.turn_at, self.turn_window = 0, 0.0
        self.empty_at, self.packets, self.lost = 0, 1 / self.delta, False

    def on_ack(self, ack: Acknowledgement, window: Window) -> None:
        """Move the window towards the target rate, by velocity / (delta x window) packets."""
        self.lost = self.lost or ack.lost > 0
        if ack.round_trip is None:
            return
        now, smoothed = ack.now, ack.smoothed_round_trip or ack.round_trip
        least = self.lowest.add(now, ack.round_trip, 10 * SECOND)
        standing = self.standing.add(now, ack.round_trip, smoothed // 2)
        greatest = self.highest.add(now, ack.round_trip, 4 * smoothed)
        queueing = standing - least
        if queueing <= 0.1 * (greatest - least):
            self.empty_at = now  # others leave the queue empty now and then
        packets = self.packets if now - self.empty_at > 5 * smoothed else 1 / self.delta
        below = queueing * window.size <= packets * standing  # rate <= 1 / (delta x delay)
        if now >= self.turn_at:
            self.turn(now, standing, window, below=below)
        if self.slow_start and below:
            window.size += ack.delivered
        else:
            self.slow_start = False
            step = self.velocity * packets * ack.delivered / window.size
            window.size = max(2.0, window.size + (step if below else -step))
        window.pacing_rate = 2 * window.size * SECOND / standing

    def turn(self, now: int, standing: int, window: Window, *, below: bool) -> None:
        """Once a round trip: double the velocity after three in one direction; weigh losses."""
        rising = window.size > self.turn_window
        self.same = self.same + 1 if rising == self.rising else 0
        # Three round trips in one direction, and the target still lies that way.
        steady = self.same >= 3 and rising == below  # noqa: PLR2004 - the paper's
        self.velocity = min(2 * self.velocity, window.size / 4) if steady else 1.0
        self.velocity = max(1.0, self.velocity)
        self.rising, self.turn_window, self.turn_at = rising, window.size, now + standing
        competes = now - self.empty_at > 5 * standing
        self.packets = self.packets + 1 if competes and not self.lost else self.packets / 2
        self.packets = max(1 / self.delta, self.packets)
        self.lost = False

    def on_loss(self, loss: Reduction, window: Window) -> float:  # noqa: ARG002 - it is not needed
        """Nothing: losses are weighed once a round trip."""
        return window.size

    def on_timeout(self, timeout: Reduction, window: Window) -> float:  # noqa: ARG002 - likewise
        """Start again."""
        self.slow_start, self.velocity, self.packets = True, 1.0, 1 / self.delta
        return max(2.0, timeout.base / 2)
