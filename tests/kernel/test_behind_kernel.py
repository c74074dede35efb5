"""FQ-CoDel of the kernel before a modem with a long queue: where packets wait, here or behind."""

from __future__ import annotations

import pytest

from linux_guest import kernel_or_skip
from vermilion import parse_scenario
from vermilion.online import run_online
from vermilion_lab.kernel_plant import KernelPlant

HOME = """
duration = "25 s"
warm_up = "5 s"
[links.here]
rate = "14 Mbit/s"
delay = "1 ms"
queue = { discipline = "fq-codel" }
[links.modem]
rate = "10 Mbit/s"
delay = "5 ms"
queue = { discipline = "drop-tail", limit = "1000 packets" }
[flows.downloads]
count = 8
path = ["here", "modem"]
rtt = "28 ms"
start = "0 s .. 1 s"
sender = { congestion_control = "cubic" }
packet_size = "1500 bytes"
[tuning]
parameters = ["links.here.queue.target", "links.here.queue.interval"]
"""


@pytest.fixture(scope="module", autouse=True)
def _kernel():
    kernel_or_skip()


def decisions(rate):
    scenario = parse_scenario(HOME).with_values({"links.modem.rate": rate})
    return run_online(scenario, seed=1, clock="fixed", plant=KernelPlant("netlink")).decisions


def test_packets_wait_in_a_modem_that_is_slower_than_the_shaper():
    found = decisions("10 Mbit/s")
    [behind] = [each for each in found if each.kind == "behind"]
    assert behind.time_s < 30.0
    assert behind.details["waiting_behind_s"] > 0.1
    assert behind.details["waiting_here_s"] < 0.01
    # No setting of this queue would help, so none is looked for.
    assert not [each for each in found if each.kind == "tuned" and each.time_s > behind.time_s]


def test_packets_do_not_wait_in_a_modem_that_is_faster_than_the_shaper():
    found = decisions("20 Mbit/s")
    assert not [each for each in found if each.kind == "behind"]
    assert [each for each in found if each.kind in {"tuned", "kept"}]
