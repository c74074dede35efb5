"""CAKE in the scenario language: its rate, its hosts, its filter of acknowledgements."""

import pytest

import vermilion

HOME = """
title = "A home"
duration = "6 s"
warm_up = "2 s"
settle = "1 s"
[links.up]
rate = "1 Gbit/s"
delay = "0 ms"
queue = { discipline = "cake", bandwidth = "10 Mbit/s", isolation = "dual-srchost" }
[links.down]
rate = "1 Gbit/s"
delay = "0 ms"
queue = { discipline = "cake", bandwidth = "160 kbit/s" }
[flows.one]
path = ["up"]
rtt = "20 ms"
sender = { congestion_control = "cubic", option_set = "linux" }
source_host = "laptop"
[flows.four]
count = 4
path = ["up"]
rtt = "20 ms"
sender = { congestion_control = "cubic", option_set = "linux" }
source_host = "desktop"
"""


def goodput(result, name, phase=None):
    flows = result.flows(name)
    part = flows.total if phase is None else flows.phases[phase]
    return part["goodput_bit_per_s"]["total"] / 1e6


def test_hosts_have_equal_shares():
    result = vermilion.run(vermilion.parse_scenario(HOME))
    assert goodput(result, "one") == pytest.approx(goodput(result, "four"), rel=0.1)
    assert goodput(result, "one") + goodput(result, "four") == pytest.approx(9.7, rel=0.05)


def test_its_rate_may_change_while_it_runs():
    change = """
[[changes]]
at = "4 s"
link = "up"
queue = { bandwidth = "5 Mbit/s" }
"""
    result = vermilion.run(vermilion.parse_scenario(HOME + change))
    both = [sum(goodput(result, name, phase) for name in ("one", "four")) for phase in (0, 1)]
    assert both == pytest.approx([9.7, 4.85], rel=0.05)
    assert result.link("up").total["drops"] < 200


def test_needless_acknowledgements_make_room_for_data():
    text = HOME.replace('path = ["up"]', 'path = ["up"]\nreturn_path = ["down"]')
    kept = vermilion.run(vermilion.parse_scenario(text))
    filtered = '"160 kbit/s", ack_filter = "ack-filter" '
    fewer = vermilion.run(vermilion.parse_scenario(text.replace('"160 kbit/s" ', filtered)))
    totals = [goodput(each, "one") + goodput(each, "four") for each in (kept, fewer)]
    assert totals[1] >= totals[0]
    waits = [each.link("down").total["sojourn_ms"]["mean"] for each in (kept, fewer)]
    assert waits[1] < waits[0] / 2
    assert fewer.link("down").total["drops"] > kept.link("down").total["drops"]


def test_what_it_cannot_do_is_said():
    with pytest.raises(vermilion.ScenarioError, match="true, as no packet comes joined"):
        vermilion.run(
            vermilion.parse_scenario(HOME.replace("bandwidth", "split_gso = false, bandwidth"))
        )
