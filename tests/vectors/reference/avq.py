"""The adaptive virtual queue, as its authors' code in ns-2.35 runs it.

The rules, in bytes or (without byte mode) packets, the link sending C of them in a second:

- At every arrival the virtual queue first loses V times the time since the last arrival, but not
  more than it has. V starts at initial_capacity x C. A change of C changes V in proportion.
- If it then has room for the packet, in virtual_buffer x limit packets (of the mean size), it
  takes it. Else the packet is marked if it is ECN-capable and `ecn` is on, and dropped if not.
- V <- V + damping (target_utilization C t - packet), held between 0 and C; t is the time since the
  last arrival (0 for the first packet). What was dropped so is no load: without `- packet` then.
- A packet that meets `limit` waiting packets is dropped, whatever became of it in the virtual
  queue.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar

import by_hand
from bottleneck import RISE_AND_FALL, Pause, Program, Stretch, recorded
from by_hand import verify, without_figures
from exact import ONE, ZERO, Comparison
from vector_file import Arrival, Case, Link, Parameters, Settings, Step, VectorFile

# A million bytes per second.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000


class Avq:
    """The reference."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 100.0,
        "target_utilization": 0.98,
        "damping": 0.15,
        "initial_capacity": 0.8,
        "virtual_buffer": 1.0,
        "mean_packet_size": 1000.0,
        "byte_mode": True,
        "ecn": True,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        self._comparison = comparison
        self._virtual_queue = ZERO
        self._last_arrival: int | None = None
        self.reconfigure(parameters, link)
        self._virtual_capacity = self._number("initial_capacity") * self._capacity

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        before = getattr(self, "_capacity", None)
        old = getattr(self, "_parameters", parameters)
        self._parameters = parameters
        self._capacity = link.rate / 8
        if not parameters["byte_mode"]:
            self._capacity /= self._number("mean_packet_size")
        if before is not None:
            self._virtual_capacity *= self._capacity / before
        if old["byte_mode"] and not parameters["byte_mode"]:
            self._virtual_queue /= Decimal(str(old["mean_packet_size"]))
        if parameters["byte_mode"] and not old["byte_mode"]:
            self._virtual_queue *= self._number("mean_packet_size")

    def _number(self, name: str) -> Decimal:
        return Decimal(str(self._parameters[name]))

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        del coin
        now = arrival.time_ns
        limit = packets = self._number("limit")
        packet = ONE
        if self._parameters["byte_mode"]:
            packet = Decimal(arrival.size_bytes)
            packets = limit * self._number("mean_packet_size")
        if self._last_arrival is None:
            self._last_arrival = now
        elapsed = Decimal(now - self._last_arrival) / 10**9
        drained = self._virtual_capacity * elapsed
        self._virtual_queue = max(self._virtual_queue - drained, ZERO)
        self._last_arrival = now
        verdict: tuple[str, str | None] = ("accept", None)
        room = self._number("virtual_buffer") * packets
        if self._comparison.at_most(self._virtual_queue + packet, room):
            self._virtual_queue += packet
        elif self._parameters["ecn"] and arrival.ecn_capable:
            verdict = ("mark", None)
        else:
            verdict = ("drop", "forced")
        change = self._number("target_utilization") * self._capacity * elapsed
        if verdict[0] != "drop":
            change -= packet
        moved = self._virtual_capacity + self._number("damping") * change
        self._virtual_capacity = min(max(moved, ZERO), self._capacity)
        return ("drop", "overflow") if arrival.queue_packets >= limit else verdict

    def figures(self) -> dict[str, Decimal | None]:
        return {"average_queue_packets": None, "drop_probability": None}


def _at(milliseconds: int, verdict: str = "accept", *, ecn: bool = False, size: int = 1000) -> Step:
    return by_hand.step(2, verdict, ecn=ecn, size=size, time_ns=milliseconds * MILLISECOND)


def _hand_cases() -> list[Case]:
    steady = [
        by_hand.step(0, ecn=True, time_ns=number * 1_250_000, idle_since_ns=number * 1_250_000)
        for number in range(200)
    ]
    last = 199 * 1_250_000
    return [
        Case(
            name="at the wanted load the virtual capacity stands still",
            about="1000 bytes every 1.25 ms are 0.8 of a million bytes per second. The first "
            "packet takes 0.15 x 1000 from 800150: V is 800000, and drains 1000 bytes from one "
            "packet to the next, which gain 0.15 (0.8 x 1250 - 1000) = 0. So 1000 bytes are in "
            "the virtual queue after each: there is room for 500 more, as 400 show, and not for "
            "600 after the next",
            parameters={
                "limit": 100.0,
                "target_utilization": 0.8,
                "initial_capacity": 0.80015,
                "virtual_buffer": 0.015,
            },
            link=LINK,
            by_hand=True,
            steps=without_figures(
                [
                    *steady,
                    by_hand.step(0, "mark", ecn=True, size=600, time_ns=last),
                    by_hand.step(0, ecn=True, size=400, time_ns=last),
                    by_hand.step(0, "mark", ecn=True, size=400, time_ns=last),
                ]
            ),
        ),
        Case(
            name="above the wanted load it falls until the virtual queue overflows",
            about="1000 bytes a millisecond, 0.8 of them wanted; damping 100, so that V (bytes "
            "per ms) goes from 900 to 800 with the first packet and loses 100 x 0.2 = 20 with "
            "each. The virtual queue, of 3000: 1000, 1200, 1420, 1660, 1920, 2200, 2500, 2820; at "
            "8 ms 2160 + 1000 is too much: a mark, V 640. At 9 ms 1520 + 1000, at 10 ms 1900 + "
            "1000. V is 600: at 11 ms 2300 + 1000: this one is dropped, so V gains 100 x 0.8 = 80. "
            "At 12 ms 1620 + 1000; V is 660. At 13 ms 1960 + 1000; V is 640. At 14 ms 2320 + 1000: "
            "a mark",
            parameters={
                "limit": 100.0,
                "target_utilization": 0.8,
                "initial_capacity": 0.9,
                "virtual_buffer": 0.03,
                "damping": 100.0,
            },
            link=LINK,
            by_hand=True,
            steps=without_figures(
                [
                    *(_at(number) for number in range(8)),
                    _at(8, "mark", ecn=True),
                    _at(9, ecn=True),
                    _at(10),
                    _at(11, "drop forced"),
                    _at(12),
                    _at(13, ecn=True),
                    _at(14, "mark", ecn=True),
                ]
            ),
        ),
        Case(
            name="a virtual capacity of 0 does not shut the link",
            about="Damping 1000: the first packet takes all of V (bytes per ms), which was 800, "
            "and fills the virtual queue, of 1000. At 1 ms nothing has drained: a drop, and V "
            "gains 1000 x 0.98 = 980. At 2 ms 20 are left: a drop, and V is held at 1000. At 3 ms "
            "none are left",
            parameters={"limit": 100.0, "virtual_buffer": 0.01, "damping": 1000.0},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=without_figures(
                [_at(0), _at(1, "drop forced"), _at(2, "drop forced"), _at(3)],
            ),
        ),
        Case(
            name="packets instead of bytes, no marks, a full buffer, another rate",
            about="V stays at a half: 500 packets per second. Three packets, of whatever size, "
            "fill the virtual queue; 2 ms later one more has room. The next would at 4 ms; at 3 "
            "ms half a packet is missing, which at half the rate takes until 5 ms. The buffer "
            "itself holds 3",
            parameters={
                "limit": 3.0,
                "damping": 0.0,
                "initial_capacity": 0.5,
                "byte_mode": False,
                "ecn": False,
            },
            link=LINK,
            by_hand=True,
            ties=True,
            steps=without_figures(
                [
                    _at(0, size=40),
                    _at(0, size=1500),
                    _at(0),
                    _at(0, "drop forced", ecn=True, size=40),
                    _at(1, "drop forced"),
                    _at(2),
                    _at(3, "drop forced"),
                    Settings(
                        {
                            "limit": 3.0,
                            "damping": 0.0,
                            "initial_capacity": 0.5,
                            "byte_mode": False,
                            "ecn": False,
                        },
                        Link(rate_bit_per_s=4e6, delay_s=0.01),
                    ),
                    _at(4, "drop forced"),
                    _at(5),
                    by_hand.step(3, "drop overflow", time_ns=100 * MILLISECOND),
                ]
            ),
        ),
    ]


def _simulated() -> list[Case]:
    lively: Parameters = {"damping": 20.0, "virtual_buffer": 0.1, "limit": 40.0}
    sizes: Program = [
        Stretch(1.5, 100, sizes=(40, 552, 1514)),
        Stretch(0.5, 30),
        Pause(50 * MILLISECOND),
        Stretch(2.0, 60),
    ]
    return [
        recorded(
            Avq,
            "half of the packets ECN-capable",
            "load rises and falls",
            lively,
            LINK,
            program=RISE_AND_FALL,
        ),
        recorded(
            Avq,
            "a small buffer",
            "three sizes and a pause, most packets ECN-capable, so that the buffer overflows",
            lively | {"limit": 10.0, "virtual_buffer": 0.5},
            LINK,
            program=[Stretch(2.5, 150, sizes=(40, 552, 1514), ecn_share=0.9), *sizes],
        ),
        recorded(
            Avq,
            "settings changed on the way",
            "packets without ECN, then bytes with, at another rate",
            lively | {"byte_mode": False, "ecn": False},
            LINK,
            program=[
                *sizes,
                Settings(
                    lively | {"target_utilization": 0.9, "mean_packet_size": 700.0},
                    Link(rate_bit_per_s=4e6, delay_s=0.01),
                ),
                *sizes,
            ],
        ),
    ]


def vectors() -> VectorFile:
    return VectorFile(
        discipline="avq",
        source="S. Kunniyur, R. Srikant, Analysis and Design of an Adaptive Virtual Queue (AVQ) "
        "Algorithm for Active Queue Management, SIGCOMM 2001; ns-2.35, queue/vq.cc",
        machine=Avq,
        cases=[*(verify(case, Avq) for case in _hand_cases()), *_simulated()],
    )
