"""Flows of one Linux host: their timers expire together."""

from __future__ import annotations

import numpy as np
import pytest

from vermilion import PacketTrace, parse_scenario, run

TICK_NS = 10_000_000

WALL = """
duration = "12 s"
[links.link]
rate = "10 Mbit/s"
delay = "0 ms"
[links.link.queue]
discipline = "drop-tail"
limit = "30 packets"
[flows.all]
count = 64
path = ["link"]
rtt = "28.4 ms"
start = "0 s .. 1 s"
[flows.all.sender]
congestion_control = "sack"
option_set = "linux"
timer_tick = "10 ms"
shared_clock = {shared}
"""


def sent_on_a_tick(shared: str) -> tuple[int, int]:
    """How many packets reached the queue on a tick of 10 ms, and most of them at once."""
    trace = PacketTrace(at="link")
    result = run(parse_scenario(WALL.format(shared=shared)), 1, instruments=[trace])
    assert result.packets is not None
    arrivals = result.packets.where(event="arrive", place="link")["time_ns"]
    on_tick = arrivals[arrivals % TICK_NS == 0]
    most = int(np.unique(on_tick, return_counts=True)[1].max(initial=0))
    return len(on_tick), most


@pytest.mark.parametrize(("shared", "together"), [("true", True), ("false", False)])
def test_timeouts_of_flows_that_share_a_clock_coincide(shared, together):
    on_tick, most = sent_on_a_tick(shared)
    assert (on_tick > 500) == together
    assert (most >= 4) == together


LOSSY = """
duration = "60 s"
[links.wire]
rate = "10 Gbit/s"
delay = "10 ms"
loss = { model = "bernoulli", probability = 0.05 }
queue = { discipline = "drop-tail", limit = "100000 packets" }
[flows.transfers]
count = 1000
path = ["wire"]
rtt = "20 ms"
start = "0 s .. 5 s"
sender = { congestion_control = "cubic", option_set = "linux" }
traffic = { kind = "transfer", size = "150 kB" }
"""


def test_what_receivers_report_together_is_complete():
    # What a forgotten block covers would be sent again in vain: 7 % more were, while more blocks
    # could wait than an acknowledgement has room for.
    result = run(parse_scenario(LOSSY), 1)
    lost = result.link("wire").total["losses"]
    again = result.flows("transfers").total["retransmissions"]
    assert lost > 4000
    assert again == pytest.approx(lost, rel=0.002)
