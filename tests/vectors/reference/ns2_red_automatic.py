"""Cases by hand for what `ns2-red` derives from the link: weight and thresholds."""

from by_hand import step
from vector_file import Case, Link, Within

# A packet of 1000 bytes takes a millisecond.
LINK = Link(rate_bit_per_s=8e6, delay_s=0.01)


def _one_step(name: str, about: str, link: Link, weight: Within, **parameters: float | str) -> Case:
    thousand = Within(1000 * weight.value, 1000 * weight.within)
    return Case(
        name=f"automatic weight: {name}",
        about=f"{about}; from 0, one arrival that meets 1000 packets brings the average to 1000 "
        "times the weight",
        parameters=parameters | {"min_threshold": 500.0, "max_threshold": 900.0, "limit": 1e6},
        link=link,
        by_hand=True,
        steps=[step(1000, average=thousand)],
    )


def automatic_cases() -> list[Case]:
    half = {"mean_packet_size": 500.0}
    return [
        _one_step(
            "2 Mbit/s and 500 bytes",
            "1 - exp(-1 / 500)",
            Link(2e6, 0.01),
            Within(0.0019980, 5e-8),
            **half,
        ),
        _one_step(
            "10 Mbit/s and 1000 bytes",
            "1 - exp(-1 / 1250)",
            Link(10e6, 0.01),
            Within(0.00079968, 5e-9),
        ),
        _one_step(
            "45 Mbit/s and 1000 bytes",
            "1 - exp(-1 / 5625)",
            Link(45e6, 0.01),
            Within(1.77762e-4, 5e-10),
        ),
        _one_step(
            "100 Mbit/s and 500 bytes",
            "1 - exp(-1 / 25000)",
            Link(100e6, 0.01),
            Within(3.99992e-5, 5e-11),
            **half,
        ),
        _one_step(
            "a long link",
            "45 Mbit/s and 0.1 s: a round trip of 3 (0.1 + 1 / 5625) s, so 1 - exp(-1 / 16905)",
            Link(45e6, 0.1),
            Within(5.915235e-5, 5e-11),
        ),
        _one_step(
            "a second, at 10 Mbit/s with a long delay",
            "1 - exp(-1 / 1250)",
            Link(10e6, 0.5),
            Within(0.00079968, 5e-9),
            automatic_weight="second",
        ),
        _one_step(
            "a tenth of a second, at 10 Mbit/s",
            "1 - exp(-1 / 125)",
            Link(10e6, 0.01),
            Within(0.0079681, 5e-8),
            automatic_weight="tenth-second",
        ),
        Case(
            name="automatic thresholds: never below 5 packets",
            about="10 Mbit/s, 1000 bytes: 5 ms are 6.25 packets, half of that is below 5: "
            "thresholds 5 and 15; half way between them the probability is half of 0.1",
            parameters={"weight": 1.0},
            link=Link(10e6, 0.01),
            by_hand=True,
            ties=True,
            steps=[
                step(4, average=4.0, probability=0.0),
                step(5, probability=0.0),
                step(10, coins=[0.5], average=10.0, probability=0.05),
            ],
        ),
        Case(
            name="automatic thresholds: half the target delay",
            about="45 Mbit/s, 1000 bytes: 14.0625 and 42.1875 packets; at 28 0.1 x 13.9375 / "
            "28.125; at 43 the gentle line 0.9 x 43 / 42.1875 - 0.8",
            parameters={"weight": 1.0},
            link=Link(45e6, 0.01),
            by_hand=True,
            steps=[
                step(14, probability=0.0),
                step(28, probability=0.0),
                step(28, coins=[0.5], probability=0.04955555555555556),
                step(43, coins=[0.5], probability=0.11733333333333333),
            ],
        ),
        Case(
            name="automatic thresholds: fast link, small packets",
            about="100 Mbit/s, 500 bytes: 62.5 and 187.5 packets, 125 is half way",
            parameters=half | {"weight": 1.0, "limit": 1000.0},
            link=Link(100e6, 0.01),
            by_hand=True,
            steps=[step(62, probability=0.0), step(125), step(125, coins=[0.5], probability=0.05)],
        ),
        Case(
            name="automatic thresholds: a target delay of 20 ms",
            about="10 Mbit/s, 1000 bytes: 12.5 and 37.5 packets, 25 is half way",
            parameters={"weight": 1.0, "target_delay": 0.02},
            link=Link(10e6, 0.01),
            by_hand=True,
            steps=[step(12, probability=0.0), step(25), step(25, coins=[0.5], probability=0.05)],
        ),
        Case(
            name="automatic maximum threshold beside a given minimum",
            about="4 and therefore 12: 8 is half way",
            parameters={"weight": 1.0, "min_threshold": 4.0},
            link=LINK,
            by_hand=True,
            steps=[step(3, probability=0.0), step(8), step(8, coins=[0.5], probability=0.05)],
        ),
    ]
