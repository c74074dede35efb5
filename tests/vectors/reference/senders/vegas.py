"""Vegas, written from Linux 6.12, net/ipv4/tcp_vegas.c, with windows that need not be whole.

- b is the least round trip ever, r the least of this one, timed n times. A round trip is over when
  more is acknowledged than had been sent when it began; the first begins with segment 0.
- At its end, with n above 2, q = window x (r - b) / b. In slow start with q above gamma: the window
  is at most window x b / r + 1, at least 2, and the threshold at most one less than that, at least
  2; otherwise slow start. After slow start: q above beta takes one from the window and limits the
  threshold likewise; q below alpha adds one.
- At its end with n of 2 or less: Reno. Within it: slow start, if the window is below the threshold.
- A loss halves.
"""

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

SOURCE = "Linux 6.12, net/ipv4/tcp_vegas.c"
MS = 1_000_000
FEW = 2


class Vegas:
    """The reference."""

    OWN: ClassVar[Parameters] = {"alpha": 2.0, "beta": 4.0, "gamma": 1.0}

    def __init__(self, parameters: Parameters) -> None:
        self.alpha, self.beta, self.gamma = (
            Decimal(str(parameters[name])) for name in ("alpha", "beta", "gamma")
        )
        self.base: int | None = None
        self.samples: list[int] = []
        self.end = 0

    def acknowledge(self, event: Acknowledgement, window: Window) -> None:
        if event.round_trip_ns is not None:
            self.samples.append(event.round_trip_ns)
            self.base = min(self.base or event.round_trip_ns, event.round_trip_ns)
        slow = below(window.congestion, window.slow_start_threshold)
        if event.unacknowledged > self.end:
            self.end = event.highest
            if len(self.samples) > FEW:
                self._adjust(event, window, slow=slow)
            elif slow:
                left = self._slow_start(event, window)
                window.congestion += left / window.congestion
            else:
                window.congestion += Decimal(event.counted) / window.congestion
            self.samples = []
        elif slow:
            self._slow_start(event, window)
        window.congestion = min(window.congestion, window.cap)

    def _slow_start(self, event: Acknowledgement, window: Window) -> Decimal:
        room = window.slow_start_threshold - window.congestion
        grown = min(Decimal(event.counted), room)
        window.congestion += grown
        return event.counted - grown

    def _adjust(self, event: Acknowledgement, window: Window, *, slow: bool) -> None:
        least, base = Decimal(min(self.samples)), Decimal(self.base or 0)
        queued = window.congestion * (least - base) / base
        if slow and not below(self.gamma, queued):
            self._slow_start(event, window)
            return
        if slow:
            window.congestion = min(window.congestion, window.congestion * base / least + 1)
        elif below(self.beta, queued):
            window.congestion -= 1
        else:
            window.congestion += 1 if below(queued, self.alpha) else 0
            return
        window.congestion = max(window.congestion, Decimal(2))
        limit = min(window.slow_start_threshold, window.congestion - 1)
        window.slow_start_threshold = max(limit, Decimal(2))

    def reduce(self, event: Sign, window: Window) -> Decimal:
        del window
        if event.sign == "timeout":
            self.samples = []
        return Decimal(event.base) / 2


def answer(first: int, outstanding: int, round_trip_ms: int | None) -> Acknowledgement:
    """An acknowledgement of one segment, after which `first` is expected."""
    timed = None if round_trip_ms is None else round_trip_ms * MS
    return Acknowledgement(first * MS, 1, 1, 0, timed, timed, first, first + outstanding)


def _steady(
    windows: tuple[float, ...], threshold: tuple[float, ...], trips: tuple[int, ...]
) -> list[Step]:
    """Round trips of ten acknowledgements each; the windows after each."""
    steps: list[Step] = [Step(answer(1, 9, 100), windows[0], threshold[0])]
    first = 1
    for number, trip in enumerate(trips, 1):
        for ack in range(1, 11):
            over = ack == 10
            place = number if over else number - 1
            steps.append(Step(answer(first + ack, 9, trip), windows[place], threshold[place]))
        first += 10
    return steps


def vectors() -> str:
    # The first acknowledgement ends a round trip that was timed once: Reno, 10 + 1/10.
    up = 10.1
    hand = [
        Case(
            "one more, as many, one less",
            "no slow start, and the base is 100 ms. With 110 ms 10.1 x 10/100 = 1.01 segments are"
            " queued: one more. With 130 ms 11.1 x 30/100 = 3.33: as many. With 150 ms 5.55: one "
            "less, and the threshold stays at its least, 2",
            {},
            (10.0, 2.0, 1e6),
            _steady((up, up + 1, up + 1, up), (2.0, 2.0, 2.0, 2.0), (110, 130, 150)),
            by_hand=True,
        ),
        Case(
            "slow start ends at a segment in queues",
            "10 segments and a threshold of 1000: the first acknowledgement brings one. In the "
            "first round trip, at the base, each brings one, and so does the last: 21. With 110 "
            "ms the nine within bring one each: 30; then 30 x 10/110 = 3 are queued, more than "
            "one: 30 x 100/110 + 1, and the threshold is one less",
            {},
            (10.0, 1000.0, 1e6),
            _slow_start(),
            by_hand=True,
        ),
        Case(
            "losses halve",
            "10 to 5, then Reno's growth of a round trip timed once",
            {},
            (10.0, 2.0, 1e6),
            [
                Step(Sign(0, "loss", 10.0), 5.0, 5.0),
                Step(answer(1, 5, 100), 5.2, 5.0),
                Step(Sign(0, "timeout", 5.0), 1.0, 2.0),
                Step(answer(2, 5, None), 2.0, 2.0),
            ],
            by_hand=True,
        ),
    ]
    path = Path(20_000, 3_000, loss=0.003, timeout=0.002, recovery=3, queue_us=700.0)
    cases = [
        *(by_hand(Vegas, case) for case in hand),
        recorded(
            Vegas,
            "a queue that grows with the window",
            "0.7 ms for each segment; losses and timeouts",
            {},
            (2.0, 1000.0, 10000.0),
            path,
            500,
        ),
        recorded(
            Vegas,
            "more segments of its own",
            "alpha 6, beta 9, gamma 3; two segments acknowledged at a time, bytes counted",
            {"alpha": 6.0, "beta": 9.0, "gamma": 3.0},
            (2.0, 1000.0, 10000.0),
            Path(30_000, 1_000, segments=(1, 2), loss=0.002, queue_us=500.0, byte_counting=True),
            500,
        ),
    ]
    return text("vegas", SOURCE, Vegas, cases)


def _slow_start() -> list[Step]:
    steps = [Step(answer(1, 9, 100), 11.0, 1000.0)]
    steps += [Step(answer(1 + ack, 9, 100), 11.0 + ack, 1000.0) for ack in range(1, 11)]
    steps += [Step(answer(11 + ack, 9, 110), 21.0 + ack, 1000.0) for ack in range(1, 10)]
    ended = 30 * 100 / 110 + 1
    steps.append(Step(answer(21, 9, 110), ended, ended - 1))
    return steps
