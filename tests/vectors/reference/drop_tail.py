"""Drop-tail: accept until the buffer is full.

The rule: a packet that meets `limit` waiting packets is dropped; any other joins. There is no
average, no probability and no mark.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar

from bottleneck import Pause, Stretch, recorded
from by_hand import step, verify, without_figures
from exact import Comparison
from vector_file import Arrival, Case, Link, Parameters, Settings, VectorFile

LINK = Link(rate_bit_per_s=10e6, delay_s=0.01)


class DropTail:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {"limit": 100.0}

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        del comparison
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        del link
        self._limit = Decimal(str(parameters["limit"]))

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        del coin
        return ("drop", "overflow") if arrival.queue_packets >= self._limit else ("accept", None)

    def figures(self) -> dict[str, Decimal | None]:
        return {"average_queue_packets": None, "drop_probability": None}


def vectors() -> VectorFile:
    hand = [
        Case(
            name="the packet that meets a full buffer is dropped, marked never",
            about="limit 3: queues 0, 1, 2 leave room for one more, 3 does not, ECN or not, "
            "however many bytes wait",
            parameters={"limit": 3.0},
            link=LINK,
            by_hand=True,
            steps=without_figures(
                [
                    step(0, idle_since_ns=0),
                    step(1, ecn=True),
                    step(2, queue_bytes=130_000, size=65_000),
                    step(3, "drop overflow"),
                    step(3, "drop overflow", ecn=True),
                    step(3, "drop overflow", size=40, queue_bytes=120),
                    step(2),
                ]
            ),
        ),
        Case(
            name="a buffer of one packet",
            about="limit 1: only an empty queue takes a packet",
            parameters={"limit": 1.0},
            link=LINK,
            by_hand=True,
            steps=without_figures([step(0), step(1, "drop overflow"), step(0, ecn=True)]),
        ),
        Case(
            name="by default a hundred packets may wait",
            about="no parameter given: 99 waiting leave room, 100 do not",
            parameters={},
            link=LINK,
            by_hand=True,
            steps=without_figures([step(99), step(100, "drop overflow")]),
        ),
        Case(
            name="a limit changed while packets wait",
            about="lowered from 10 to 4 with 8 waiting: nothing joins until 3 wait",
            parameters={"limit": 10.0},
            link=LINK,
            by_hand=True,
            steps=[
                *without_figures([step(8)]),
                Settings({"limit": 4.0}, LINK),
                *without_figures([step(9, "drop overflow"), step(4, "drop overflow"), step(3)]),
            ],
        ),
    ]
    simulated = recorded(
        DropTail,
        "overload, recovery and a pause",
        "packets of three sizes at 0.7, 2 and 0.5 times the link's rate",
        {"limit": 8.0},
        LINK,
        program=[
            Stretch(0.7, 25, sizes=(40, 552, 1500)),
            Stretch(2.0, 60, sizes=(40, 552, 1500)),
            Pause(20_000_000),
            Stretch(0.5, 25, sizes=(40, 552, 1500)),
        ],
    )
    return VectorFile(
        discipline="drop-tail",
        source="the default of routers; baseline of RFC 7567",
        machine=DropTail,
        cases=[*(verify(case, DropTail) for case in hand), simulated],
    )
