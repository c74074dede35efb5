"""PD-RED (Sun, Ko, Chen, Chan and Zukerman 2003).

The machine is that of `ns2_red`. At every multiple of `interval`, before an arrival at the same
instant, with e = (average - target_queue) / limit in packets (byte mode: of the mean size):
max_probability <- max_probability + proportional_gain e + derivative_gain (e - the e before), kept
between lowest_probability and highest_probability. Before the first sample e is that of the empty
queue. The target is automatic: half way between the thresholds. A change of target or limit
recomputes the e before from the average it came from.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar

from bottleneck import RISE_AND_FALL, Pause, Settings, Stretch, recorded
from by_hand import step, verify
from exact import ONE, ZERO, Comparison
from ns2_red import Ns2Red
from vector_file import Arrival, Case, Link, Parameters, VectorFile

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000

# Weight 1: the average is the queue. The target is 8 packets, at which the probability is half of
# max_probability; an error of 5 packets is 1/4.
DIRECT = {
    "weight": 1.0,
    "min_threshold": 4.0,
    "max_threshold": 12.0,
    "max_probability": 0.12,
    "mark_probability": 1.0,
    "gentle": False,
    "limit": 20.0,
    "proportional_gain": 0.1,
    "derivative_gain": 0.2,
}
PASS = [0.999999]


class PdRed(Ns2Red):
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        **Ns2Red.DEFAULTS,
        "target_queue": None,
        "proportional_gain": 0.001,
        "derivative_gain": 0.05,
        "interval": 0.01,
        "lowest_probability": 0.0,
        "highest_probability": 1.0,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        self._sampled = 0
        self._last_average = ZERO
        super().__init__(parameters, link, comparison)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        super().reconfigure(parameters, link)
        self._own = parameters
        self._unit = self._mean_size if "byte_mode" in self._on else ONE
        middle = (self.low + self.high) / 2 / self._unit
        given = parameters["target_queue"]
        self._target = middle if given is None else Decimal(str(given))
        self._interval = int(self._number("interval") * 10**9)

    def _number(self, name: str) -> Decimal:
        return Decimal(str(self._own[name]))

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        while self._sampled + self._interval <= arrival.time_ns:
            self._sampled += self._interval
            self._sample()
        return super().arrive(arrival, coin)

    def _sample(self) -> None:
        average = self.average / self._unit
        error = (average - self._target) / self._number("limit")
        turn = (average - self._last_average) / self._number("limit")
        self._last_average = average
        moved = (
            self.max_probability
            + self._number("proportional_gain") * error
            + self._number("derivative_gain") * turn
        )
        lowest, highest = self._number("lowest_probability"), self._number("highest_probability")
        self.max_probability = min(highest, max(lowest, moved))

    def figures(self) -> dict[str, Decimal | None]:
        return super().figures() | {"max_probability": self.max_probability}


def _hand() -> list[Case]:
    return [
        Case(
            name="proportional to the error and to its change",
            about="target 8, limit 20. At 10 ms the average is 8, up from 0: e 0, turn 0.2 x 8 / "
            "20 = 0.08: 0.2. At 20 ms 13: 0.1 x 0.25 + 0.2 x 0.25 = 0.075: 0.275, half of it at 8. "
            "30, 40, 50 ms 8: -0.05, 0, 0: 0.225; at 10 6/8 of it. 60, 70, 80 ms 10: 0.01 + 0.02, "
            "0.01, 0.01: 0.275",
            parameters=DIRECT,
            link=LINK,
            by_hand=True,
            steps=[
                step(8, max_probability=0.12, probability=0.0),
                step(
                    13,
                    "drop forced",
                    coins=PASS,
                    time_ns=10 * MILLISECOND,
                    max_probability=0.2,
                    probability=1.0,
                ),
                step(
                    8,
                    coins=PASS,
                    time_ns=20 * MILLISECOND,
                    max_probability=0.275,
                    probability=0.1375,
                ),
                step(
                    10,
                    coins=PASS,
                    time_ns=50 * MILLISECOND,
                    max_probability=0.225,
                    probability=0.16875,
                ),
                step(
                    8,
                    coins=PASS,
                    time_ns=80 * MILLISECOND,
                    max_probability=0.275,
                    probability=0.1375,
                ),
            ],
        ),
        Case(
            name="nothing moves between two samples",
            about="the first sample is at 10 ms: 9,999,999 ns is before it. At 10 ms: the "
            "average is 10, 0.1 x 2 / 20 + 0.2 x 10 / 20 = 0.11: 0.23, at 10 6/8 of it",
            parameters=DIRECT,
            link=LINK,
            by_hand=True,
            steps=[
                step(9, max_probability=0.12),
                step(
                    10,
                    coins=PASS,
                    time_ns=9_999_999,
                    max_probability=0.12,
                    probability=0.09,
                ),
                step(
                    10,
                    coins=PASS,
                    time_ns=10 * MILLISECOND,
                    max_probability=0.23,
                    probability=0.1725,
                ),
            ],
        ),
        Case(
            name="the bounds",
            about="0.12 within 0.1 and 0.15. At 8 for the first time: 0.2, held at 0.15. An empty "
            "queue for 50 ms: -0.04 - 0.08 and more: 0.1; back at 8 0.18: 0.15",
            parameters=DIRECT | {"lowest_probability": 0.1, "highest_probability": 0.15},
            link=LINK,
            by_hand=True,
            steps=[
                step(8),
                step(8, coins=PASS, time_ns=10 * MILLISECOND, max_probability=0.15),
                step(0, time_ns=19 * MILLISECOND, max_probability=0.15),
                step(8, time_ns=69 * MILLISECOND, max_probability=0.1),
                step(
                    8,
                    coins=PASS,
                    time_ns=70 * MILLISECOND,
                    max_probability=0.15,
                    probability=0.075,
                ),
            ],
        ),
        Case(
            name="the constants of the paper, another target",
            about="limit 100, target 6: at 10 ms the average is 8: 0.001 x 0.02 + 0.05 x 0.08 = "
            "0.00402: 0.12402, half of it at 8",
            parameters=DIRECT
            | {
                "limit": 100.0,
                "target_queue": 6.0,
                "proportional_gain": 0.001,
                "derivative_gain": 0.05,
            },
            link=LINK,
            by_hand=True,
            steps=[
                step(8),
                step(
                    8,
                    coins=PASS,
                    time_ns=10 * MILLISECOND,
                    max_probability=0.12402,
                    probability=0.06201,
                ),
            ],
        ),
    ]


def _simulated() -> list[Case]:
    lively = {
        "weight": 0.1,
        "min_threshold": 2.0,
        "max_threshold": 8.0,
        "limit": 40.0,
        "proportional_gain": 0.05,
        "derivative_gain": 0.2,
    }
    return [
        recorded(
            PdRed,
            "the load rises and falls",
            "the controller follows it",
            lively | {"wait": False, "mark_probability": 0.5},
            LINK,
            program=[*RISE_AND_FALL, *RISE_AND_FALL],
        ),
        recorded(
            PdRed,
            "byte mode, not gentle, settings changed on the way",
            "another target and limit, then other gains and another interval",
            lively | {"byte_mode": True, "gentle": False, "mean_packet_size": 600.0},
            LINK,
            program=[
                Stretch(2.0, 60, sizes=(300, 1200)),
                Settings(
                    lively
                    | {
                        "byte_mode": True,
                        "gentle": False,
                        "mean_packet_size": 600.0,
                        "target_queue": 3.0,
                        "limit": 60.0,
                    },
                    LINK,
                ),
                Stretch(1.5, 60, sizes=(300, 1200)),
                Pause(200 * MILLISECOND),
                Settings(
                    lively
                    | {
                        "byte_mode": True,
                        "mean_packet_size": 600.0,
                        "proportional_gain": 0.02,
                        "interval": 0.003,
                        "lowest_probability": 0.02,
                        "highest_probability": 0.3,
                    },
                    LINK,
                ),
                Stretch(2.0, 80, sizes=(300, 1200)),
            ],
        ),
    ]


def vectors() -> VectorFile:
    return VectorFile(
        discipline="pd-red",
        source="J. Sun, K.-T. Ko, G. Chen, S. Chan, M. Zukerman, PD-RED: To Improve the "
        "Performance of RED, IEEE Communications Letters 7(8), 2003",
        machine=PdRed,
        cases=[*(verify(case, PdRed) for case in _hand()), *_simulated()],
    )
