"""Prague, written from draft-briscoe-iccrg-prague-congestion-control and L4STeam's tcp_prague.c."""

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

SOURCE = "draft-briscoe-iccrg-prague-congestion-control; L4STeam's tcp_prague.c"
GIGA = Decimal(10) ** 9
MS = 1_000_000


class Prague:
    """The reference."""

    OWN: ClassVar[Parameters] = {
        "mark_gain": 0.0625,
        "round_trip_independence": True,
        "reference_round_trip": 0.025,
        "independence_delay": 500.0,
    }

    def __init__(self, parameters: Parameters) -> None:
        self.g = Decimal(str(parameters["mark_gain"]))
        self.target = Decimal(str(parameters["reference_round_trip"]))
        self.independent = bool(parameters["round_trip_independence"])
        self.delay = int(str(parameters["independence_delay"]).partition(".")[0])
        self.alpha = Decimal(1)
        self.saw_ce = False
        self.acked = self.marks = 0
        self.next_seq = 0
        self.round = 0
        self.alpha_stamp = 0
        self.cwr_stamp: int | None = None
        self.high_seq: int | None = 0
        self.srtt: Decimal | None = None

    def scaled(self, window: Window) -> bool:
        """Whether a virtual round trip is in force."""
        return (
            self.independent
            and not below(window.congestion, window.slow_start_threshold)
            and self.round >= self.delay
            and self.srtt is not None
            and below(self.srtt, self.target)
        )

    def waited(self, now: int, then: int, window: Window) -> bool:
        return not self.scaled(window) or Decimal(now - then) >= self.target * GIGA

    def acknowledge(self, event: Acknowledgement, window: Window) -> None:
        if event.round_trip_ns is not None:
            sample = Decimal(event.round_trip_ns) / GIGA
            self.srtt = sample if self.srtt is None else self.srtt * 7 / 8 + sample / 8
        if self.high_seq is None:
            self.high_seq = event.highest
        if not event.in_recovery:
            self.change(event, window)
        self.acked += event.delivered
        self.marks += event.marked
        over = event.unacknowledged >= self.next_seq
        if over and self.waited(event.now_ns, self.alpha_stamp, window):
            if self.saw_ce and self.acked:
                f = min(Decimal(self.marks) / self.acked, Decimal(1))
                self.alpha = (1 - self.g) * self.alpha + self.g * f
            self.alpha_stamp, self.next_seq = event.now_ns, event.highest
            self.acked = self.marks = 0
            if not below(window.congestion, window.slow_start_threshold):
                self.round += 1

    def change(self, event: Acknowledgement, window: Window) -> None:
        assert self.high_seq is not None
        if event.marked:
            self.saw_ce = True
            free = event.unacknowledged > self.high_seq
            if free and (
                self.cwr_stamp is None or self.waited(event.now_ns, self.cwr_stamp, window)
            ):
                cwnd = min(window.congestion, window.cap)
                window.congestion = max(cwnd - cwnd * self.alpha / 2, Decimal(2))
                window.slow_start_threshold = window.congestion
                self.high_seq, self.cwr_stamp = event.highest, event.now_ns
        acked = Decimal(max(event.delivered - event.marked, 0))
        if not acked or not below(window.congestion, window.cap):
            return
        if below(window.congestion, window.slow_start_threshold):
            grown = min(acked, window.slow_start_threshold - window.congestion)
            window.congestion += grown
            acked -= grown
        if acked:
            scale = Decimal(1)
            if self.scaled(window):
                assert self.srtt is not None
                scale = (self.srtt / self.target) ** 2
            window.congestion += acked * scale / window.congestion

    def reduce(self, event: Sign, window: Window) -> Decimal:
        del window
        self.high_seq = None
        return Decimal(event.base) / 2


def answer(
    now_ns: int, unacknowledged: int, highest: int, delivered: int = 1, marked: int = 0
) -> Acknowledgement:
    return Acknowledgement(now_ns, delivered, 1, marked, 5 * MS, 5 * MS, unacknowledged, highest)


def vectors() -> str:
    hand = [
        Case(
            "the first mark halves, and unmarked segments beside it let the window grow",
            "alpha is 1: 100 becomes 50, then three of four segments add 3/50; within the round "
            "trip another mark only leaves out its own segment: 3/50.06 more",
            {},
            (100.0, 2.0, 1e6),
            [
                Step(answer(0, 5, 105, 4, 1), 50.06, 50.0),
                Step(answer(0, 9, 109, 4, 1), 50.06 + 3 / 50.06, 50.0),
            ],
            by_hand=True,
        ),
        Case(
            "without a delay a round trip of 5 ms grows a twenty-fifth as much",
            "(5 / 25)^2 / 100 = 0.0004 for one segment",
            {"independence_delay": 0.0},
            (100.0, 2.0, 1e6),
            [
                Step(answer(0, 2, 102), 100.0004, 2.0),
                Step(answer(0, 3, 102), 100.0004 + 0.04 / 100.0004, 2.0),
            ],
            by_hand=True,
        ),
        Case(
            "nothing but marks leaves two segments",
            "alpha is 1: 9, 4.5, 2.25, 2",
            {"round_trip_independence": False},
            (9.0, 2.0, 1e6),
            [
                Step(answer(0, 1, 1, 1, 1), 4.5, 4.5),
                Step(answer(0, 2, 2, 1, 1), 2.25, 2.25),
                Step(answer(0, 3, 3, 1, 1), 2.0, 2.0),
            ],
            by_hand=True,
        ),
    ]
    marks = Path(4000, 500, segments=(1, 2, 3), mark=0.1, loss=0.008, timeout=0.004, recovery=12)
    cases = [
        *(by_hand(Prague, case) for case in hand),
        recorded(
            Prague,
            "marks at random with a short round trip",
            "one segment in ten marked; a virtual round trip of 25 ms after ten rounds",
            {"independence_delay": 10.0},
            (2.0, 1000.0, 10000.0),
            marks,
            400,
        ),
        recorded(
            Prague,
            "the same without independence of the round trip",
            "",
            {"round_trip_independence": False, "mark_gain": 0.2},
            (2.0, 1000.0, 20.0),
            marks,
            150,
        ),
    ]
    return text("prague", SOURCE, Prague, cases)
