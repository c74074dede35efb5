"""LEDBAT, written from the pseudocode of RFC 6817, section 2.4.2."""

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

SOURCE = "RFC 6817"
MS = 1_000_000
MINUTE = 60_000 * MS


class Ledbat:
    """The reference."""

    OWN: ClassVar[Parameters] = {
        "target_delay": 0.1,
        "delay_gain": 1.0,
        "base_history": 10.0,
        "current_filter": 4.0,
        "allowed_increase": 1.0,
        "minimum_window": 2.0,
    }

    def __init__(self, parameters: Parameters) -> None:
        def number(name: str) -> Decimal:
            return Decimal(str(parameters[name]))

        self.target_ns = number("target_delay") * 10**9
        self.gain = number("delay_gain")
        self.allowed_increase = number("allowed_increase")
        self.min_cwnd = number("minimum_window")
        infinite = 10**30
        self.base_delays = [infinite] * int(number("base_history"))
        self.current_delays = [infinite] * int(number("current_filter"))
        self.last_rollover: int | None = None

    def acknowledge(self, event: Acknowledgement, window: Window) -> None:
        if event.forward_delay_ns is None:
            return
        minute = event.now_ns // MINUTE
        if minute != self.last_rollover:
            self.last_rollover = minute
            self.base_delays = [*self.base_delays[1:], event.forward_delay_ns]
        else:
            tail = min(self.base_delays[-1], event.forward_delay_ns)
            self.base_delays = [*self.base_delays[:-1], tail]
        self.current_delays = [*self.current_delays[1:], event.forward_delay_ns]
        queuing_delay = max(0, min(self.current_delays) - min(self.base_delays))
        off_target = (self.target_ns - queuing_delay) / self.target_ns
        flightsize = event.highest - event.unacknowledged + event.delivered
        cwnd = window.congestion
        cwnd += self.gain * off_target * event.delivered / cwnd
        max_allowed_cwnd = flightsize + self.allowed_increase
        if below(max_allowed_cwnd, cwnd):
            cwnd = max_allowed_cwnd
        if below(cwnd, self.min_cwnd):
            cwnd = self.min_cwnd
        if below(window.cap, cwnd):
            cwnd = window.cap
        window.congestion = cwnd
        window.slow_start_threshold = Decimal(2)

    def reduce(self, event: Sign, window: Window) -> Decimal:
        half = max(Decimal(event.base) / 2, self.min_cwnd)
        return min(window.congestion, half)


def answer(now_ms: int, delay_ms: int, outstanding: int, delivered: int = 1) -> Acknowledgement:
    """An acknowledgement after which so many are outstanding."""
    first = 100
    return Acknowledgement(
        now_ms * MS,
        delivered,
        1,
        0,
        20 * MS,
        20 * MS,
        first,
        first + outstanding,
        forward_delay_ns=delay_ms * MS,
    )


def vectors() -> str:
    hand = [
        Case(
            "up, half as fast, not at all, down",
            "queueing delays of 0, 50, 100, 200 ms against a target of 100: 1, 1/2, 0 and -1 "
            "segments in a round trip; 10 + 2/10 = 10.2, + 1/10.2, + 0, - 2/10.298",
            {"current_filter": 1.0},
            (10.0, 1000.0, 1e6),
            [
                Step(answer(0, 500, 98, 2), 10.2, 2.0),
                Step(answer(10, 550, 98, 2), 10.2 + 1 / 10.2, 2.0),
                Step(answer(20, 600, 98, 2), 10.2 + 1 / 10.2, 2.0),
                Step(
                    answer(30, 700, 98, 2),
                    10.2 + 1 / 10.2 - 2 / (10.2 + 1 / 10.2),
                    2.0,
                ),
            ],
            by_hand=True,
        ),
        Case(
            "no larger than what was outstanding and one more, no smaller than two",
            "5 outstanding before the acknowledgement: 6 at most; 100 ms beyond the target twice: "
            "6 - 6/6 = 5, 5 - 20/5 = 1, so 2",
            {"current_filter": 1.0},
            (10.0, 1000.0, 1e6),
            [
                Step(answer(0, 500, 4), 6.0, 2.0),
                Step(answer(10, 700, 94, 6), 5.0, 2.0),
                Step(answer(20, 700, 80, 20), 2.0, 2.0),
            ],
            by_hand=True,
        ),
        Case(
            "the least of the last four delays counts",
            "one late segment is not heard, four are: 10.1, 10.1 + 1/10.1; then 3 times as long "
            "as the base, still unheard; with the fourth the queueing delay is 200 ms",
            {},
            (10.0, 1000.0, 1e6),
            [
                Step(answer(0, 100, 99), 10.1, 2.0),
                *(
                    Step(answer(10 * number, 300, 99), window, 2.0)
                    for number, window in enumerate(up_then_down(10.1), 1)
                ),
            ],
            by_hand=True,
        ),
        Case(
            "a delay is forgotten after two minutes",
            "100 ms in the first minute, 200 since: at the target in the second, where the history "
            "holds both; in the third 200 ms is the base, and the window grows",
            {"base_history": 2.0, "current_filter": 1.0},
            (10.0, 1000.0, 1e6),
            [
                Step(answer(59_000, 100, 99), 10.1, 2.0),
                Step(answer(60_000, 200, 99), 10.1, 2.0),
                Step(answer(119_000, 200, 99), 10.1, 2.0),
                Step(answer(120_000, 200, 99), 10.1 + 1 / 10.1, 2.0),
            ],
            by_hand=True,
        ),
        Case(
            "a loss halves, a timeout leaves one, and then two at least",
            "10 and 4 are halved to 5 and 2; 3 becomes 2; after the timeout 1 + 1 = 2",
            {},
            (10.0, 1000.0, 1e6),
            [
                Step(Sign(0, "loss", 10.0), 5.0, 5.0),
                Step(Sign(0, "loss", 4.0), 2.0, 2.0),
                Step(Sign(0, "timeout", 2.0), 1.0, 2.0),
                Step(answer(0, 100, 0), 2.0, 2.0),
            ],
            by_hand=True,
        ),
    ]
    slow = Path(1_600_000, 9_000, segments=(1, 2), loss=0.01, queue_us=8_000.0, forward_us=150_000)
    fast = Path(
        20_000,
        3_000,
        loss=0.005,
        timeout=0.003,
        recovery=3,
        queue_us=700.0,
        forward_us=9_000,
    )
    cases = [
        *(by_hand(Ledbat, case) for case in hand),
        recorded(
            Ledbat,
            "to the target and about it",
            "8 ms of queue for each segment of the window; four minutes, of which two count",
            {"base_history": 2.0},
            (2.0, 1000.0, 10000.0),
            slow,
            1200,
        ),
        recorded(
            Ledbat,
            "another target, gain and filter",
            "5 ms, 0.5, the last alone; losses and timeouts",
            {"target_delay": 0.005, "delay_gain": 0.5, "current_filter": 1.0},
            (2.0, 1000.0, 10000.0),
            fast,
            300,
        ),
    ]
    return text("ledbat", SOURCE, Ledbat, cases)


def up_then_down(window: float) -> list[float]:
    """Three acknowledgements unheard, then two with 200 ms against a target of 100."""
    windows = []
    for step in (1, 1, 1, -1, -1):
        window += step / window
        windows.append(window)
    return windows
