"""Drop-tail: accept until the buffer is full.

The rule: a packet that meets `limit` waiting packets finds no room; with `limit_bytes`, one finds
none that would bring the bytes above that. Who has to go is the packet that arrives ("tail"), the
first that waits ("head"), or one of all these, each as likely ("random"; places are numbered from
the head, the packet that arrives having the last). Then the packet arrives anew. One larger than
`limit_bytes` is dropped itself. There is no average, no probability and no mark.
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

    DEFAULTS: ClassVar[Parameters] = {"limit": 100.0, "limit_bytes": None, "drop": "tail"}

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        del comparison
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        del link
        self._limit = Decimal(str(parameters["limit"]))
        in_bytes = parameters["limit_bytes"]
        self._limit_bytes = None if in_bytes is None else Decimal(str(in_bytes))
        self._drop = parameters["drop"]

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        waiting = arrival.queue_packets
        if self._limit_bytes is None:
            room, possible = waiting < self._limit, True
        else:
            room = arrival.queue_bytes + arrival.size_bytes <= self._limit_bytes
            possible = arrival.size_bytes <= self._limit_bytes
        if room:
            return "accept", None
        place = waiting
        if possible and self._drop == "head":
            place = 0
        if possible and self._drop == "random":
            place = int(coin() * (waiting + 1))
        return ("drop" if place == waiting else f"make-room {place}"), "overflow"

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
    hand += [
        Case(
            name="a limit in bytes counts the packet that arrives",
            about="limit 3000 bytes, that in packets plays no part: 2000 and 1000 fit exactly, "
            "2001 and 1000 do not, 200 packets of 10 bytes leave room for 1000",
            parameters={"limit": 1.0, "limit_bytes": 3000.0},
            link=LINK,
            by_hand=True,
            steps=without_figures(
                [
                    step(2),
                    step(2, "drop overflow", queue_bytes=2001),
                    step(200, queue_bytes=2000),
                    step(0, "drop overflow", size=3001),
                    step(0, size=3000),
                ]
            ),
        ),
        Case(
            name="the first has to go",
            about="limit 3: for the fourth the packet at place 0 goes, and then there is room",
            parameters={"limit": 3.0, "drop": "head"},
            link=LINK,
            by_hand=True,
            steps=without_figures(
                [step(2), step(3, "make-room 0 overflow"), step(2), step(3, "make-room 0 overflow")]
            ),
        ),
        Case(
            name="several have to go for a large one, and none for one that can never fit",
            about="limit 2000 bytes, 1000, 100 and 900 wait, 1500 arrive: after the first there "
            "are 1000 and 1500, after the second 900 and 1500, after the third it fits; 2001 "
            "would not even then",
            parameters={"limit_bytes": 2000.0, "drop": "head"},
            link=LINK,
            by_hand=True,
            steps=without_figures(
                [
                    step(3, "make-room 0 overflow", queue_bytes=2000, size=1500),
                    step(2, "make-room 0 overflow", queue_bytes=1000, size=1500),
                    step(1, "make-room 0 overflow", queue_bytes=900, size=1500),
                    step(0, size=1500),
                    step(3, "drop overflow", queue_bytes=2000, size=2001),
                ]
            ),
        ),
        Case(
            name="any one has to go",
            about="limit 4: of 5 packets a coin of 0, 0.39, 0.40625, 0.79 takes place 0, 1, 2, 3, "
            "and 0.8125 the one that arrives",
            parameters={"limit": 4.0, "drop": "random"},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=without_figures(
                [
                    step(3),
                    step(4, "make-room 0 overflow", coins=[0.0]),
                    step(4, "make-room 1 overflow", coins=[0.39]),
                    step(4, "make-room 2 overflow", coins=[0.40625]),
                    step(4, "make-room 3 overflow", coins=[0.79]),
                    step(4, "drop overflow", coins=[0.8125]),
                ]
            ),
        ),
    ]
    program = [
        Stretch(0.7, 25, sizes=(40, 552, 1500)),
        Stretch(2.0, 60, sizes=(40, 552, 1500)),
        Pause(20_000_000),
        Stretch(0.5, 25, sizes=(40, 552, 1500)),
    ]
    described = "packets of three sizes at 0.7, 2 and 0.5 times the link's rate"
    others = [
        recorded(
            DropTail,
            f"overload, recovery and a pause, {drop} drop, in {unit}",
            described,
            {limit: 6000.0 if unit == "bytes" else 8.0, "drop": drop},
            LINK,
            program=program,
        )
        for drop in ("tail", "head", "random")
        for unit, limit in (("packets", "limit"), ("bytes", "limit_bytes"))
        if (drop, unit) != ("tail", "packets")
    ]
    simulated = recorded(
        DropTail,
        "overload, recovery and a pause",
        described,
        {"limit": 8.0},
        LINK,
        program=program,
    )
    return VectorFile(
        discipline="drop-tail",
        source="the default of routers; baseline of RFC 7567; RFC 2309, section 2",
        machine=DropTail,
        cases=[*(verify(case, DropTail) for case in hand), simulated, *others],
    )
