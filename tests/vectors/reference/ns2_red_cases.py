"""The cases of `ns2-red`; the machine and its rules are in `ns2_red`."""

from typing import ClassVar

from bottleneck import RISE_AND_FALL, Pause, Stretch, recorded
from by_hand import step, verify
from ns2_red import Ns2Red
from ns2_red_automatic import automatic_cases
from vector_file import Case, Link, Parameters, Settings, VectorFile, Within

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)
MILLISECOND = 1_000_000

# Weight 1: the average is the queue. At 8 packets p = 1/4, at 10 3/8.
QUARTER = {
    "weight": 1.0,
    "min_threshold": 4.0,
    "max_threshold": 12.0,
    "max_probability": 0.5,
    "mark_probability": 0.5,
    "gentle": False,
}


class Complete(Ns2Red):
    """With the parameter that the disciplines built on this machine have not."""

    DEFAULTS: ClassVar[Parameters] = {**Ns2Red.DEFAULTS, "drop": "tail"}


def _average_cases() -> list[Case]:
    published = {
        arrivals: Within(average, 0.0005)
        for arrivals, average in {10: 0.109, 20: 0.415, 50: 2.469, 100: 9.465}.items()
    }
    return [
        Case(
            name="the average while the queue grows by one packet an arrival",
            about="as for `red`: 0.109, 0.415, 2.469, 9.465 after 10, 20, 50, 100 arrivals",
            parameters={
                "weight": 0.002,
                "min_threshold": 50.0,
                "max_threshold": 150.0,
                "limit": 1000.0,
            },
            link=LINK,
            by_hand=True,
            steps=[step(queue, average=published.get(queue)) for queue in range(1, 101)],
        ),
        Case(
            name="idle time counts in whole packets, and the arrival itself once more",
            about="weight 1/2, packets of 1 ms. 8; idle for 3.5 ms: 3 packets and the arrival, 8 "
            "/ 16 = 0.5; empty but busy: one step, 0.25, however long empty; idle for 0.9 ms: one "
            "step, 0.125; then a queue of 1: 0.5625",
            parameters={"weight": 0.5},
            link=LINK,
            by_hand=True,
            steps=[
                step(16, average=8.0, probability=0.0),
                step(
                    0,
                    time_ns=10 * MILLISECOND,
                    empty_since_ns=5 * MILLISECOND,
                    idle_since_ns=6_500_000,
                    average=0.5,
                ),
                step(0, time_ns=20 * MILLISECOND, empty_since_ns=11 * MILLISECOND, average=0.25),
                step(
                    0,
                    time_ns=30 * MILLISECOND,
                    empty_since_ns=28 * MILLISECOND,
                    idle_since_ns=29_100_000,
                    average=0.125,
                ),
                step(1, time_ns=31 * MILLISECOND, average=0.5625, probability=0.0),
            ],
        ),
        Case(
            name="byte mode measures the queue in bytes",
            about="weight 1/2, mean size 500: 8000 bytes bring the average to 4000 bytes, 8 "
            "packets of the mean size; idle for 1.2 ms at 4 Mbit/s is one packet: 4000 / 4 = "
            "1000, so 2",
            parameters={"weight": 0.5, "byte_mode": True, "mean_packet_size": 500.0},
            link=Link(4e6, 0.01),
            by_hand=True,
            steps=[
                step(3, queue_bytes=8000, average=8.0),
                step(
                    0,
                    time_ns=9 * MILLISECOND,
                    empty_since_ns=7 * MILLISECOND,
                    idle_since_ns=7_800_000,
                    average=2.0,
                ),
            ],
        ),
    ]


def _range_cases() -> list[Case]:
    return [
        Case(
            name="the first packet in the range is not tested",
            about="p = 1/4, no wait: the first packet in the range passes without a coin and is "
            "the first of the count, so the second has 1/4 / (1 - 2/4) = 1/2, the third 1",
            parameters=QUARTER | {"wait": False},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(3, probability=0.0),
                step(8, average=8.0, probability=0.0),
                step(8, coins=[0.51], probability=0.25),
                step(8, "drop early", coins=[0.999999], probability=0.25),
                step(8, coins=[0.34], probability=0.25),
                step(8, "drop early", coins=[0.49]),
                step(3, probability=0.0),
                step(8, probability=0.0),
                step(8, "drop early", coins=[0.49], probability=0.25),
            ],
        ),
        Case(
            name="nothing is dropped early while fewer than two packets wait",
            about="weight 1/2. 8, in the range; 8 again, tested; 4.5, above the threshold but one "
            "packet waits: out of the range; 2.25, below; 8.125, in the range, not tested; tested",
            parameters=QUARTER | {"weight": 0.5, "wait": False},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(16, average=8.0, probability=0.0),
                step(8, "drop early", coins=[0.5], average=8.0, probability=0.25),
                step(1, average=4.5, probability=0.0),
                step(0, average=2.25, probability=0.0),
                step(14, average=8.125, probability=0.0),
                step(8, coins=[0.6], average=8.0625, probability=0.25390625),
            ],
        ),
        Case(
            name="exactly at the thresholds",
            about="at 4 the packet is in the range with p = 0: tested, not dropped; at 12, not "
            "gentle, p = 1. The first packet in the range passes even there",
            parameters=QUARTER | {"wait": False},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(4, probability=0.0),
                step(4, coins=[0.000001], probability=0.0),
                step(12, "drop forced", coins=[0.999999], probability=1.0),
                step(3, probability=0.0),
                step(12, probability=0.0),
                step(12, "drop forced", coins=[0.999999], probability=1.0),
            ],
        ),
        Case(
            name="wait: 1/p packets pass before the next drop can come",
            about="p = 1/4: the packets 1 to 3 of the count have chance 0, the 4th 1/4, the 5th "
            "1/3, the 6th 1/2, the 7th 1: uniform on 4..7. Above the maximum threshold every "
            "packet is dropped, wait or not",
            parameters=QUARTER,
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(8),
                step(8, coins=[0.000001], probability=0.25),
                step(8, coins=[0.000001]),
                step(8, coins=[0.26]),
                step(8, coins=[0.34]),
                step(8, coins=[0.51]),
                step(8, "drop early", coins=[0.999999]),
                step(8, coins=[0.000001]),
                step(8, coins=[0.000001]),
                step(8, coins=[0.000001]),
                step(8, "drop early", coins=[0.24]),
                step(13, "drop forced", coins=[0.999999], probability=1.0),
                step(13, "drop forced", coins=[0.999999]),
            ],
        ),
        Case(
            name="the gentle slope",
            about="thresholds 8 and 16, at most 1/4, no wait: at 16 1/4; at 24 5/8; at 31 61/64; "
            "at 32 and above 1. After a drop the next packet has p / (1 - p): 1/3 at 16, 1 at 24",
            parameters={
                "weight": 1.0,
                "min_threshold": 8.0,
                "max_threshold": 16.0,
                "max_probability": 0.25,
                "wait": False,
            },
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(16),
                step(16, "drop early", coins=[0.49], probability=0.25),
                step(16, coins=[0.34], probability=0.25),
                step(24, "drop early", coins=[0.999999], probability=0.625),
                step(24, "drop early", coins=[0.999999], probability=0.625),
                step(31, "drop early", coins=[0.999999], probability=0.953125),
                step(32, "drop forced", coins=[0.999999], probability=1.0),
                step(40, "drop forced", coins=[0.999999], probability=1.0),
            ],
        ),
        Case(
            name="wait on the gentle slope",
            about="p = 5/8 at 24: chance 0 for the first of the count, 5/8 / (2 - 10/8) = 5/6 for "
            "the second, 1 for the third",
            parameters={
                "weight": 1.0,
                "min_threshold": 8.0,
                "max_threshold": 16.0,
                "max_probability": 0.25,
            },
            link=LINK,
            by_hand=True,
            steps=[
                step(24),
                step(24, coins=[0.84], probability=0.625),
                step(24, "drop early", coins=[0.999999]),
                step(24, coins=[0.000001]),
                step(24, "drop early", coins=[0.83]),
            ],
        ),
    ]


def _mark_cases() -> list[Case]:
    return [
        Case(
            name="marks only while the probability is below mark_probability",
            about="mark_probability 1/4, no wait: 1/16 at 5 and 3/16 at 7 mark, 1/4 at 8 drops; "
            "what is not ECN-capable is dropped at all three; a full buffer (30) marks nothing",
            parameters=QUARTER | {"mark_probability": 0.25, "wait": False, "limit": 30.0},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(5, ecn=True),
                step(5, "mark", ecn=True, coins=[0.07], probability=0.0625),
                step(5, "drop early", coins=[0.06]),
                step(7, "mark", ecn=True, coins=[0.2], probability=0.1875),
                step(7, "drop early", coins=[0.2]),
                step(8, "drop early", ecn=True, coins=[0.3], probability=0.25),
                step(8, "drop early", coins=[0.3]),
                step(12, "drop forced", ecn=True, coins=[0.3], probability=1.0),
                step(30, "drop overflow", ecn=True, coins=[0.3]),
            ],
        ),
        Case(
            name="by default only probabilities below 0.1 mark",
            about="thresholds 4 and 12, at most 0.2: 0.1 is reached at 8; 7 (0.075) marks, 9 "
            "(0.125) drops",
            parameters={
                "weight": 1.0,
                "min_threshold": 4.0,
                "max_threshold": 12.0,
                "max_probability": 0.2,
                "wait": False,
            },
            link=LINK,
            by_hand=True,
            steps=[
                step(7, ecn=True),
                step(7, "mark", ecn=True, coins=[0.08], probability=0.075),
                step(9, "drop early", ecn=True, coins=[0.14], probability=0.125),
            ],
        ),
        Case(
            name="with mark_probability 1 a probability of 1 drops",
            about="no wait: 3/16 at 7 marks; at 12, above the maximum threshold, the probability "
            "is 1, which is not below 1",
            parameters=QUARTER | {"mark_probability": 1.0, "wait": False},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(7, ecn=True),
                step(7, "mark", ecn=True, coins=[0.1], probability=0.1875),
                step(12, "drop forced", ecn=True, coins=[0.3], probability=1.0),
                step(12, "drop forced", coins=[0.3], probability=1.0),
                step(7, "mark", ecn=True, coins=[0.1], probability=0.1875),
            ],
        ),
        Case(
            name="with ECN off everything is dropped",
            about="ecn off, mark_probability 1",
            parameters=QUARTER | {"ecn": False, "mark_probability": 1.0, "wait": False},
            link=LINK,
            by_hand=True,
            steps=[step(8, ecn=True), step(8, "drop early", ecn=True, coins=[0.3])],
        ),
    ]


def _byte_cases() -> list[Case]:
    return [
        Case(
            name="byte mode: the count is bytes over the mean size, rounded down",
            about="mean size 1000, p = 1/4, no wait. Counted: 500 (not tested); 1200, so 1 and "
            "1/3 x 0.7 = 0.2333; 1900, still 1; 2000, so 2 and 1/2 x 0.1 = 0.05; 2960, still 2, "
            "0.48; 3000, so 3 and 1, which a small size does not lessen",
            parameters=QUARTER | {"byte_mode": True, "wait": False},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(9, size=500, queue_bytes=8000, average=8.0, probability=0.0),
                step(9, size=700, queue_bytes=8000, coins=[0.234], probability=0.25),
                step(9, size=700, queue_bytes=8000, coins=[0.234]),
                step(9, size=100, queue_bytes=8000, coins=[0.051]),
                step(9, size=960, queue_bytes=8000, coins=[0.481]),
                step(9, "drop early", size=40, queue_bytes=8000, coins=[0.999999]),
                step(9, "drop early", size=1500, queue_bytes=8000, coins=[0.499]),
                step(9, size=700, queue_bytes=8000, coins=[0.176]),
                step(9, "drop early", size=700, queue_bytes=8000, coins=[0.23]),
            ],
        ),
        Case(
            name="byte mode with wait",
            about="mean size 1000, p = 1/4: chance 0 until 4000 bytes are counted, then 1/4 x 1.5",
            parameters=QUARTER | {"byte_mode": True},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(6, size=1500, queue_bytes=8000),
                step(6, size=1500, queue_bytes=8000, coins=[0.000001], probability=0.25),
                step(6, size=999, queue_bytes=8000, coins=[0.000001]),
                step(6, "drop early", size=1500, queue_bytes=8000, coins=[0.374]),
            ],
        ),
        Case(
            name="byte mode: one large packet is queue enough, and a count of 0 holds even p = 1 "
            "back",
            about="a single packet of 8000 bytes waits: more than one byte, so the range is "
            "entered. At 13000 bytes p = 1; with wait the first 40 bytes after a drop are less "
            "than one packet: c p = 0, chance 0; when 1000 bytes are counted the chance is 1",
            parameters=QUARTER | {"byte_mode": True},
            link=LINK,
            by_hand=True,
            ties=True,
            steps=[
                step(1, size=1000, queue_bytes=8000, probability=0.0),
                step(1, queue_bytes=13_000, size=1500, coins=[0.999999], verdict="drop forced"),
                step(1, queue_bytes=13_000, size=40, coins=[0.000001], probability=1.0),
                step(1, "drop forced", queue_bytes=13_000, size=960, coins=[0.999999]),
            ],
        ),
        Case(
            name="byte mode: the limit is in bytes",
            about="limit 10, mean size 1000: 9999 bytes in 50 packets leave room for 1500 more, "
            "10000 bytes in 5 packets do not",
            parameters={"byte_mode": True, "limit": 10.0, "weight": 0.001},
            link=LINK,
            by_hand=True,
            steps=[
                step(50, size=1500, queue_bytes=9999, average=0.009999),
                step(5, "drop overflow", size=40, queue_bytes=10_000),
                step(5, "drop overflow", size=40, queue_bytes=10_000, ecn=True),
            ],
        ),
    ]


def _buffer_cases() -> list[Case]:
    return [
        Case(
            name="an overflow starts the count anew and undoes a mark",
            about="p = 1/8 at 8 packets, 3/16 at the limit of 10, no wait: a packet chosen for a "
            "mark (3/16 / (1 - 6/16) = 0.3) overflows; the next has 1/8 / (1 - 1/8) = 1/7. One "
            "not chosen overflows; the next has 1/7 again, and the one after it 1/6",
            parameters=QUARTER | {"max_probability": 0.25, "wait": False, "limit": 10.0},
            link=LINK,
            by_hand=True,
            steps=[
                step(8),
                step(10, "drop overflow", ecn=True, coins=[0.1], probability=0.1875),
                step(8, coins=[0.143], probability=0.125),
                step(10, "drop overflow", coins=[0.31], probability=0.1875),
                step(8, coins=[0.16]),
                step(8, "drop early", coins=[0.16]),
            ],
        ),
        Case(
            name="new settings keep the average, the count and the range",
            about="weight 1/2, no wait: 8, in the range; p = 1/4, second of the count, 1/2. Then "
            "at most 1/4, so p = 1/8, third of the count: 1/8 / (1 - 3/8) = 1/5. At twice the "
            "rate 1.2 ms idle are 2 packets: with the arrival 8 / 8 = 1",
            parameters=QUARTER | {"weight": 0.5, "wait": False},
            link=LINK,
            by_hand=True,
            steps=[
                step(16, average=8.0),
                step(8, coins=[0.6], average=8.0, probability=0.25),
                Settings(
                    QUARTER | {"weight": 0.5, "wait": False, "max_probability": 0.25},
                    Link(rate_bit_per_s=16e6, delay_s=0.01),
                ),
                step(8, "drop early", coins=[0.19], average=8.0, probability=0.125),
                step(
                    0,
                    time_ns=3 * MILLISECOND,
                    empty_since_ns=MILLISECOND,
                    idle_since_ns=1_800_000,
                    average=1.0,
                    probability=0.0,
                ),
            ],
        ),
    ]


def _simulated() -> list[Case]:
    sizes = (40, 552, 1500)
    victims = [
        recorded(
            Complete,
            f"a small buffer, {drop} drop",
            "a slow average, so that the buffer overflows before anything is dropped early",
            {"weight": 0.01, "limit": 12.0, "min_threshold": 2.0, "wait": False, "drop": drop},
            LINK,
            program=RISE_AND_FALL,
        )
        for drop in ("front", "random")
    ]
    return [
        *victims,
        recorded(
            Complete,
            "gentle with wait, a quick average",
            "load rises and falls; the range is left and entered again",
            {"weight": 0.08, "max_probability": 0.2, "mark_probability": 0.15},
            LINK,
            program=RISE_AND_FALL,
        ),
        recorded(
            Complete,
            "neither gentle nor wait",
            "as ns-2 before 2001; thresholds given",
            {
                "weight": 0.08,
                "min_threshold": 3.0,
                "max_threshold": 9.0,
                "gentle": False,
                "wait": False,
            },
            LINK,
            program=RISE_AND_FALL,
        ),
        recorded(
            Complete,
            "byte mode, three sizes, no wait",
            "packets of 40, 552 and 1500 bytes, the mean size 500, limit 25 of them",
            {
                "weight": 0.06,
                "byte_mode": True,
                "mean_packet_size": 500.0,
                "limit": 25.0,
                "wait": False,
                "mark_probability": 0.3,
            },
            Link(rate_bit_per_s=1.5e6, delay_s=0.05),
            program=[
                Stretch(1.0, 20, sizes=sizes),
                Stretch(3.0, 70, sizes=sizes),
                Pause(30 * MILLISECOND),
                Stretch(0.4, 20, sizes=sizes),
                Stretch(1.3, 40, sizes=sizes),
            ],
        ),
        recorded(
            Complete,
            "byte mode with wait and everything else automatic",
            "the defaults of ns-2.35, at 1 Mbit/s with an ample delay; a slow average",
            {
                "byte_mode": True,
                "mean_packet_size": 500.0,
                "ecn": False,
                "limit": 50.0,
                "automatic_weight": "tenth-second",
            },
            Link(rate_bit_per_s=1e6, delay_s=0.1),
            program=[
                Stretch(2.5, 90, sizes=(500, 1000)),
                Pause(40 * MILLISECOND),
                Stretch(1.2, 60, sizes=(500, 1000)),
            ],
        ),
        recorded(
            Complete,
            "settings and rate changed on the way",
            "automatic values follow the link; the average, the count and the range stay",
            {"weight": 0.1, "max_probability": 0.3},
            LINK,
            program=[
                Stretch(2.0, 40),
                Settings({"weight": 0.05, "gentle": False, "wait": False}, LINK),
                Stretch(1.5, 40),
                Settings({"automatic_weight": "tenth-second"}, Link(2e6, 0.01)),
                Stretch(0.3, 30),
                Stretch(2.0, 40),
            ],
        ),
    ]


def _victim_cases() -> list[Case]:
    about_settings = {**QUARTER, "min_threshold": 50.0, "max_threshold": 150.0, "limit": 4.0}
    return [
        Case(
            name="a full buffer drops the second packet",
            about="drop front: place 1 of the four that wait; of one that waits, limit 1, place 1 "
            "is the packet that arrives",
            parameters={**about_settings, "drop": "front"},
            link=LINK,
            by_hand=True,
            steps=[
                step(3),
                step(4, "make-room 1 overflow"),
                step(3),
                Settings({**about_settings, "drop": "front", "limit": 1.0}, LINK),
                step(1, "drop overflow"),
            ],
        ),
        Case(
            name="a full buffer drops any packet",
            about="of 5 packets a coin of 0.5 takes place 2, and 0.875 the one that arrives",
            parameters={**about_settings, "drop": "random"},
            link=LINK,
            by_hand=True,
            steps=[
                step(4, "make-room 2 overflow", coins=[0.5]),
                step(3),
                step(4, "drop overflow", coins=[0.875]),
            ],
        ),
        Case(
            name="a mark stays where another packet goes",
            about="as in the case of the undone mark: p = 3/8, packets spaced; 10 wait, which is "
            "the limit, and the packet that is chosen joins with its mark",
            parameters={**QUARTER, "limit": 10.0, "wait": False, "drop": "front"},
            link=LINK,
            by_hand=True,
            steps=[
                step(8),
                step(10, "make-room 1 overflow", ecn=True, coins=[0.1]),
                step(9, "mark", ecn=True),
            ],
        ),
    ]


def vectors() -> VectorFile:
    hand = [
        *automatic_cases(),
        *_average_cases(),
        *_range_cases(),
        *_mark_cases(),
        *_byte_cases(),
        *_buffer_cases(),
        *_victim_cases(),
    ]
    return VectorFile(
        discipline="ns2-red",
        source="ns-2.35, queue/red.cc and tcl/lib/ns-default.tcl",
        machine=Complete,
        cases=[*(verify(case, Complete) for case in hand), *_simulated()],
    )
