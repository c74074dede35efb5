"""The source of REM, written from the paper's description."""

import math
from collections import deque
from decimal import ROUND_CEILING, Decimal
from typing import ClassVar

from events import (
    Acknowledgement,
    Case,
    Parameters,
    Path,
    Sign,
    Step,
    TooCloseError,
    Window,
    by_hand,
    recorded,
    text,
)

SOURCE = "S. Athuraliya, S. Low, Simulation Comparison of RED and REM, ICON 2000"
GIGA = Decimal(10) ** 9
MS = 1_000_000


class Rem:
    """The reference."""

    OWN: ClassVar[Parameters] = {
        "phi": 1.04,
        "marks_memory": 50.0,
        "utility_weight": 4000.0,
        "max_rate": None,
        "min_rate": None,
        "round_trip_gain": 0.02,
        "adjustment": "immediate",
    }

    def __init__(self, parameters: Parameters) -> None:
        def number(name: str, otherwise: str) -> Decimal:
            value = parameters[name]
            return Decimal(otherwise if value is None else str(value))

        self.log_phi = number("phi", "").ln()
        self.n = int(number("marks_memory", ""))
        self.w = number("utility_weight", "")
        self.max_rate = number("max_rate", str(self.w))
        self.min_rate = number("min_rate", "0")
        self.beta = number("round_trip_gain", "")
        self.smoothed = parameters["adjustment"] == "smoothed"
        self.history = deque([0] * self.n, maxlen=self.n)
        self.rtt: Decimal | None = None
        self.round_end = 0

    def acknowledge(self, event: Acknowledgement, window: Window) -> None:
        marked = min(event.marked, max(event.delivered, 1))
        self.history.extend([1] * marked + [0] * (event.delivered - marked))
        if event.round_trip_ns is not None:
            sample = Decimal(event.round_trip_ns) / GIGA
            self.rtt = (
                sample if self.rtt is None else (1 - self.beta) * self.rtt + self.beta * sample
            )
        over = event.unacknowledged >= self.round_end
        if over:
            self.round_end = event.highest
        if self.rtt is None or event.in_recovery:
            return
        f = Decimal(sum(self.history)) / self.n
        if f == 0:
            x = self.max_rate
        elif f == 1:
            x = self.min_rate
        else:
            x = self.w / (-(1 - f).ln() / self.log_phi)
            x = max(min(x, self.max_rate), self.min_rate)
        exact = x * self.rtt
        target = exact.to_integral_value(ROUND_CEILING)
        nearest = exact.to_integral_value()
        if exact != nearest and abs(exact - nearest) < Decimal("1e-9") * max(exact, Decimal(1)):
            raise TooCloseError(exact, nearest)
        target = min(max(target, Decimal(1)), window.cap)
        window.slow_start_threshold = Decimal(2)
        if not self.smoothed:
            window.congestion = target
        elif over:
            step = min(max(target - window.congestion, Decimal(-1)), Decimal(1))
            window.congestion = max(window.congestion + step, Decimal(1))

    def reduce(self, event: Sign, window: Window) -> Decimal:
        del window
        return Decimal(event.base) / 2


def answer(unacknowledged: int, marked: int = 0) -> Acknowledgement:
    return Acknowledgement(0, 1, 1, marked, 20 * MS, 20 * MS, unacknowledged, unacknowledged + 10)


def vectors() -> str:
    def window_for(marks: int) -> float:
        # By double-precision hand calculator: 80 packets in 20 ms at the greatest rate.
        rate = 4000.0
        if marks:
            rate = min(rate, 4000.0 * math.log(1.04) / -math.log(1 - marks / 4))
        return float(math.ceil(rate * 0.02 - 1e-9))

    hand = [
        Case(
            "one, two, three of the last four marked, then all, then fewer again",
            "f 0.25: price 7.33, 545 packets per second, 11 in 20 ms; 0.5: 17.7, 226, 5; 0.75: "
            "35.3, 113, 3; 1: the least rate, one packet; and back as unmarked ones come in; "
            "none: 4000, 80",
            {"marks_memory": 4.0},
            (1.0, 1000.0, 1e6),
            [
                Step(answer(1), 80.0, 2.0),
                Step(answer(2, 1), 11.0, 2.0),
                Step(answer(3, 1), 5.0, 2.0),
                Step(answer(4, 1), 3.0, 2.0),
                Step(answer(5, 1), 1.0, 2.0),
                Step(answer(6), 3.0, 2.0),
                Step(answer(7), 5.0, 2.0),
                Step(answer(8), window_for(1), 2.0),
                Step(answer(9), window_for(0), 2.0),
            ],
            by_hand=True,
        ),
        Case(
            "smoothed, the window moves by one packet in a round trip",
            "acknowledgements 1 and 11 end rounds (10 packets are outstanding), 5 does not",
            {"adjustment": "smoothed"},
            (20.0, 1000.0, 1e6),
            [
                Step(answer(1), 21.0, 2.0),
                Step(answer(5), 21.0, 2.0),
                Step(answer(11), 22.0, 2.0),
                Step(Sign(0, "loss", 22.0), 11.0, 11.0),
                Step(answer(21), 12.0, 2.0),
            ],
            by_hand=True,
        ),
        Case(
            "given rates bound what the price asks for",
            "at most 1000 packets per second, 20 in 20 ms; at least 130, 2.6, rounded up",
            {"marks_memory": 1.0, "max_rate": 1000.0, "min_rate": 130.0},
            (1.0, 1000.0, 1e6),
            [Step(answer(1), 20.0, 2.0), Step(answer(2, 1), 3.0, 2.0)],
            by_hand=True,
        ),
    ]
    path = Path(20_000, 7_000, segments=(1, 2), mark=0.4, loss=0.01, timeout=0.005, recovery=5)
    cases = [
        *(by_hand(Rem, case) for case in hand),
        recorded(Rem, "marks at random", "two of five", {}, (2.0, 1000.0, 10000.0), path, 200),
        recorded(
            Rem,
            "marks at random, smoothed",
            "two of five among the last twenty",
            {"adjustment": "smoothed", "marks_memory": 20.0, "phi": 1.1, "utility_weight": 1000.0},
            (2.0, 1000.0, 10000.0),
            path,
            150,
        ),
    ]
    return text("rem", SOURCE, Rem, cases)
