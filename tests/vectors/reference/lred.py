"""LRED (Wang, Liu, Li, Sohraby and Hou 2007).

The rules:

- Time is cut into periods of `interval`; an arrival at a border belongs to the later one. Counted
  are arrivals, and losses among them: drops for whatever reason, and marks.
- At the end of each period, with the sums over the last `periods` periods (fewer at first):
  l <- memory l + (1 - memory) losses / arrivals; if nothing arrived in any of them nothing was
  lost, and the ratio is 0. At the beginning l is 0.
- A packet that meets q packets: p = l + gain sqrt(l) (q - target_queue), kept within 0 and 1. The
  target is automatic: half of `limit`.
- A packet that meets `limit` packets is dropped, without a coin. Else it is notified with
  probability p; at 0 and 1 no coin is drawn. To notify is to mark an ECN-capable packet, with
  ecn, and to drop any other (forced if p is 1, early if less).
"""

from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar

from bottleneck import Pause, Program, Settings, Stretch, recorded
from by_hand import step, verify
from exact import ONE, ZERO, Comparison
from vector_file import Arrival, Case, Link, Parameters, VectorFile

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000


class Lred:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 100.0,
        "target_queue": None,
        "gain": 0.001,
        "memory": 0.1,
        "interval": 0.1,
        "periods": 4.0,
        "ecn": True,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        self._compare = comparison
        self._loss_ratio = ZERO
        self._probability = ZERO
        # Arrivals and losses of every complete period, and of the current one.
        self._history: list[tuple[int, int]] = []
        self._arrived = 0
        self._lost = 0
        self._began = 0
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        del link
        self._parameters = parameters

    def _number(self, name: str) -> Decimal:
        return Decimal(str(self._parameters[name]))

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        interval = int(self._number("interval") * 10**9)
        while self._began + interval <= arrival.time_ns:
            self._began += interval
            self._close_period()
        given = self._parameters["target_queue"]
        target = self._number("limit") / 2 if given is None else Decimal(str(given))
        excess = arrival.queue_packets - target
        law = self._loss_ratio + self._number("gain") * self._loss_ratio.sqrt() * excess
        if not self._compare.below(ZERO, law):
            law = ZERO
        elif not self._compare.below(law, ONE):
            law = ONE
        self._probability = law
        answer = self._decide(arrival, coin)
        self._arrived += 1
        self._lost += answer[0] != "accept"
        return answer

    def _decide(self, arrival: Arrival, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        if arrival.queue_packets >= self._number("limit"):
            return "drop", "overflow"
        if self._probability == ZERO:
            return "accept", None
        if self._probability < ONE and not self._compare.below(coin(), self._probability):
            return "accept", None
        if self._parameters["ecn"] and arrival.ecn_capable:
            return "mark", None
        return "drop", "forced" if self._probability == ONE else "early"

    def _close_period(self) -> None:
        self._history.append((self._arrived, self._lost))
        self._arrived = self._lost = 0
        counted = self._history[-int(self._number("periods")) :]
        arrived = sum(period[0] for period in counted)
        lost = sum(period[1] for period in counted)
        memory = self._number("memory")
        measured = Decimal(lost) / arrived if arrived else ZERO
        self._loss_ratio = memory * self._loss_ratio + (1 - memory) * measured

    def figures(self) -> dict[str, Decimal | None]:
        return {"average_queue_packets": None, "drop_probability": self._probability}


# Without memory l is the ratio itself.
DIRECT: Parameters = {"memory": 0.0, "gain": 0.01, "target_queue": 20.0}


def _hand() -> list[Case]:
    return [
        Case(
            name="no loss, no probability",
            about="until something is lost l is 0, and so is p, however long the queue; the full "
            "buffer starts it: 1 of 4 is lost, l = 1/4",
            parameters=DIRECT,
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(99, times=3, probability=0.0),
                step(100, "drop overflow", probability=0.0),
                step(20, time_ns=100 * MILLISECOND, coins=[0.26], probability=0.25),
            ],
        ),
        Case(
            name="the loss ratio, corrected by the queue",
            about="l = 1/4, its root 1/2: at 20 packets 0.25, at 40 0.25 + 0.01 x 0.5 x 20 = 0.35, "
            "at 0 0.15",
            parameters=DIRECT,
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(50, times=3, probability=0.0),
                step(100, "drop overflow"),
                step(20, "drop early", time_ns=100 * MILLISECOND, coins=[0.24], probability=0.25),
                step(
                    40, "mark", time_ns=100 * MILLISECOND, ecn=True, coins=[0.34], probability=0.35
                ),
                step(0, time_ns=100 * MILLISECOND, coins=[0.16], probability=0.15),
            ],
        ),
        Case(
            name="the automatic target is half of the limit",
            about="l = 1/4 with limit 60: at 30 0.25, at 40 0.25 + 0.01 x 0.5 x 10 = 0.3",
            parameters=DIRECT | {"limit": 60.0, "target_queue": None},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(50, times=3),
                step(60, "drop overflow"),
                step(30, time_ns=100 * MILLISECOND, coins=[0.26], probability=0.25),
                step(40, time_ns=100 * MILLISECOND, coins=[0.31], probability=0.3),
            ],
        ),
        Case(
            name="kept between 0 and 1",
            about="l = 1/4, gain 1: at 15 packets 0.25 - 2.5, at 30 0.25 + 5. No coins",
            parameters=DIRECT | {"gain": 1.0},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(50, times=3),
                step(100, "drop overflow"),
                step(15, time_ns=100 * MILLISECOND, probability=0.0),
                step(30, "drop forced", time_ns=100 * MILLISECOND, probability=1.0),
                step(30, "mark", time_ns=100 * MILLISECOND, ecn=True, probability=1.0),
            ],
        ),
        Case(
            name="the memory",
            about="1 of 2: l = 0.9 / 2 = 0.45. Then 1 of 4 in two periods: 0.045 + 0.9 / 4 = 0.27",
            parameters={"gain": 0.0},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(20, probability=0.0),
                step(100, "drop overflow"),
                step(20, time_ns=100 * MILLISECOND, coins=[0.5], probability=0.45),
                step(20, time_ns=150 * MILLISECOND, coins=[0.5], probability=0.45),
                step(20, time_ns=200 * MILLISECOND, coins=[0.5], probability=0.27),
            ],
        ),
        Case(
            name="marks are losses, and where nothing arrives nothing is lost",
            about="two periods are looked back to, and half of l is kept. 1 of 1: l = 1/2. A mark "
            "counts: 2 of 2, l = 3/4. At the ends of the next two periods it is 7/8 (the packet "
            "that is marked now) and 15/16; then there are none: 15/32",
            parameters=DIRECT | {"periods": 2.0, "gain": 0.0, "memory": 0.5},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(100, "drop overflow"),
                step(20, "mark", time_ns=100 * MILLISECOND, ecn=True, coins=[0.4], probability=0.5),
                step(
                    20, "mark", time_ns=200 * MILLISECOND, ecn=True, coins=[0.7], probability=0.75
                ),
                step(20, time_ns=500 * MILLISECOND, coins=[0.47], probability=0.46875),
            ],
        ),
        Case(
            name="a look-back of two",
            about="period 1: 1 of 1; 2: 0 of 4 with coins above; 1 of 5 at its end; 3: 0 of 1; "
            "then 0",
            parameters=DIRECT | {"periods": 2.0, "gain": 0.1, "target_queue": 50.0},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(100, "drop overflow"),
                # l = 1: 1 + 0.1 (20 - 50) is below 0.
                step(20, times=4, time_ns=100 * MILLISECOND, probability=0.0),
                step(50, time_ns=200 * MILLISECOND, coins=[0.3], probability=0.2),
                step(50, time_ns=300 * MILLISECOND, probability=0.0),
            ],
        ),
    ]


def _simulated() -> list[Case]:
    lively: Parameters = {
        "limit": 15.0,
        "target_queue": 6.0,
        "gain": 0.02,
        "interval": 0.015,
    }
    load: Program = [
        Stretch(1.6, 120),
        Stretch(0.5, 30),
        Pause(200 * MILLISECOND),
        Stretch(1.4, 80),
    ]
    return [
        recorded(
            Lred,
            "the load rises and falls",
            "overflows start the estimate; half of the packets can be marked",
            lively,
            LINK,
            program=load,
        ),
        recorded(
            Lred,
            "without ECN, settings changed on the way",
            "a longer look-back, another target and another interval",
            lively | {"ecn": False, "memory": 0.6, "periods": 3.0},
            LINK,
            program=[
                *load,
                Settings(
                    lively | {"ecn": False, "periods": 8.0, "target_queue": 3.0, "interval": 0.01},
                    LINK,
                ),
                *load,
            ],
        ),
    ]


def vectors() -> VectorFile:
    return VectorFile(
        discipline="lred",
        source="C. Wang, J. Liu, B. Li, K. Sohraby, Y. T. Hou, LRED: A Robust and Responsive AQM "
        "Algorithm Using Packet Loss Ratio Measurement, IEEE TPDS 18(1), 2007",
        machine=Lred,
        cases=[*(verify(case, Lred) for case in _hand()), *_simulated()],
    )
