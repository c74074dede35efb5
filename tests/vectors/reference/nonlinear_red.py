"""Nonlinear RED (Zhou, Yeung and Li 2006), in the form of ns-3.

The machine is that of `ns2_red`, by default not gentle, with another probability between the
thresholds: curve_factor x max_probability x ((average - min) / (max - min))^2, at most 1. From the
maximum threshold on it is 1; gentle: ns-2's line, which starts at max_probability.
"""

from decimal import Decimal
from typing import ClassVar

from bottleneck import RISE_AND_FALL, Pause, Settings, Stretch, recorded
from by_hand import step, verify
from exact import ONE
from ns2_red import Ns2Red
from vector_file import Case, Link, Parameters, VectorFile

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)

# Weight 1: the average is the queue.
DIRECT = {
    "weight": 1.0,
    "min_threshold": 4.0,
    "max_threshold": 12.0,
    "max_probability": 0.12,
    "mark_probability": 1.0,
}
# A coin that is above every chance in the range, and below the certainty above it.
PASS = [0.999999]


class NonlinearRed(Ns2Red):
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {**Ns2Red.DEFAULTS, "gentle": False, "curve_factor": 1.5}

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        super().reconfigure(parameters, link)
        self._factor = Decimal(str(parameters["curve_factor"]))

    def _line(self) -> Decimal:
        if not self.compare.below(self.average, self.high):
            return super()._line()
        part = (self.average - self.low) / (self.high - self.low)
        curve = self._factor * self.max_probability * part**2
        return curve if self.compare.below(curve, ONE) else ONE


def _hand() -> list[Case]:
    return [
        Case(
            name="the square of the way between the thresholds",
            about="1.5 x 0.12 = 0.18 times the square: at 4 nothing, at 6 (1/4) 0.01125, at 8 "
            "(1/2) 0.045, at 10 (3/4) 0.10125, at 11 (7/8) 0.1378125. RED has 0.03, 0.06, 0.09 "
            "and 0.105: less below two thirds of the way, more above",
            parameters=DIRECT,
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(3, probability=0.0),
                step(4),
                step(4, coins=PASS, probability=0.0),
                step(6, coins=PASS, probability=0.01125),
                step(8, coins=PASS, probability=0.045),
                step(10, coins=PASS, probability=0.10125),
                step(11, coins=PASS, probability=0.1378125),
            ],
        ),
        Case(
            name="at two thirds of the way RED and the curve meet",
            about="1.5 x (2/3)^2 = 2/3: thresholds 4 and 10, at 8 0.08 as RED's 0.12 x 4 / 6",
            parameters=DIRECT | {"max_threshold": 10.0},
            link=LINK,
            by_hand=True,
            steps=[step(8), step(8, coins=PASS, probability=0.08)],
        ),
        Case(
            name="above the maximum threshold everything goes",
            about="12 and above: 1",
            parameters=DIRECT,
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(11),
                step(12, "drop forced", coins=PASS, probability=1.0),
                step(20, "drop forced", coins=PASS, probability=1.0),
            ],
        ),
        Case(
            name="gentle, as ns-3 has it: the line starts at max_probability",
            about="at 11 0.1378125, at 12 0.12, at 13 0.88 / 12 x 13 - 0.76: a fall before the "
            "rise",
            parameters=DIRECT | {"gentle": True},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(11),
                step(11, coins=PASS, probability=0.1378125),
                step(12, coins=PASS, probability=0.12),
                step(13, coins=PASS, probability=0.19333333333333333),
            ],
        ),
        Case(
            name="the curve ends at 1",
            about="10 x 0.5 x (1/4)^2 = 0.3125 at 6; (3/4)^2 would be 2.8 at 10",
            parameters=DIRECT | {"curve_factor": 10.0, "max_probability": 0.5},
            link=LINK,
            by_hand=True,
            steps=[
                step(6),
                step(6, coins=PASS, probability=0.3125),
                step(10, "drop forced", coins=PASS, probability=1.0),
            ],
        ),
        Case(
            name="spacing and marks are RED's",
            about="without wait, at 8 p = 0.045: the second packet in the range counts 2, so "
            "0.045 / 0.91 = 0.04945; the next 0.045 / 0.865 = 0.05202. An ECN-capable one is "
            "marked",
            parameters=DIRECT | {"wait": False},
            link=LINK,
            by_hand=True,
            steps=[
                step(8),
                step(8, coins=[0.0495], probability=0.045),
                step(8, "mark", coins=[0.052], ecn=True, probability=0.045),
                step(8, "drop early", coins=[0.0471], probability=0.045),
            ],
        ),
    ]


def _simulated() -> list[Case]:
    return [
        recorded(
            NonlinearRed,
            "the load rises and falls",
            "up through both thresholds, idleness, and up again",
            {"weight": 0.1, "min_threshold": 3.0, "max_threshold": 9.0, "wait": False},
            LINK,
            program=RISE_AND_FALL,
        ),
        recorded(
            NonlinearRed,
            "gentle with wait, byte mode, settings changed on the way",
            "packets of 300 and 1200 bytes, the mean size 600; then another factor",
            (
                settings := {
                    "weight": 0.12,
                    "min_threshold": 2.0,
                    "max_threshold": 6.0,
                    "max_probability": 0.4,
                    "gentle": True,
                    "byte_mode": True,
                    "mean_packet_size": 600.0,
                    "limit": 30.0,
                    "mark_probability": 0.4,
                }
            ),
            Link(rate_bit_per_s=2e6, delay_s=0.02),
            program=[
                Stretch(2.0, 60, sizes=(300, 1200)),
                Pause(12_000_000),
                Settings(settings | {"curve_factor": 3.0}, Link(rate_bit_per_s=2e6, delay_s=0.02)),
                Stretch(1.5, 60, sizes=(300, 1200)),
            ],
        ),
    ]


def vectors() -> VectorFile:
    return VectorFile(
        discipline="nonlinear-red",
        source="K. Zhou, K. L. Yeung, V. O. K. Li, Nonlinear RED, Computer Networks 50(18), 2006; "
        "ns-3, red-queue-disc.cc",
        machine=NonlinearRed,
        cases=[*(verify(case, NonlinearRed) for case in _hand()), *_simulated()],
    )
