"""The monitor beside a queue of the kernel: round trips, flows and what they send, as they are.

``benches/kernel_monitor.py`` has more networks, and the figures of the docs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benches"))

from kernel_monitor import CASES, measure

from linux_guest import kernel_or_skip
from vermilion import parse_scenario
from vermilion_lab.kernel_plant import KernelPlant


@pytest.fixture(scope="module", autouse=True)
def _kernel():
    kernel_or_skip()


@pytest.mark.parametrize(
    ("name", "moving_at_least"),
    [
        ("RED, 4 Reno, 20, 40, 80 and 160 ms", 4),
        ("pfifo, 16 CUBIC, 28 ms", 16),
        ("RED, 16 Reno, 28 ms", 16),
        ("FQ-CoDel, 16 CUBIC, 28 ms", 16),
        # They pace, and what they wait for their turn is no part of a round trip.
        ("RED, 4 BBR, 28 ms", 4),
        ("RED, 16 BBR, 28 ms", 14),
        # Of the others each waits for its timer all the time: with 24 seeds, 54 to 64 do not.
        ("pfifo, 64 Reno, 28 ms", 48),
    ],
)
def test_round_trips_are_those_of_ss_and_every_flow_is_counted(name, moving_at_least):
    found = measure(CASES[name])
    assert moving_at_least <= found["flows"] <= CASES[name].flows
    assert found["flows"] == found["moving"]  # whoever moved anything has been timed
    assert found["monitor_ms"] == pytest.approx(found["kernel_ms"], rel=0.03)
    assert found["within"] >= 0.9 * found["flows"]
    assert found["counted"] == found["moments"]


TWO_LINKS = """
duration = "5 s"
warm_up = "0 s"
[links.first]
rate = "4 Mbit/s"
delay = "5 ms"
queue = { discipline = "pie" }
[links.second]
rate = "3 Mbit/s"
delay = "5 ms"
queue = { discipline = "pie" }
[flows.through]
count = 2
path = ["first", "second"]
rtt = "40 ms"
sender = "reno"
packet_size = "1000 bytes"
[flows.one]
count = 3
path = ["first"]
rtt = "20 ms"
sender = "reno"
packet_size = "1000 bytes"
[flows.calls]
path = ["second"]
rtt = "20 ms"
packet_size = "500 bytes"
traffic = { kind = "constant-rate", rate = "400 kbit/s" }
"""
LINKS = ("first", "second")


@pytest.mark.parametrize("management", ["netlink", "snmp"])
def test_what_each_flow_sends_through_each_of_several_queues(management):
    if management == "snmp":
        from snmpd_process import program_or_skip

        program_or_skip("snmpd", "snmpd")
    sent = {link: {} for link in LINKS}
    responsive, selective = {}, set()
    with KernelPlant(management).under_control(
        parse_scenario(TWO_LINKS), LINKS, 1, "full"
    ) as network:
        router = network.router
        before = router.observe()
        for second in range(1, 6):
            router.wait(float(second))
            seen = router.observe()
            for link in LINKS:
                traffic = seen.queues[link].traffic
                for flow, size in zip(traffic.flows.tolist(), traffic.bytes.tolist(), strict=True):
                    sent[link][flow] = sent[link].get(flow, 0) + size
                selective.update(traffic.flows[traffic.selective].tolist())
                responsive |= dict(
                    zip(traffic.flows.tolist(), traffic.responsive.tolist(), strict=True)
                )
        router.apply({"first.target": 0.02, "second.target": 0.03})
        in_force = router.parameters()
        result = network.result(1.0)
    assert (in_force["first.target"], in_force["second.target"]) == (0.02, 0.03)
    assert seen.queues["first"].active_flows == 5
    assert seen.queues["second"].active_flows == 3
    through = set(sent["first"]) & set(sent["second"])
    assert len(through) == 2
    assert len(sent["first"]) == 5
    assert len(sent["second"]) == 3
    [calls] = set(sent["second"]) - through
    assert {flow for flow, slows_down in responsive.items() if not slows_down} == {calls}
    # Their handshakes say so.
    assert selective == set(responsive) - {calls}
    for link in LINKS:
        last, first = seen.queues[link].reading, before.queues[link].reading
        packets = last.forwarded_packets - first.forwarded_packets
        # The queue counts Ethernet's header, the monitor does not; a block of its ring is 20 ms.
        counted = last.forwarded_bytes - first.forwarded_bytes - 14 * packets
        assert sum(sent[link].values()) == pytest.approx(counted, rel=0.01)
    # Nobody receives in order more than has left the last queue; what is behind a hole waits.
    arrived = sorted(flow["goodput_bit_per_s"] for flow in result.flows("through").total["each"])
    left = sorted(8 * sent["second"][flow] / 5 for flow in through)
    assert all(one < 1.05 * other for one, other in zip(arrived, left, strict=True))
    assert sum(arrived) > 0.5 * sum(left)
