"""What a queue does to flows that are there: on a Linux kernel, and in a model."""

from __future__ import annotations

from statistics import fmean

import pytest

from linux_guest import kernel_or_skip
from test_online_connected import CROWD, SLOPE, means, model
from vermilion import parse_scenario
from vermilion.simulate.result import Result
from vermilion_lab.kernel_plant.network import RunningNetwork

SCENARIO = """
duration = "30 s"
warm_up = "5 s"
settle = "7 s"
[links.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
[links.bottleneck.queue]
discipline = "linux-red"
limit = "100000 bytes"
min_threshold = "15000 bytes"
max_threshold = "98000 bytes"
max_probability = 0.1
weight_log = 2
[flows.all]
count = {flows}
path = ["bottleneck"]
rtt = "28 ms"
sender = {{ congestion_control = "sack", option_set = "linux", timer_tick = "10 ms", ecn = true }}
packet_size = "1000 bytes"
start = "0 s .. 1 s"
[[changes]]
at = "8 s"
link = "bottleneck"
[changes.queue]
min_threshold = "{min_threshold:.0f} bytes"
max_threshold = "{max_threshold:.0f} bytes"
max_probability = {max_probability}
weight_log = {weight_log}
"""
NEVER_FALL_BACK = "echo 0 > /proc/sys/net/ipv4/tcp_ecn_fallback"


@pytest.fixture(scope="module", autouse=True)
def _kernel():
    kernel_or_skip()


def on_the_kernel(setting):
    """Mean queue and starved flows where a setting replaces a slope under which all have come."""
    scenario = parse_scenario(SCENARIO.format(flows=CROWD.flows, **setting))
    rows = []
    for seed in range(1, 5):
        with RunningNetwork(scenario.core(), seed) as network:
            network.call("run", namespace="near", command=["sh", "-c", NEVER_FALL_BACK])
            network.advance(30_000_000_000)
            result = Result({"seed": seed, "version": "", **network.measured()}, {})
        queue = result.link("bottleneck").phases[-1]["queue_packets"]["mean"]
        rows.append((queue, result.flows("all").phases[-1]["starved"]))
    return tuple(fmean(column) for column in zip(*rows, strict=True))


def test_a_model_of_flows_that_are_there_is_near_the_kernel():
    """Of flows that shake hands under the setting, half of the queue would be left."""
    held, starved = on_the_kernel(SLOPE)
    # Two packets of each that does not starve, less what the round trip holds.
    assert held == pytest.approx(2 * (CROWD.flows - starved) - 35, abs=8.0)
    in_model, starved_in_model = means(model(SLOPE))
    assert in_model == pytest.approx(held, abs=12.0)
    assert starved_in_model == pytest.approx(starved, abs=8.0)
    come_anew, _ = means(model(SLOPE, anew=True))
    assert come_anew < 0.6 * held
