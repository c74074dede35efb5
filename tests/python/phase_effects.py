"""Two flows whose round trips differ by fractions of a transmission time (Floyd and Jacobson 1992).

"On traffic phase effects in packet-switched gateways", Internetworking: Research and Experience
3(3). A setting like theirs: two Tahoe flows of 1000-byte packets and windows of at most 32 share a
link of 0.8 Mbit/s, where a packet takes 10 ms, and a drop-tail queue of 15; one round trip is
210 ms, the other is a little longer. Nothing is random but when the second flow begins.
"""

from __future__ import annotations

from statistics import fmean

import vermilion

ROUND_TRIP_MS = 210.0
DIFFERENCES_MS = [float(each) for each in range(51)]
SEEDS = range(1, 6)

DROP_TAIL = 'discipline = "drop-tail"\nlimit = "15 packets"'
RED = """
    discipline = "red"
    limit = "50 packets"
    min_threshold = "5 packets"
    max_threshold = "15 packets"
    max_probability = 0.05
    weight = 0.003
"""


def background(packet_size: str, distribution: str) -> str:
    """A tenth of the link for Poisson traffic of packets of this mean size."""
    return f"""
        [flows.background]
        path = ["bottleneck"]
        rtt = "210 ms"
        traffic = {{ kind = "poisson", rate = "80 kbit/s", packet_size = "{distribution}" }}
        packet_size = "{packet_size}"
    """


SMALL_AND_VARIED = background("200 bytes", "exponential")
FULL_AND_EQUAL = background("1000 bytes", "constant")


def scenario_text(longer_ms: float, queue: str, others: str = "") -> str:
    """Two flows, the second one's round trip ``longer_ms`` longer, and other traffic."""
    text = f"""
        duration = "400 s"
        warm_up = "100 s"
        [links.bottleneck]
        rate = "0.8 Mbit/s"
        delay = "100 ms"
        [links.bottleneck.queue]
        {queue}
        {others}
    """
    for name, longer, start in (("first", 0.0, "0 s"), ("second", longer_ms, "1 s .. 2 s")):
        text += f"""
            [flows.{name}]
            path = ["bottleneck"]
            rtt = "{ROUND_TRIP_MS + longer} ms"
            access_rate = "8 Mbit/s"
            sender = {{ congestion_control = "tahoe", window_cap = "32 packets" }}
            start = "{start}"
        """
    return text


def shares(queue: str, others: str = "") -> list[float]:
    """The first flow's share of the throughput at each difference of the round trips."""
    scenarios = [
        vermilion.parse_scenario(scenario_text(each, queue, others)) for each in DIFFERENCES_MS
    ]
    found = []
    for results in vermilion.run_many(scenarios, SEEDS):
        rates = [
            [result.flows(name).total["goodput_bit_per_s"]["total"] for name in ("first", "second")]
            for result in results
            if result is not None
        ]
        found.append(fmean(first / (first + second) for first, second in rates))
    return found
