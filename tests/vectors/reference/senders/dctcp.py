"""DCTCP, written from RFC 8257 (its names)."""

from decimal import Decimal
from typing import ClassVar

from events import (
    Acknowledgement,
    Case,
    Parameters,
    Path,
    Sign,
    Step,
    Window,
    below,
    by_hand,
    recorded,
    text,
)

SOURCE = "RFC 8257; RFC 3168 and Linux where it leaves something open"


class Dctcp:
    """The reference. Segments instead of bytes."""

    OWN: ClassVar[Parameters] = {"mark_gain": 0.0625}

    def __init__(self, parameters: Parameters) -> None:
        self.g = Decimal(str(parameters["mark_gain"]))
        self.alpha = Decimal(1)
        self.window_end = 0
        self.bytes_acked = self.bytes_marked = 0
        self.cwr_until: int | None = 0
        self.last = 0

    def acknowledge(self, event: Acknowledgement, window: Window) -> None:
        self.bytes_acked += event.delivered
        self.bytes_marked += event.marked
        if event.unacknowledged > self.window_end:
            if self.bytes_acked:
                m = Decimal(self.bytes_marked) / self.bytes_acked
                self.alpha = self.alpha * (1 - self.g) + self.g * min(m, Decimal(1))
            self.window_end = event.highest
            self.bytes_acked = self.bytes_marked = 0
        if self.cwr_until is None:
            self.cwr_until = event.highest
        new, self.last = event.unacknowledged > self.last, event.unacknowledged
        if event.in_recovery:
            return
        if event.marked:
            if event.unacknowledged > self.cwr_until:
                cwnd = min(window.congestion, window.cap) * (1 - self.alpha / 2)
                window.congestion = window.slow_start_threshold = max(cwnd, Decimal(2))
                self.cwr_until = event.highest
            return
        if not new or not below(window.congestion, window.cap):
            return
        if below(window.congestion, window.slow_start_threshold):
            window.congestion += 1
        else:
            window.congestion += event.counted / window.congestion

    def reduce(self, event: Sign, window: Window) -> Decimal:
        del window
        self.cwr_until = None
        return Decimal(event.base) / 2


def answer(unacknowledged: int, highest: int, marked: int = 0) -> Acknowledgement:
    return Acknowledgement(0, 1, 1, marked, None, None, unacknowledged, highest)


def vectors() -> str:
    hand = [
        Case(
            "the first mark halves, a second in the same window does nothing",
            "alpha is 1 until a window is over: its only segment so far is marked, so it stays 1. "
            "101 acknowledges what was outstanding then, 102 is beyond it: alpha is 15/16 + 1/16 "
            "= 1 again, and 50 becomes 25",
            {},
            (100.0, 1000.0, 1e6),
            [
                Step(answer(1, 101, 1), 50.0, 50.0),
                Step(answer(101, 101, 1), 50.0, 50.0),
                Step(answer(102, 152, 1), 25.0, 25.0),
            ],
            by_hand=True,
        ),
        Case(
            "two windows without marks, then a mark",
            "each acknowledgement ends a window: alpha 15/16, 225/256, then 3375/4096 + 1/16 = "
            "3631/4096; 12 segments (two of slow start) lose 3631/8192 of themselves",
            {},
            (10.0, 1000.0, 1e6),
            [
                Step(answer(1, 1), 11.0, 1000.0),
                Step(answer(2, 2), 12.0, 1000.0),
                Step(answer(3, 3, 1), 12 * (1 - 3631 / 8192), 12 * (1 - 3631 / 8192)),
            ],
            by_hand=True,
        ),
        Case(
            "a loss halves, and marks of the same window do not reduce it again",
            "60 becomes 30; segment 101 lies in the window of the loss, 202 beyond it; alpha is 1",
            {},
            (60.0, 2.0, 1e6),
            [
                Step(Sign(0, "loss", 60.0), 30.0, 30.0),
                Step(answer(101, 201, 1), 30.0, 30.0),
                Step(answer(202, 231, 1), 15.0, 15.0),
            ],
            by_hand=True,
        ),
    ]
    cases = [
        *(by_hand(Dctcp, case) for case in hand),
        recorded(
            Dctcp,
            "marks at random, losses, timeouts",
            "one segment in twenty marked",
            {},
            (30.0, 2.0, 10000.0),
            Path(1000, 0, segments=(1, 2, 3), mark=0.05, loss=0.01, timeout=0.005, recovery=12),
            300,
        ),
        recorded(
            Dctcp,
            "many marks and a small cap",
            "three of ten marked, gain 1/4",
            {"mark_gain": 0.25},
            (4.0, 1000.0, 9.0),
            Path(1000, 0, mark=0.3, loss=0.01),
            150,
        ),
    ]
    return text("dctcp", SOURCE, Dctcp, cases)
