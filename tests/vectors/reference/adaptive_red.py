"""Adaptive RED of Floyd, Gummadi and Shenker (2001), as ns-2.35 runs it.

The machine is that of `ns2_red`. After each change of the average, if more than `interval` has
passed since max_probability last changed (at first: since time 0), with d the distance between the
thresholds:

- average < min_threshold + 0.4 d and max_probability > lowest_probability: it is multiplied by
  `decrease` (0.9);
- otherwise average > max_threshold - 0.4 d and max_probability < highest_probability (0.5): it
  grows by the smaller of `increase` (0.01) and a quarter of itself.

Automatic lowest_probability: the smaller of 0.01 and 80000 / (rate in bit/s).
"""

from decimal import Decimal
from typing import ClassVar

from bottleneck import Pause, Stretch, recorded
from by_hand import step, verify
from exact import Comparison
from ns2_red import Ns2Red
from vector_file import Case, Link, Parameters, Settings, Step, VectorFile, Within

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000
SECOND = 1_000_000_000

# Weight 1: the average is the queue. Thresholds 5 and 15: the probability at 10 is half of
# max_probability; it falls below 9 and grows above 11.
HALFWAY = {"weight": 1.0, "min_threshold": 5.0, "max_threshold": 15.0, "mark_probability": 1.0}


class AdaptiveRed(Ns2Red):
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        **Ns2Red.DEFAULTS,
        "increase": 0.01,
        "decrease": 0.9,
        "interval": 0.5,
        "lowest_probability": None,
        "highest_probability": 0.5,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        super().__init__(parameters, link, comparison)
        self._changed_ns = 0

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        super().reconfigure(parameters, link)
        self._increase = Decimal(str(parameters["increase"]))
        self._decrease = Decimal(str(parameters["decrease"]))
        self._interval_ns = int(Decimal(str(parameters["interval"])) * 10**9)
        self._highest = Decimal(str(parameters["highest_probability"]))
        lowest = parameters["lowest_probability"]
        if lowest is None:
            self._lowest = min(Decimal("0.01"), 80000 / link.rate)
        else:
            self._lowest = Decimal(str(lowest))

    def adapt(self, now_ns: int) -> None:
        if now_ns - self._changed_ns <= self._interval_ns:
            return
        margin = Decimal("0.4") * (self.high - self.low)
        may_fall = self.compare.below(self._lowest, self.max_probability)
        may_grow = self.compare.below(self.max_probability, self._highest)
        if may_fall and self.compare.below(self.average, self.low + margin):
            self.max_probability *= self._decrease
            self._changed_ns = now_ns
        elif may_grow and self.compare.below(self.high - margin, self.average):
            self.max_probability += min(self._increase, self.max_probability / 4)
            self._changed_ns = now_ns

    def figures(self) -> dict[str, Decimal | None]:
        return super().figures() | {"max_probability": self.max_probability}


def _at(milliseconds: float, queue: int, max_probability: float, probability: float) -> Step:
    """A packet in the range, tested and let through."""
    return step(
        queue,
        time_ns=round(milliseconds * MILLISECOND),
        coins=[0.999999],
        max_probability=max_probability,
        probability=probability,
    )


def _hand() -> list[Case]:
    return [
        Case(
            name="the interval",
            about="weight 1, thresholds 5 and 15, max_probability 0.1, an average of 12: nothing "
            "until more than 0.5 s have passed; then 0.11 (0.077 at 12), and the interval starts "
            "anew",
            parameters=HALFWAY,
            link=LINK,
            by_hand=True,
            steps=[
                step(12, time_ns=1, max_probability=0.1, probability=0.0),
                _at(499, 12, 0.1, 0.07),
                _at(500, 12, 0.1, 0.07),
                _at(500.000001, 12, 0.11, 0.077),
                _at(501, 12, 0.11, 0.077),
                _at(1000.000001, 12, 0.11, 0.077),
                _at(1000.000002, 12, 0.12, 0.084),
            ],
        ),
        Case(
            name="after a quiet spell the next change is immediate",
            about="within the band (10) nothing changes, so the interval is not started anew: at "
            "2 s the first packet above the band raises 0.1 to 0.11; the next 2.5 s after 0.5 s",
            parameters=HALFWAY,
            link=LINK,
            by_hand=True,
            steps=[
                step(10, time_ns=MILLISECOND),
                _at(700, 10, 0.1, 0.05),
                _at(1900, 10, 0.1, 0.05),
                _at(2000, 12, 0.11, 0.077),
                _at(2001, 8, 0.11, 0.033),
                _at(2501, 8, 0.099, 0.0297),
            ],
        ),
        Case(
            name="the band",
            about="0.4 of the distance from either threshold: 9 and 11 are still in the band, 8 "
            "and 12 outside; below x 0.9, above + 0.01",
            parameters=HALFWAY,
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(9, time_ns=MILLISECOND),
                _at(1000, 9, 0.1, 0.04),
                _at(2000, 11, 0.1, 0.06),
                _at(3000, 8, 0.09, 0.027),
                _at(4000, 12, 0.1, 0.07),
                step(3, time_ns=5 * SECOND, max_probability=0.09, probability=0.0),
                step(16, time_ns=6 * SECOND, max_probability=0.1, probability=0.0),
                _at(6001, 10, 0.1, 0.05),
            ],
        ),
        Case(
            name="the step up is the smaller of 0.01 and a quarter",
            about="0.02 grows by 0.005 and by 0.00625, then 0.0078125, then 0.009765625, then 0.01",
            parameters=HALFWAY | {"max_probability": 0.02},
            link=LINK,
            by_hand=True,
            steps=[
                step(12, time_ns=MILLISECOND),
                _at(1000, 12, 0.025, 0.0175),
                _at(2000, 12, 0.03125, 0.021875),
                _at(3000, 12, 0.0390625, 0.02734375),
                _at(4000, 12, 0.048828125, 0.0341796875),
                _at(5000, 12, 0.058828125, 0.0411796875),
            ],
        ),
        Case(
            name="the lowest probability follows the rate",
            about="10 Mbit/s: 80000 / 1e7 = 0.008. 0.0095 falls to 0.00855 and 0.007695, which is "
            "below, so no further; from there it grows by a quarter, 0.00961875, and may fall "
            "again",
            parameters=HALFWAY | {"max_probability": 0.0095},
            link=Link(rate_bit_per_s=10e6, delay_s=0.01),
            by_hand=True,
            steps=[
                step(8, time_ns=MILLISECOND),
                _at(1000, 8, 0.00855, 0.002565),
                _at(2000, 8, 0.007695, 0.0023085),
                _at(3000, 8, 0.007695, 0.0023085),
                _at(4000, 12, 0.00961875, 0.006733125),
                _at(5000, 8, 0.008656875, 0.0025970625),
            ],
        ),
        Case(
            name="the lowest probability is at most 0.01",
            about="1 Mbit/s: 0.08 is more than 0.01. 0.0105 falls to 0.00945 and stays",
            parameters=HALFWAY | {"max_probability": 0.0105},
            link=Link(rate_bit_per_s=1e6, delay_s=0.01),
            by_hand=True,
            steps=[
                step(8, time_ns=MILLISECOND),
                _at(1000, 8, 0.00945, 0.002835),
                _at(2000, 8, 0.00945, 0.002835),
            ],
        ),
        Case(
            name="bounds that are given",
            about="lowest 0.05, highest 0.06: 0.055 grows to 0.065 and stays; falls to 0.0585, "
            "0.05265, 0.047385 and stays",
            parameters=HALFWAY
            | {
                "max_probability": 0.055,
                "lowest_probability": 0.05,
                "highest_probability": 0.06,
            },
            link=LINK,
            by_hand=True,
            steps=[
                step(12, time_ns=MILLISECOND),
                _at(1000, 12, 0.065, 0.0455),
                _at(2000, 12, 0.065, 0.0455),
                _at(3000, 8, 0.0585, 0.01755),
                _at(4000, 8, 0.05265, 0.015795),
                _at(5000, 8, 0.047385, 0.0142155),
                _at(6000, 8, 0.047385, 0.0142155),
            ],
        ),
        Case(
            name="the highest probability",
            about="0.495 grows to 0.505, which is above 0.5, and stays",
            parameters=HALFWAY | {"max_probability": 0.495},
            link=LINK,
            by_hand=True,
            steps=[
                step(12, time_ns=MILLISECOND),
                step(12, time_ns=SECOND, coins=[0.9], max_probability=0.505, probability=0.3535),
                step(
                    12,
                    "drop early",
                    time_ns=2 * SECOND,
                    coins=[0.36],
                    max_probability=0.505,
                    probability=0.3535,
                ),
            ],
        ),
        Case(
            name="the gentle line stays where it was",
            about="weight 1/2; the line is drawn for 0.1: 0.9 / 15 x average - 0.8, so 0.535 at "
            "22.25 and 0.1075 at 15.125, although max_probability has grown to 0.12; below 15 the "
            "new one counts: 0.12 x 4.5625 / 10",
            parameters=HALFWAY | {"weight": 0.5},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(45, time_ns=SECOND, average=22.5, max_probability=0.11, probability=0.0),
                step(
                    22,
                    time_ns=2 * SECOND,
                    coins=[0.9],
                    average=22.25,
                    max_probability=0.12,
                    probability=0.535,
                ),
                step(
                    8,
                    time_ns=2 * SECOND,
                    coins=[0.999999],
                    average=15.125,
                    max_probability=0.12,
                    probability=0.1075,
                ),
                step(
                    4,
                    time_ns=2 * SECOND,
                    coins=[0.999999],
                    average=9.5625,
                    max_probability=0.12,
                    probability=0.05475,
                ),
            ],
        ),
        Case(
            name="other steps, another interval",
            about="increase 0.03, decrease 0.5, interval 0.1 s: 0.2, 0.23, 0.115, then 0.115 + "
            "0.02875",
            parameters=HALFWAY
            | {
                "max_probability": 0.2,
                "increase": 0.03,
                "decrease": 0.5,
                "interval": 0.1,
            },
            link=LINK,
            by_hand=True,
            steps=[
                step(12, time_ns=MILLISECOND),
                _at(101, 12, 0.23, 0.161),
                _at(202, 8, 0.115, 0.0345),
                _at(303, 12, 0.14375, 0.100625),
            ],
        ),
        Case(
            name="everything automatic at 45 Mbit/s",
            about="weight 1.77762e-4, thresholds 14.0625 and 42.1875, lowest probability 80000 / "
            "45e6: one arrival that meets 1000 packets lifts the average to 0.177762; below the "
            "band, so after half a second 0.1 falls to 0.09, at a rate of one fall in more than "
            "0.5 s",
            parameters={"limit": 1e6},
            link=Link(rate_bit_per_s=45e6, delay_s=0.01),
            by_hand=True,
            steps=[
                step(1000, average=Within(0.177762, 5e-7), max_probability=0.1),
                step(0, time_ns=501 * MILLISECOND, max_probability=0.09),
                step(0, time_ns=900 * MILLISECOND, max_probability=0.09),
                step(0, time_ns=1002 * MILLISECOND, max_probability=0.081),
            ],
        ),
    ]


def _simulated() -> list[Case]:
    swing = [
        part
        for _ in range(4)
        for part in (Stretch(2.5, 30), Stretch(0.6, 20), Pause(20 * MILLISECOND))
    ]
    return [
        recorded(
            AdaptiveRed,
            "the load swings",
            "an interval of 10 ms lets max_probability move often; steps are large",
            {
                "weight": 0.1,
                "min_threshold": 2.0,
                "max_threshold": 8.0,
                "interval": 0.01,
                "increase": 0.05,
                "decrease": 0.7,
                "wait": False,
            },
            LINK,
            program=swing,
        ),
        recorded(
            AdaptiveRed,
            "gentle with wait, byte mode, automatic bounds",
            "packets of 300 and 1200 bytes, the mean size 600, 3 Mbit/s",
            {
                "weight": 0.12,
                "min_threshold": 2.0,
                "byte_mode": True,
                "mean_packet_size": 600.0,
                "limit": 30.0,
                "interval": 0.02,
                "mark_probability": 0.4,
                "max_probability": 0.3,
            },
            Link(rate_bit_per_s=3e6, delay_s=0.02),
            program=[
                part
                for _ in range(3)
                for part in (
                    Stretch(2.5, 35, sizes=(300, 1200)),
                    Stretch(0.5, 15, sizes=(300, 1200)),
                    Pause(30 * MILLISECOND),
                )
            ],
        ),
        recorded(
            AdaptiveRed,
            "settings changed before anything was learnt",
            "the interval is shortened from half a second to 5 ms while nothing has changed yet",
            {"weight": 0.1},
            LINK,
            program=[
                Stretch(1.5, 20),
                Settings(
                    {
                        "weight": 0.1,
                        "interval": 0.005,
                        "min_threshold": 1.0,
                        "max_threshold": 6.0,
                        "gentle": False,
                        "max_probability": 0.2,
                    },
                    LINK,
                ),
                Stretch(1.5, 60),
                Stretch(0.7, 50),
            ],
        ),
    ]


def vectors() -> VectorFile:
    return VectorFile(
        discipline="adaptive-red",
        source="S. Floyd, R. Gummadi, S. Shenker, Adaptive RED: An Algorithm for Increasing the "
        "Robustness of RED's Active Queue Management, 2001; ns-2.35, queue/red.cc",
        machine=AdaptiveRed,
        cases=[*(verify(case, AdaptiveRed) for case in _hand()), *_simulated()],
    )
