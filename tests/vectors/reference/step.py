"""Step marking, as switches do for DCTCP.

The rules:

- A packet that meets `limit` waiting packets is dropped.
- One that meets more than the threshold (packets, bytes, or bytes that the link needs more than
  `threshold_delay` for) is marked if it is ECN-capable and `ecn` is on, else dropped if
  `drop_others` is on, else accepted.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar

import by_hand
from bottleneck import RISE_AND_FALL, recorded
from by_hand import verify, without_figures
from exact import Comparison
from vector_file import Arrival, Case, Link, Parameters, Settings, VectorFile

# A million bytes per second.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)


class Step:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 100.0,
        "measure": "packets",
        "threshold": 20.0,
        "threshold_bytes": 30000.0,
        "threshold_delay": 0.001,
        "ecn": True,
        "drop_others": True,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        self._comparison = comparison
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        self._parameters = parameters
        self._link = link

    def _number(self, name: str) -> Decimal:
        return Decimal(str(self._parameters[name]))

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        del coin
        if arrival.queue_packets >= self._number("limit"):
            return "drop", "overflow"
        packets, size = Decimal(arrival.queue_packets), Decimal(arrival.queue_bytes)
        threshold, found = {
            "packets": (self._number("threshold"), packets),
            "bytes": (self._number("threshold_bytes"), size),
            "delay": (self._number("threshold_delay"), 8 * size / self._link.rate),
        }[str(self._parameters["measure"])]
        if self._comparison.at_most(found, threshold):
            return "accept", None
        if self._parameters["ecn"] and arrival.ecn_capable:
            return "mark", None
        return ("drop", "forced") if self._parameters["drop_others"] else ("accept", None)

    def figures(self) -> dict[str, Decimal | None]:
        return {"average_queue_packets": None, "drop_probability": None}


def _hand_cases() -> list[Case]:
    step = by_hand.step
    in_bytes: Parameters = {"measure": "bytes"}
    in_time: Parameters = {"measure": "delay"}
    return [
        Case(
            name="above twenty packets",
            about="20 waiting are not more than the threshold, 21 are: what can be marked is, the "
            "rest is dropped, or let through to the end of the buffer without drop_others",
            parameters={},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=without_figures(
                [
                    step(20, ecn=True),
                    step(20),
                    step(21, "mark", ecn=True),
                    step(21, "drop forced"),
                    step(99, "mark", ecn=True),
                    step(100, "drop overflow", ecn=True),
                    Settings({"drop_others": False}, LINK),
                    step(21, "mark", ecn=True),
                    step(99),
                    step(100, "drop overflow"),
                    Settings({"ecn": False}, LINK),
                    step(21, "drop forced", ecn=True),
                ]
            ),
        ),
        Case(
            name="above so many bytes",
            about="30000 bytes are not more than 30000, 30001 are, in however few packets",
            parameters=in_bytes,
            link=LINK,
            by_hand=True,
            ties=True,
            steps=without_figures(
                [
                    step(90, ecn=True, queue_bytes=30_000),
                    step(21, "mark", ecn=True, queue_bytes=30_001),
                ]
            ),
        ),
        Case(
            name="above a time",
            about="a million bytes per second: 1000 bytes are a millisecond, at half the rate 500",
            parameters=in_time,
            link=LINK,
            by_hand=True,
            ties=True,
            steps=without_figures(
                [
                    step(1, ecn=True, queue_bytes=1000),
                    step(1, "mark", ecn=True, queue_bytes=1001),
                    Settings(in_time, Link(rate_bit_per_s=4e6, delay_s=0.01)),
                    step(1, ecn=True, queue_bytes=500),
                    step(1, "mark", ecn=True, queue_bytes=501),
                    step(1, "drop forced", queue_bytes=501),
                ]
            ),
        ),
    ]


def _simulated() -> list[Case]:
    return [
        recorded(
            Step,
            f"a threshold in {measure}",
            "load rises and falls, half of the packets ECN-capable",
            {
                "measure": measure,
                "threshold": 7.5,
                "threshold_bytes": 7_500.0,
                "threshold_delay": 0.0075,
                "limit": 30.0,
                "drop_others": measure != "bytes",
            },
            LINK,
            program=RISE_AND_FALL,
        )
        for measure in ("packets", "bytes", "delay")
    ]


def vectors() -> VectorFile:
    return VectorFile(
        discipline="step",
        source="M. Alizadeh et al., Data Center TCP, SIGCOMM 2010; RFC 8257, 2017",
        machine=Step,
        cases=[*(verify(case, Step) for case in _hand_cases()), *_simulated()],
    )
