"""Lines whose service curve is worked out by hand, for laws that have to find their capacity.

What is let out is given, whatever the law asks for, so that the waits are known: a line of capacity
C to which so many bytes come by the time t has served them at the time that Reich's formula gives
(Network Calculus, Le Boudec and Thiran 2001, 1.1: the queue is the largest excess of what came over
what C would have served since), and a probe waits for the bytes before it. With demands that are
constant in pieces both are straight lines, and are computed here in whole numbers.

What is expected are bounds: constants of a law are its own, but a slope that was told without noise
is the capacity, waits are what was told, and nothing is known of a line that was never busy.
"""

from dataclasses import dataclass

MS, SECOND = 1_000_000, 1_000_000_000
BEGIN_MS, TRIP_MS = 1_000, 40


@dataclass
class Fluid:
    """Bytes that come and are served, by the millisecond.

    Args:
        capacity: bytes a millisecond; 0 between the times of ``silence``.
        demand: pieces of so many milliseconds and bytes a millisecond.
    """

    capacity: int
    demand: list[tuple[int, int]]
    silence: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        self.come, self.served = [0], [0]
        for span, bytes_ in self.demand:
            for _ in range(span):
                first, end = self.silence
                open_ = not first <= len(self.come) - 1 < end
                self.come.append(self.come[-1] + bytes_)
                can = self.served[-1] + (self.capacity if open_ else 0)
                self.served.append(min(self.come[-1], can))

    def through(self, at: int) -> int | None:
        """When what had come by a millisecond has been served; ``None``: not within the case."""
        return next(
            (n for n in range(at, len(self.served)) if self.served[n] >= self.come[at]), None
        )


def case(
    name: str,
    about: str,
    fluid: Fluid,
    expected: dict[int, dict[str, object]],
    *,
    direction: str = "up",
    own_wait_ms: int = 0,
    clocks_ms: int | None = None,
    begun_anew_ms: int | None = None,
) -> dict[str, object]:
    """Events of a probe each 50 ms and a question each 50 ms, with what is expected at some.

    Args:
        name: of the case.
        about: the calculation.
        fluid: the line.
        expected: by the millisecond of a question.
        direction: of the bytes; those from the line are counted as they come out of it.
        own_wait_ms: wait of each probe in one's own shaper, before it.
        clocks_ms: difference of two clocks; ``None``: round trips alone are told.
        begun_anew_ms: when the counter of bytes begins at 0 again.
    """
    counted = fluid.come if direction == "up" else fluid.served
    events: list[tuple[int, int, list[object]]] = []
    for at in range(0, len(counted) - 1, 50):
        bytes_ = counted[at]
        if begun_anew_ms is not None and at >= begun_anew_ms:
            bytes_ -= counted[begun_anew_ms]
        events.append((at, 2, ["rate", (BEGIN_MS + at) * MS, bytes_, expected.get(at, {})]))
        handed = (BEGIN_MS + at - own_wait_ms) * MS
        events.append((at, 0, ["sent", handed, bytes_]))
        through = fluid.through(at)
        if through is None or through + TRIP_MS >= len(counted):
            continue
        received = through + TRIP_MS
        one_way = None if clocks_ms is None else own_wait_ms + through - at + clocks_ms
        answer = ["answered", at // 50 % 6, handed, (BEGIN_MS + received) * MS]
        answer += [None if one_way is None else one_way * MS, own_wait_ms * MS]
        events.append((received, 1, answer))
    return {
        "name": name,
        "origin": "by hand",
        "about": about,
        "parameters": {} if direction == "up" else {"direction": direction},
        "events": [event for *_, event in sorted(events, key=lambda each: each[:2])],
    }


# 12 Mbit/s: idle, then 0.25 ms of wait more each ms, then less and more around 100 ms.
WAVES = [(2_000, 100), (400, 1_875), (200, 1_125), (200, 1_875), (200, 1_125), (200, 1_875)]
BUSY = {
    "capacity": [11.76e6, 12.24e6],
    "wait_behind": [0.0495, 0.1005],
    "waiting": "behind",
}

CASES = [
    case(
        "the slope is the capacity",
        "1500 bytes a ms are 12 Mbit/s. After 2 s of 100 bytes a ms come 1875, so that the wait "
        "grows by 0.25 ms a ms to 100 ms, and then falls to 50 ms and grows again. The line is "
        "busy all the time, so the slope between any two probes is 12 Mbit/s; within 2 % of it "
        "after 1 s",
        Fluid(1_500, WAVES),
        {3_000: BUSY, 3_150: BUSY},
    ),
    case(
        "the same from a line that brings packets",
        "Bytes are counted as they come out of the line: 1500 a ms while it is busy",
        Fluid(1_500, WAVES),
        {3_000: BUSY, 3_150: BUSY},
        direction="down",
    ),
    case(
        "two clocks that differ",
        "The delays of one direction by clocks of which one is three hours ahead: the difference "
        "is in all of them, and so in the least, above which waits are counted",
        Fluid(1_500, WAVES),
        {3_000: BUSY, 3_150: BUSY},
        clocks_ms=10_800_000,
    ),
    case(
        "a counter that begins anew",
        "At 2.7 s the bytes are counted from 0 again (an interface that came back): what came "
        "before is not asked for twice, and the slope is what it was 0.6 s later",
        Fluid(1_500, WAVES),
        {3_150: {"capacity": [11e6, 13e6]}},
        begun_anew_ms=2_700,
    ),
    case(
        "a wait in one's own shaper is not the line's",
        "Each probe waits 30 ms here and none on the line, of which an eighth is used",
        Fluid(1_500, [(3_000, 188)]),
        {
            2_500: {
                "capacity": None,
                "wait_here": 0.03,
                "wait_behind": [0.0, 0.0005],
                "waiting": "nowhere",
            }
        },
        own_wait_ms=30,
    ),
    case(
        "a line that was never busy",
        "800 kbit/s of 12 Mbit/s: no probe waits, so nothing but a lower bound is known, and what "
        "is sent is not held back",
        Fluid(1_500, [(4_000, 100)]),
        {3_500: {"capacity": None, "waiting": "nowhere", "rate": [800e3, 1e13]}},
    ),
    case(
        "an outage",
        "From 3.2 s on nothing comes through. Nothing but the silence tells: after a second of it "
        "less than a tenth of the capacity is let out",
        Fluid(1_500, [*WAVES, (2_000, 1_500)], silence=(3_200, 5_200)),
        {3_150: BUSY, 4_400: {"rate": [0.0, 1.2e6]}},
    ),
]

FILE = {
    "law": "service-curve",
    "source": "the service curve of a line as Network Calculus has it (Le Boudec and Thiran 2001)",
    "cases": CASES,
}
