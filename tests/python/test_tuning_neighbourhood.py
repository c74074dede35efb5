"""Conditions around a scenario's: which there are, what differs in each, how they count."""

import pytest

from vermilion import load_scenario
from vermilion.scenario import parse_scenario
from vermilion.scenario.distributions import SizeDistribution, mean_of
from vermilion.scenario.variation import (
    is_same_network,
    with_flow_counts,
    with_round_trips,
    with_web_traffic,
)
from vermilion.tuning.neighbourhood import neighbours

MIX = """
duration = "10 s"
[links.bottleneck]
rate = "10 Mbit/s"
delay = "8 ms"
queue = { discipline = "red" }
[flows.bulk]
count = 5
path = ["bottleneck"]
rtt = "20 ms"
sender = { congestion_control = "sack", window_cap = "100 packets", ecn = true }
[flows.spread]
count = 1
path = ["bottleneck"]
rtt = "20 ms .. 60 ms"
sender = "dctcp"
[flows.web]
count = 2
path = ["bottleneck"]
rtt = ["20 ms", "30 ms"]
sender = "newreno"
traffic = { kind = "web", mean_gap = "100 ms", size = "12.5 kB" }
[flows.voice]
count = 3
path = ["bottleneck"]
traffic = { kind = "constant-rate", rate = "80 kbit/s" }
[tuning]
parameters = ["links.bottleneck.queue.weight"]
objective = { name = "queue-deviation", link = "bottleneck", target = "10 packets" }
"""
"""The web sources offer 2 x 12.5 kB x 8 / 0.1 s = 2 Mbit/s, a fifth of the link."""


@pytest.fixture
def mix():
    return parse_scenario(MIX)


def counts(scenario):
    return {name: group.count for name, group in scenario.flows.items()}


@pytest.mark.parametrize("name", ["varying-load", "varying-round-trip-time"])
def test_the_example_scenarios_have_the_whole_neighbourhood(name):
    around = neighbours(load_scenario(name))
    # They name one kind of sender, so that the others are excluded.
    assert [each.key for each in around] == [
        "flows-doubled",
        "trips-doubled",
        "flows-halved",
        "trips-halved",
        "web",
    ]
    assert around[0].label == "twice as many flows"
    assert len({each.label for each in around}) == len(around)


def test_a_neighbour_that_is_the_scenario_itself_is_left_out(mix):
    once = mix.with_values({"flows.bulk.count": 1, "flows.web.count": 1})
    assert "flows-halved" not in [each.key for each in neighbours(once)]


def test_senders_that_the_scenario_names_may_be_alone(mix):
    found = {each.key: each.scenario for each in neighbours(mix)}
    assert {"senders-sack", "senders-dctcp", "senders-newreno"} <= set(found)
    alone = found["senders-sack"]
    assert alone.flows["web"].sender == alone.flows["spread"].sender == mix.flows["bulk"].sender
    assert alone.flows["voice"].sender is None


def test_flows_with_a_sender_are_scaled_and_at_least_one_stays(mix):
    assert counts(with_flow_counts(mix, 2.0)) == {"bulk": 10, "spread": 2, "web": 4, "voice": 3}
    # Half of five is three, as half of it is rounded up.
    assert counts(with_flow_counts(mix, 0.5)) == {"bulk": 3, "spread": 1, "web": 1, "voice": 3}


def test_web_transfers_are_not_doubled_beyond_what_the_link_carries(mix):
    heavy = mix.with_values({"flows.web.traffic.mean_gap": 0.04})  # 5 Mbit/s; 10 would be all
    assert counts(with_flow_counts(heavy, 2.0)) == {"bulk": 10, "spread": 2, "web": 2, "voice": 3}
    assert counts(with_flow_counts(heavy, 0.5))["web"] == 1


def test_round_trips_are_scaled_in_every_form(mix):
    twice = with_round_trips(mix, 2.0)
    assert twice.flows["bulk"].rtt == pytest.approx(0.040)
    assert (twice.flows["spread"].rtt.min, twice.flows["spread"].rtt.max) == (
        pytest.approx(0.040),
        pytest.approx(0.120),
    )
    assert twice.flows["web"].rtt == pytest.approx((0.040, 0.060))
    assert twice.flows["voice"].rtt is None
    assert twice.links["bottleneck"].delay == 0.008


def test_links_delays_shrink_only_where_they_would_not_fit(mix):
    assert with_round_trips(mix, 0.5).links["bottleneck"].delay == 0.008  # into 10 ms
    quarter = with_round_trips(mix, 0.25)
    assert quarter.links["bottleneck"].delay == pytest.approx(0.002)
    assert quarter.flows["bulk"].rtt == pytest.approx(0.005)


def test_a_trip_that_is_all_links_can_be_halved_to_the_nanosecond():
    scenario = parse_scenario(
        """
        duration = "1 s"
        [links.a]
        rate = "1 Mbit/s"
        delay = "3 ns"
        queue = { discipline = "drop-tail" }
        [links.b]
        rate = "1 Mbit/s"
        delay = "5 ns"
        queue = { discipline = "drop-tail" }
        [flows.all]
        path = ["a", "b"]
        rtt = "8 ns"
        sender = "sack"
        """
    )
    half = with_round_trips(scenario, 0.5)
    assert half.flows["all"].rtt == pytest.approx(4e-9)
    # Rounded down, so that they fit: 1 + 2 ns.
    assert half.links["a"].delay == pytest.approx(1e-9)
    assert half.links["b"].delay == pytest.approx(2e-9)


def test_web_traffic_is_a_tenth_of_the_rate_beside_what_is_there(mix):
    scenario, [added] = with_web_traffic(mix, ["bottleneck"], 0.1)
    group = scenario.flows[added]
    # tcpeval's sizes have a mean of 13,482 bytes, which its scenarios state.
    assert mean_of(group.traffic.size) == pytest.approx(13_482, abs=1)
    assert group.traffic.mean_gap == pytest.approx(13_482 * 8 / 1e6, rel=1e-4)
    assert group.path == ("bottleneck",)
    assert group.rtt == mix.flows["bulk"].rtt
    assert group.sender == mix.flows["bulk"].sender
    assert {name: scenario.flows[name] for name in mix.flows} == mix.flows


def test_there_is_no_web_traffic_where_it_would_not_fit_or_nobody_sends(mix):
    full = mix.with_values({"flows.web.traffic.mean_gap": 0.024})  # 8.3 of 10 Mbit/s
    assert with_web_traffic(full, ["bottleneck"], 0.1)[1] == ()
    assert "web" not in [each.key for each in neighbours(full)]
    assert with_web_traffic(load_scenario("rfc7928-unresponsive"), ["bottleneck"], 0.1)[1] == ()


def test_two_spellings_of_one_network_are_the_same(mix):
    spelled = mix.with_values(
        {"flows.web.sender.ecn": False, "flows.bulk.sender.initial_window": 2}
    )
    assert is_same_network(mix, spelled)
    assert not is_same_network(mix, mix.with_values({"flows.web.sender.ecn": True}))


@pytest.mark.evidence
def test_more_flows_than_a_scenario_may_have_are_no_neighbour(mix):
    crowd = mix.with_values({"flows.bulk.count": 600_000})
    keys = [each.key for each in neighbours(crowd)]
    assert "flows-doubled" not in keys
    assert "flows-halved" in keys


@pytest.mark.parametrize(
    ("table", "mean"),
    [
        ({"distribution": "constant", "value": "10 kB"}, 10_000),
        ({"distribution": "exponential", "mean": "36.5 kB"}, 36_500),
        ({"distribution": "pareto", "mean": "30 kB", "shape": 1.5}, 30_000),
        # ln 10 / (1 - 1/10) x 1 kB.
        (
            {"distribution": "bounded-pareto", "minimum": "1 kB", "maximum": "10 kB", "shape": 1},
            2558.43,
        ),
        ({"distribution": "bounded-pareto", "minimum": "1 kB", "maximum": "1 kB", "shape": 2}, 1e3),
        # exp(0.5 x 2^2) times the median.
        ({"distribution": "lognormal", "median": "1 kB", "sigma": 2}, 7389.06),
        # Three of ten are 1 kB, the others 2 kB on average.
        ({"distribution": "empirical", "table": [["1 kB", 0.3], ["3 kB", 1]]}, 1700),
        # The mean of e^x over [0, ln 3] is 2 / ln 3.
        (
            {
                "distribution": "empirical",
                "table": [["1 kB", 0.3], ["3 kB", 1]],
                "interpolation": "logarithmic",
            },
            300 + 700 * 1.820478,
        ),
    ],
)
def test_the_mean_of_a_distribution(table, mean):
    distribution = SizeDistribution.model_validate(table)
    assert mean_of(distribution) == pytest.approx(mean, rel=1e-5)
