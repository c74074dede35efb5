"""Jitter, reordering and aggregation behind a link: laws of each."""

from __future__ import annotations

from typing import Any

import pytest

import vermilion
from own_classes import numbers


def poisson(air: str, rate: str = "1 Mbit/s") -> Any:
    """Packets of a Poisson process over 10 Mbit/s."""
    scenario = vermilion.parse_scenario(f"""
        duration = "100 s"
        [links.l]
        rate = "10 Mbit/s"
        delay = "5 ms"
        queue = {{ discipline = "drop-tail", limit = "1000 packets" }}
        {air}
        [flows.f]
        path = ["l"]
        rtt = "20 ms"
        traffic = {{ kind = "poisson", rate = "{rate}" }}
    """)
    result = vermilion.run(scenario, seed=1, flow_delays=True)
    measured = result.flows("f").total
    assert measured["packets_lost"] == 0
    assert 0 <= measured["packets_sent"] - measured["packets_delivered"] < 20
    assert result.link("l").total["arrivals"] == measured["packets_sent"]
    return measured["delay_ms"]


@pytest.fixture(scope="module")
def plain() -> Any:
    return poisson("")


def test_jitter_is_added_to_the_delay(plain):
    jittered = poisson('jitter = { distribution = "exponential", mean = "1 ms" }')
    # 8 ms apart on average few have to wait for the one before.
    assert jittered["mean"] - plain["mean"] == pytest.approx(1.0, rel=0.1)
    assert jittered["mean"] > plain["mean"]
    assert poisson('jitter = "1 ms"')["mean"] - plain["mean"] == pytest.approx(1.0, rel=1e-6)


def test_so_many_packets_are_slow(plain):
    slow = poisson('reordering = { probability = 0.1, delay = "6 ms" }')
    assert (slow["mean"] - plain["mean"]) / 6 == pytest.approx(0.1, rel=0.06)
    assert slow["max"] - plain["max"] == pytest.approx(6, abs=1.5)


def test_packets_wait_half_of_the_aggregation(plain):
    together = poisson('aggregation = "4 ms"')
    assert together["mean"] - plain["mean"] == pytest.approx(2.0, rel=0.03)


RACK = '"sack", recovery = "rack"'


def bulk(air: str, sender: str = '"newreno"') -> Any:
    """One flow whose window of 60 packets keeps the link busy; nothing is dropped."""
    scenario = vermilion.parse_scenario(f"""
        duration = "20 s"
        warm_up = "2 s"
        [links.l]
        rate = "10 Mbit/s"
        delay = "5 ms"
        queue = {{ discipline = "drop-tail", limit = "1000 packets" }}
        {air}
        [flows.f]
        path = ["l"]
        rtt = "40 ms"
        sender = {{ congestion_control = {sender}, window_cap = "60 packets" }}
    """)
    return vermilion.run(scenario, seed=1).flows("f").total


def goodput(measured: Any) -> float:
    return measured["goodput_bit_per_s"]["total"]


def test_three_duplicates_are_taken_for_a_loss_and_two_are_not():
    # 0.8 ms are between two packets: one is overtaken by one or two, or by seven.
    few = bulk('reordering = { probability = 0.02, delay = "1.5 ms" }')
    assert few["retransmissions"] == 0
    assert goodput(few) > 0.98 * goodput(bulk(""))
    many = bulk('reordering = { probability = 0.02, delay = "6 ms" }')
    assert many["retransmissions"] > 20
    assert goodput(many) < 0.5 * goodput(few)


def test_who_looks_at_times_waits_for_what_was_overtaken_once_it_has_seen_that():
    """RFC 8985, section 6.2: a quarter of the shortest round trip, here of 40 ms."""
    found = bulk('reordering = { probability = 0.02, delay = "6 ms" }', RACK)
    counts = bulk('reordering = { probability = 0.02, delay = "6 ms" }', '"sack"')
    assert found["retransmissions"] < 0.2 * counts["retransmissions"]
    assert goodput(found) > 0.85 * goodput(bulk(""))
    late = bulk('reordering = { probability = 0.02, delay = "40 ms" }', RACK)
    assert late["retransmissions"] > 20


@pytest.mark.parametrize(
    "air",
    ['jitter = { distribution = "lognormal", median = "2 ms", sigma = 1 }', 'aggregation = "4 ms"'],
)
def test_what_overtakes_nothing_is_no_loss(air):
    assert bulk(air)["retransmissions"] == 0


def test_draws_follow_from_the_seed_alone():
    def run(seed: int, discipline: str = "drop-tail") -> Any:
        scenario = vermilion.parse_scenario(f"""
            duration = "3 s"
            [links.l]
            rate = "10 Mbit/s"
            delay = "5 ms"
            queue = {{ discipline = "{discipline}" }}
            jitter = {{ distribution = "exponential", mean = "3 ms" }}
            reordering = {{ probability = 0.05, delay = "3 ms" }}
            loss = {{ model = "bernoulli", probability = 0.01 }}
            [flows.f]
            count = 3
            path = ["l"]
            rtt = "40 ms"
            access_rate = "50 Mbit/s"
            sender = {{ congestion_control = "cubic", delayed_acknowledgements = true }}
        """)
        whole = numbers(vermilion.run(scenario, seed=seed))
        kept = vermilion.Simulation(scenario, seed=seed).extend(1.2)
        kept.fork().extend(1)
        assert numbers(kept.extend(1.8).result())["flows"] == whole["flows"]
        return whole

    assert run(1) == run(1)
    assert run(1) != run(2)
    run(1, "fq-codel")


@pytest.mark.parametrize(
    ("air", "field"),
    [
        ("jitter = 3", "jitter"),
        ('reordering = { probability = 2, delay = "1 ms" }', r"reordering\.probability"),
        ("reordering = { probability = 0.5 }", r"reordering\.delay"),
        ('aggregation = "-1 ms"', "aggregation"),
    ],
)
def test_what_no_link_has_is_refused(air, field):
    with pytest.raises(vermilion.ScenarioError, match=rf"links\.l\.{field}"):
        poisson(air)
