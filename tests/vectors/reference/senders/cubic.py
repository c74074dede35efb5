"""CUBIC, written from RFC 9438 (its names), with HyStart++, written from RFC 9406 (its names)."""

from decimal import Decimal
from typing import ClassVar

import linux_cubic
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

SOURCE = "RFC 9438; RFC 9406; Linux 6.12, tcp_cubic.c"
GIGA = Decimal(10) ** 9
ONE = Decimal(1)
MS = 1_000_000


class HyStart:
    """RFC 9406, section 4.2 and 4.3."""

    def __init__(self) -> None:
        self.in_css = False
        self.done = False
        self.css_rounds = 0
        self.css_baseline_min_rtt: int | None = None
        self.last_round_min_rtt: int | None = None
        self.current_round_min_rtt: int | None = None
        self.rtt_sample_count = 0
        self.window_end: int | None = None

    def acknowledge(self, event: Acknowledgement) -> Decimal:
        increase = Decimal(min(event.counted, 8))
        if self.in_css:
            increase /= 4
        if event.round_trip_ns is not None:
            least = self.current_round_min_rtt
            sample = event.round_trip_ns
            self.current_round_min_rtt = sample if least is None else min(least, sample)
            self.rtt_sample_count += 1
        if self.rtt_sample_count >= 8:
            self.judge()
        if self.window_end is None:
            self.window_end = event.highest
        elif event.unacknowledged >= self.window_end:
            self.window_end = event.highest
            self.last_round_min_rtt = self.current_round_min_rtt
            self.current_round_min_rtt = None
            self.rtt_sample_count = 0
            if self.in_css:
                self.css_rounds += 1
                self.done = self.css_rounds >= 5
        return increase

    def judge(self) -> None:
        current, last = self.current_round_min_rtt, self.last_round_min_rtt
        assert current is not None
        if self.in_css:
            assert self.css_baseline_min_rtt is not None
            if current < self.css_baseline_min_rtt:
                self.in_css = False
        elif last is not None:
            threshold = max(Decimal(4 * MS), min(Decimal(last) / 8, Decimal(16 * MS)))
            if current >= last + threshold:
                self.in_css, self.css_rounds = True, 0
                self.css_baseline_min_rtt = current


class Cubic:
    """The reference."""

    OWN: ClassVar[Parameters] = {
        "dialect": "rfc9438",
        "cubic_scaling": 0.4,
        "decrease_factor": 0.7,
        "fast_convergence": True,
        "catch_up": True,
        "hystart": True,
    }

    def __init__(self, parameters: Parameters) -> None:
        self.c = Decimal(str(parameters["cubic_scaling"]))
        self.beta = Decimal(str(parameters["decrease_factor"]))
        self.fast_convergence = parameters["fast_convergence"]
        self.catch_up = parameters["catch_up"]
        self.hystart = HyStart() if parameters["hystart"] else None
        self.w_max: Decimal | None = None
        self.cwnd_prior: Decimal | None = None
        self.t_epoch: int | None = None
        self.k = self.w_est = Decimal(0)
        self.first_stage = True

    def acknowledge(self, event: Acknowledgement, window: Window) -> None:
        counted, acked = Decimal(event.counted), Decimal(event.delivered)
        if below(window.congestion, window.slow_start_threshold):
            self.t_epoch, self.first_stage = None, True
            room = window.slow_start_threshold - window.congestion
            increase = counted
            if self.hystart is not None:
                increase = self.hystart.acknowledge(event)
            if self.hystart is not None and self.hystart.done:
                window.congestion += min(increase, room)
                window.slow_start_threshold = window.congestion
                self.hystart = None
                return
            window.congestion += min(increase, room)
            counted = acked = increase - min(increase, room)
            if counted == 0:
                return
        if below(window.congestion, window.cap):
            window.congestion = min(self.avoid(event, counted, acked, window), window.cap)

    def avoid(
        self, event: Acknowledgement, counted: Decimal, acked: Decimal, window: Window
    ) -> Decimal:
        cwnd = window.congestion
        if self.t_epoch is None:
            self.t_epoch = event.now_ns
            if self.first_stage or self.w_max is None or below(self.w_max, cwnd):
                self.w_max = cwnd
            self.first_stage = False
            self.cwnd_prior = self.cwnd_prior or cwnd
            rest = (self.w_max - cwnd) / self.c
            self.k = rest ** (ONE / 3) if rest > 0 else Decimal(0)
            self.w_est = cwnd
        assert self.w_max is not None
        assert self.cwnd_prior is not None
        t = Decimal(event.now_ns - self.t_epoch) / GIGA
        rtt = Decimal(event.smoothed_ns or 0) / GIGA
        alpha = 3 * (1 - self.beta) / (1 + self.beta)
        if self.catch_up and not below(self.w_est, self.cwnd_prior):
            alpha = ONE
        self.w_est += alpha * acked / cwnd
        if below(self.c * (t - self.k) ** 3 + self.w_max, self.w_est):
            return max(self.w_est, cwnd)
        target = self.c * (t + rtt - self.k) ** 3 + self.w_max
        if below(target, cwnd):
            target = cwnd
        elif below(cwnd * Decimal("1.5"), target):
            target = cwnd * Decimal("1.5")
        return cwnd + min((target - cwnd) / cwnd * counted, target - cwnd)

    def reduce(self, event: Sign, window: Window) -> Decimal:
        cwnd = min(window.congestion, window.cap)
        self.cwnd_prior = cwnd
        converging = self.fast_convergence and self.w_max is not None and below(cwnd, self.w_max)
        self.w_max = cwnd * (1 + self.beta) / 2 if converging else cwnd
        self.t_epoch = None
        self.first_stage = event.sign == "timeout"
        self.hystart = None
        least = 1 if event.sign == "mark" else 2
        return max(Decimal(event.base) * self.beta, Decimal(least))


def answer(now_ns: int, unacknowledged: int = 1, counted: int = 1) -> Acknowledgement:
    """An acknowledgement over a round trip of 100 ms."""
    return Acknowledgement(
        now_ns, counted, counted, 0, 100 * MS, 100 * MS, unacknowledged, unacknowledged + 100
    )


def vectors() -> str:
    plain: Parameters = {"hystart": False}
    begun = 700 + 9 / 17 / 700
    target = 0.4 * (1.1 - 750 ** (1 / 3)) ** 3 + 1000
    hand = [
        Case(
            "a loss leaves seven tenths, then the cubic function rules",
            "1000 segments fall to 700; K = cbrt(300 / 0.4) = 9.0856 s. The first "
            "acknowledgement begins the stage, where the cubic function is at 700 and the "
            "Reno-friendly window, one segment on, at 700 + (9/17) / 700. A second later "
            "the target is W(1.1) = 0.4 (1.1 - K)^3 + 1000 = 796.30, and the window grows by "
            "(target - window) / window",
            plain,
            (1000.0, 2.0, 1e6),
            [
                Step(Sign(0, "loss", 1000.0), 700.0, 700.0),
                Step(answer(1_000_000_000), begun, 700.0),
                Step(answer(2_000_000_000), begun + (target - begun) / begun, 700.0),
            ],
            by_hand=True,
        ),
        Case(
            "signs of congestion, one after the other",
            "mark: 0.7 x 100. Timeout: 0.7 x 70 = 49, the window 1. Loss at two: 1.4, but 2 at "
            "least. Mark at one and a half: 1.05, 1 at least, the threshold 2",
            plain,
            (100.0, 2.0, 1e6),
            [
                Step(Sign(0, "mark", 100.0), 70.0, 70.0),
                Step(Sign(0, "timeout", 70.0), 1.0, 49.0),
                Step(Sign(0, "loss", 2.0), 2.0, 2.0),
                Step(Sign(0, "mark", 1.5), float(Decimal("1.05")), 2.0),
            ],
            by_hand=True,
        ),
        Case(
            "slow start stops at the threshold and the rest of the acknowledgement avoids",
            "8 + 2 of 4 segments reach 10; on the plateau of the first stage W(0) = 10 is below "
            "the Reno-friendly 10 + 1 x 2 / 10 (slope 1 from the start)",
            plain,
            (8.0, 10.0, 1e6),
            [Step(answer(0, counted=4), float(Decimal("10.2")), 10.0)],
            by_hand=True,
        ),
        Case(
            "standard slow start counts every segment, HyStart++ at most eight",
            "20 segments in one acknowledgement, with HyStart++",
            {},
            (10.0, 1000.0, 1e6),
            [Step(answer(0, counted=20), 18.0, 1000.0)],
            by_hand=True,
        ),
    ]
    usual = Path(100_000, 3_000, segments=(1, 2), loss=0.01, timeout=0.003)
    cases = [
        *(by_hand(Cubic, case) for case in hand),
        recorded(
            Cubic,
            "losses at a round trip of 100 ms",
            "windows in which the cubic function rules",
            {"hystart": False},
            (300.0, 2.0, 10000.0),
            Path(100_000, 3_000, segments=(20, 40), loss=0.01, byte_counting=True),
            250,
        ),
        recorded(
            Cubic,
            "losses and timeouts at a round trip of 10 ms",
            "windows in which the Reno-friendly one rules",
            {"hystart": False, "fast_convergence": False},
            (20.0, 2.0, 25.0),
            Path(10_000, 1_000, segments=(1, 2), loss=0.01, timeout=0.003),
            250,
        ),
        recorded(
            Cubic,
            "other constants, from slow start on",
            "C 4, beta 0.5",
            {"hystart": False, "cubic_scaling": 4.0, "decrease_factor": 0.5},
            (2.0, 10000.0, 10000.0),
            usual,
            250,
        ),
        recorded(
            Cubic,
            "HyStart++ leaves slow start as the queue grows",
            "0.5 ms of queue for each segment: conservative slow start for five rounds, then the "
            "first stage without a loss",
            {},
            (10.0, 10000.0, 10000.0),
            Path(40_000, 400, queue_us=500.0),
            800,
        ),
        *linux_cubic.cases(),
    ]
    return text("cubic", SOURCE, Cubic, cases)
