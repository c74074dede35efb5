"""The self-configuring RED of Feng, Kandlur, Saha and Shin (1999).

The machine is that of `ns2_red`, by default not gentle. After each change of the average:

- strictly between the thresholds: the status is "between";
- below min_threshold with another status than "below": the status is "below" and max_probability is
  divided by `decrease` (3);
- above max_threshold with another status than "above": the status is "above" and max_probability is
  multiplied by `increase` (2), to at most 1.

An average that equals a threshold changes nothing. A fresh queue is empty: its status is "below".
"""

from decimal import Decimal
from typing import ClassVar

from bottleneck import Pause, Stretch, recorded
from by_hand import step, verify
from exact import ONE, Comparison
from ns2_red import Ns2Red
from vector_file import Case, Link, Parameters, Settings, VectorFile

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000

# Weight 1: the average is the queue. At 8 packets the probability is half of max_probability.
HALFWAY = {
    "weight": 1.0,
    "min_threshold": 4.0,
    "max_threshold": 12.0,
    "max_probability": 0.12,
    "mark_probability": 1.0,
}
# A coin that is above every chance in the range, and below the certainty above it.
PASS = [0.999999]


class SelfConfiguringRed(Ns2Red):
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        **Ns2Red.DEFAULTS,
        "gentle": False,
        "decrease": 3.0,
        "increase": 2.0,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        super().__init__(parameters, link, comparison)
        self._status = "below"

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        super().reconfigure(parameters, link)
        self._decrease = Decimal(str(parameters["decrease"]))
        self._increase = Decimal(str(parameters["increase"]))

    def adapt(self, now_ns: int) -> None:
        del now_ns
        above_low = self.compare.below(self.low, self.average)
        below_low = self.compare.below(self.average, self.low)
        above_high = self.compare.below(self.high, self.average)
        below_high = self.compare.below(self.average, self.high)
        if above_low and below_high:
            self._status = "between"
        elif below_low and self._status != "below":
            self._status = "below"
            self.max_probability /= self._decrease
        elif above_high and self._status != "above":
            self._status = "above"
            self.max_probability = min(ONE, self.max_probability * self._increase)

    def figures(self) -> dict[str, Decimal | None]:
        return super().figures() | {"max_probability": self.max_probability}


def _hand() -> list[Case]:
    return [
        Case(
            name="a third as aggressive below the range, twice as aggressive above it",
            about="0.12 at first, and an empty queue is no fall. In the range 0.06 at 8. 13: "
            "above, 0.24, once however long it lasts; 0.12 at 8. 3: below, 0.08, once; 0.04 at 8. "
            "13: 0.16",
            parameters=HALFWAY,
            link=LINK,
            by_hand=True,
            steps=[
                step(0, max_probability=0.12, probability=0.0),
                step(3, max_probability=0.12),
                step(8, max_probability=0.12, probability=0.0),
                step(8, coins=PASS, max_probability=0.12, probability=0.06),
                step(13, "drop forced", coins=PASS, max_probability=0.24, probability=1.0),
                step(14, "drop forced", coins=PASS, max_probability=0.24),
                step(8, coins=PASS, max_probability=0.24, probability=0.12),
                step(3, max_probability=0.08, probability=0.0),
                step(2, max_probability=0.08),
                step(8, max_probability=0.08),
                step(8, coins=PASS, max_probability=0.08, probability=0.04),
                step(13, "drop forced", coins=PASS, max_probability=0.16),
                step(8, coins=PASS, max_probability=0.16, probability=0.08),
            ],
        ),
        Case(
            name="leaving the range twice by one side counts twice",
            about="0.12; above 0.24, back, above 0.48, back: 0.24 at 8; below 0.16, back, below "
            "0.16 / 3, back: 0.08 / 3 at 8",
            parameters=HALFWAY,
            link=LINK,
            by_hand=True,
            steps=[
                step(8),
                step(13, "drop forced", coins=PASS, max_probability=0.24),
                step(8, coins=PASS),
                step(13, "drop forced", coins=PASS, max_probability=0.48),
                step(8, coins=PASS, probability=0.24),
                step(3, max_probability=0.16),
                step(8),
                step(3, max_probability=0.05333333333333333),
                step(8),
                step(8, coins=PASS, probability=0.02666666666666667),
            ],
        ),
        Case(
            name="a leap across the range counts",
            about="from below to above without a packet between: 0.24; back below: 0.08; and so "
            "on. The first packet in the range passes even at 13",
            parameters=HALFWAY,
            link=LINK,
            by_hand=True,
            steps=[
                step(3),
                step(13, max_probability=0.24),
                step(3, max_probability=0.08),
                step(20, max_probability=0.16),
                step(8, coins=PASS, probability=0.08),
            ],
        ),
        Case(
            name="touching a threshold is not crossing it",
            about="4 and 12 change nothing: neither the probability nor where the average last "
            "was. At 12 p is 1, but from 13 back to 12 and to 13 again is one stay above; "
            "likewise 3, 4, 3",
            parameters=HALFWAY,
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(4, max_probability=0.12),
                step(12, "drop forced", coins=PASS, max_probability=0.12, probability=1.0),
                step(13, "drop forced", coins=PASS, max_probability=0.24),
                step(12, "drop forced", coins=PASS, max_probability=0.24),
                step(13, "drop forced", coins=PASS, max_probability=0.24),
                step(8, coins=PASS, probability=0.12),
                step(12, "drop forced", coins=PASS, max_probability=0.24),
                step(8, coins=PASS, probability=0.12),
                step(4, coins=PASS, max_probability=0.24, probability=0.0),
                step(8, coins=PASS, probability=0.12),
                step(4, coins=PASS, max_probability=0.24, probability=0.0),
                step(3, max_probability=0.08),
                step(4, max_probability=0.08),
                step(3, max_probability=0.08),
                step(8, max_probability=0.08),
                step(8, coins=PASS, probability=0.04),
            ],
        ),
        Case(
            name="never more than 1",
            about="0.4, 0.8, then 1 and not 1.6; at 8 half of each",
            parameters=HALFWAY | {"max_probability": 0.4},
            link=LINK,
            by_hand=True,
            steps=[
                step(8),
                step(13, "drop forced", coins=PASS, max_probability=0.8),
                step(8, coins=PASS, probability=0.4),
                step(13, "drop forced", coins=PASS, max_probability=1.0),
                step(8, coins=PASS, probability=0.5),
                step(13, "drop forced", coins=PASS, max_probability=1.0),
                step(3, max_probability=0.3333333333333333),
                step(8),
                step(8, coins=PASS, probability=0.16666666666666666),
            ],
        ),
        Case(
            name="other factors",
            about="decrease 10, increase 1.5: 0.12, 0.18, 0.018",
            parameters=HALFWAY | {"decrease": 10.0, "increase": 1.5},
            link=LINK,
            by_hand=True,
            steps=[
                step(8),
                step(13, "drop forced", coins=PASS, max_probability=0.18),
                step(3, max_probability=0.018),
                step(8),
                step(8, coins=PASS, probability=0.009),
            ],
        ),
        Case(
            name="the new probability counts at once, and the average follows the idle time",
            about="weight 1/2, gentle, thresholds 4 and 12. 8, in the range; 13: 0.24 and, on the "
            "gentle line drawn for 0.12, 0.88 / 12 x 13 - 0.76; then idle for 2 ms: 13 / 8, below: "
            "0.08; 9.8125: 0.08 x 5.8125 / 8",
            parameters=HALFWAY | {"weight": 0.5, "gentle": True},
            link=LINK,
            by_hand=True,
            steps=[
                step(16, average=8.0, max_probability=0.12),
                step(
                    18, coins=PASS, average=13.0, max_probability=0.24, probability=0.19333333333333
                ),
                step(
                    0,
                    time_ns=9 * MILLISECOND,
                    empty_since_ns=6 * MILLISECOND,
                    idle_since_ns=6_900_000,
                    average=1.625,
                    max_probability=0.08,
                ),
                step(18, average=9.8125, max_probability=0.08, probability=0.0),
                step(
                    10,
                    coins=PASS,
                    average=9.90625,
                    max_probability=0.08,
                    probability=0.0590625,
                ),
            ],
        ),
    ]


def _simulated() -> list[Case]:
    swing = [
        part
        for _ in range(4)
        for part in (Stretch(3.0, 30), Stretch(0.5, 20), Pause(10 * MILLISECOND))
    ]
    return [
        recorded(
            SelfConfiguringRed,
            "the load swings",
            "four swings from three times the rate to idleness; the average crosses both "
            "thresholds",
            {"weight": 0.1, "min_threshold": 3.0, "max_threshold": 8.0, "wait": False},
            LINK,
            program=swing,
        ),
        recorded(
            SelfConfiguringRed,
            "gentle with wait, byte mode",
            "packets of 300 and 1200 bytes, the mean size 600",
            {
                "weight": 0.12,
                "min_threshold": 2.0,
                "max_threshold": 6.0,
                "gentle": True,
                "byte_mode": True,
                "mean_packet_size": 600.0,
                "limit": 30.0,
                "mark_probability": 0.4,
            },
            Link(rate_bit_per_s=2e6, delay_s=0.02),
            program=[
                part
                for _ in range(3)
                for part in (
                    Stretch(2.5, 35, sizes=(300, 1200)),
                    Stretch(0.4, 15, sizes=(300, 1200)),
                    Pause(12 * MILLISECOND),
                )
            ],
        ),
        recorded(
            SelfConfiguringRed,
            "settings changed before anything was learnt",
            "the factors and thresholds change while the average is still below the range",
            {"weight": 0.1},
            LINK,
            program=[
                Stretch(0.5, 10),
                Settings(
                    {
                        "weight": 0.1,
                        "min_threshold": 2.0,
                        "max_threshold": 5.0,
                        "max_probability": 0.2,
                        "increase": 3.0,
                        "decrease": 1.5,
                    },
                    LINK,
                ),
                Stretch(2.0, 50),
                Stretch(0.5, 40),
                Stretch(2.0, 40),
            ],
        ),
    ]


def vectors() -> VectorFile:
    return VectorFile(
        discipline="self-configuring-red",
        source="W. Feng, D. Kandlur, D. Saha, K. Shin, A Self-Configuring RED Gateway, INFOCOM "
        "1999",
        machine=SelfConfiguringRed,
        cases=[*(verify(case, SelfConfiguringRed) for case in _hand()), *_simulated()],
    )
