"""The distribution of waiting times: the whole of it, and only for those who ask."""

import math

import pytest

from vermilion.scenario import load_scenario, parse_scenario
from vermilion.simulate import run, run_many

SHORT = ("duration=8 s", "warm_up=2 s", "settle=2 s", "flows.late.start=4 s .. 4.5 s")

# Packets of 1000 bytes at random moments, 1 ms each to send, the link half busy: M/D/1.
POISSON = """
title = "M/D/1"
duration = "600 s"
warm_up = "1 s"
[links.bottleneck]
rate = "8 Mbit/s"
delay = "1 ms"
[links.bottleneck.queue]
discipline = "drop-tail"
limit = "10000 packets"
[flows.cross]
path = ["bottleneck"]
packet_size = "1000 bytes"
traffic = { kind = "poisson", rate = "4 Mbit/s" }
"""


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("varying-load", SHORT)


def test_ordinary_results_do_without(scenario):
    assert "sojourn_distribution_ms" not in run(scenario).link("bottleneck").total
    [[result]] = run_many([scenario], [1])
    assert "sojourn_distribution_ms" not in result.link("bottleneck").total


def test_asking_for_it_adds_one_key_and_changes_nothing(scenario):
    plain, full = run(scenario), run(scenario, distributions=True)
    [[many]] = run_many([scenario], [1], distributions=True)
    stepped = run(scenario, distributions=True, progress=lambda _: None)
    assert many.data["links"] == stepped.data["links"] == full.data["links"]
    for before, after in zip(
        (plain.link("bottleneck").total, *plain.link("bottleneck").phases),
        (full.link("bottleneck").total, *full.link("bottleneck").phases),
        strict=True,
    ):
        assert set(after) - set(before) == {"sojourn_distribution_ms"}
        assert {key: after[key] for key in before} == before


def test_it_ascends_from_the_minimum_to_the_maximum_and_meets_the_percentiles(scenario):
    total = run(scenario, distributions=True).link("bottleneck").total
    distribution = total["sojourn_distribution_ms"]
    percent, value = distribution["percent"], distribution["value"]
    assert percent[0] == 0
    assert percent[-1] == 100
    assert percent == sorted(percent)
    assert value == sorted(value)
    quantiles = dict(zip(percent, value, strict=True))
    for key, percentage in (("p5", 5), ("p50", 50), ("p95", 95), ("p99", 99), ("max", 100)):
        assert quantiles[percentage] == pytest.approx(total["sojourn_ms"][key], rel=1e-9)


def test_a_link_nobody_used_has_none(scenario):
    idle = load_scenario("varying-load", [*SHORT, "flows.early.start=7.9 s", "flows.early.count=1"])
    first = run(idle, distributions=True).link("bottleneck").phases[0]
    assert first["packets_forwarded"] == 0
    assert "sojourn_distribution_ms" not in first
    assert scenario is not idle


def test_packets_at_random_moments_wait_as_queueing_theory_says():
    # Below one service time D the waiting time W of M/D/1 has P(W <= t) = (1 - r) exp(r t / D)
    # (Erlang 1909), so with r = 1/2 its quantile of q >= 1/2 is 2 D ln(2 q).
    total = run(parse_scenario(POISSON), distributions=True).link("bottleneck").total
    distribution = total["sojourn_distribution_ms"]
    quantiles = dict(zip(distribution["percent"], distribution["value"], strict=True))
    assert quantiles[49] == 0.0
    for percentage in (55, 60, 65, 70, 75, 80):
        expected = 2 * math.log(2 * percentage / 100)
        assert quantiles[percentage] == pytest.approx(expected, abs=0.025)
