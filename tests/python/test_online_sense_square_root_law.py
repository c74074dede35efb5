"""Flows and round trips from counters alone, by the square root law."""

import math

import pytest

from vermilion.online.sense import queue_senses
from vermilion.online.sense.queue_senses import (
    USUAL_ROUND_TRIP,
    RoundTripPrior,
    Signals,
    flows_by_law,
    from_counters,
    from_flow_count,
    round_trip_by_law,
    window,
)
from vermilion.online.sense.sampler import Sample
from vermilion.online.sense.senses import Senses
from vermilion.routers.simulated import SimulatedRouter
from vermilion.scenario import scenario_from_document


def sample(time_s, packets=125, drops=0, marks=0):
    return Sample(
        time_s=time_s,
        interval_s=0.1,
        backlog_before_packets=30,
        backlog_packets=30,
        backlog_bytes=30_000,
        packets=packets,
        bytes=1000 * packets,
        drops=drops,
        marks=marks,
        active_flows=None,
        heard_flows=None,
        rtt_samples=None,
        mean_rtt_s=None,
    )


def signals(share, packets=100_000):
    lost = round(share * packets)
    return Signals(80.0, packets - lost, 1000 * (packets - lost), lost, packets)


# --- the law -------------------------------------------------------------------------------


def test_the_window_is_that_of_mathis_and_others():
    """At 1 % of losses sqrt(1.5 / 0.01) = 12.2 packets; at 0.01 %, 122."""
    assert window(0.01) == pytest.approx(12.247, abs=0.001)
    assert window(0.0001) == pytest.approx(122.47, abs=0.01)


def test_a_window_is_a_packet_at_least():
    assert window(1.0) == pytest.approx(math.sqrt(1.5))
    assert window(2.0) == 1.0


def test_flows_by_hand():
    """10 Mbit/s for 100 ms are 125 packets of 1000 bytes: ten windows of 12.2."""
    assert flows_by_law(10e6, 0.1, 1000.0, 0.01) == pytest.approx(10.206, abs=0.001)


def test_the_law_turned_round_is_the_law():
    trip_s = round_trip_by_law(10e6, 16, 1000.0, 0.01)
    assert flows_by_law(10e6, trip_s, 1000.0, 0.01) == pytest.approx(16.0)


def test_there_is_a_flow_at_least_where_packets_pass():
    assert flows_by_law(1e3, 0.001, 1500.0, 1e-6) == 1.0


# --- what was signalled --------------------------------------------------------------------


def test_the_latest_signals_are_taken_where_there_are_enough():
    samples = [sample(0.1 * n, drops=10 if n <= 300 else 1) for n in range(1, 601)]
    latest = Signals.latest(samples)
    assert latest.seconds == pytest.approx(5.0)
    assert latest.signals == 50
    assert latest.share == pytest.approx(1 / 126)


def test_few_signals_are_looked_for_further_back():
    samples = [sample(0.1 * n, marks=1 if n % 20 == 0 else 0) for n in range(1, 1201)]
    latest = Signals.latest(samples)
    assert latest.seconds == pytest.approx(60.0)
    assert latest.signals == 30


def test_no_signal_at_all_is_less_than_one_and_not_none():
    assert Signals.latest([sample(0.1 * n) for n in range(1, 101)]).share == 0.5 / 12_500
    assert Signals.latest([]).bit_per_s == 0.0


# --- doubt ---------------------------------------------------------------------------------


def test_doubt_grows_where_cubic_differs():
    """At 1 in 100,000 and 100 ms CUBIC's window is 1.054 * 10^3 = 1054, the law's 387."""
    rare, usual = signals(1e-5, 10_000_000), signals(1e-2, 10_000_000)
    assert rare.doubt(0.1) > 0.5 * math.log(1054 / 387)
    assert usual.doubt(0.1) < rare.doubt(0.1)


def test_doubt_grows_where_timeouts_tell():
    assert signals(0.15).doubt(0.1) > 2.0 * signals(0.01).doubt(0.1)


def test_doubt_shrinks_with_what_is_counted():
    assert signals(0.01, 100_000).doubt(0.1) < signals(0.01, 1_000).doubt(0.1)


def test_a_long_queue_makes_the_round_trip_known():
    """Of 1100 ms in all, 1000 ms are measured."""
    short = from_counters(signals(0.01), 0.0, 1000.0)
    long = from_counters(signals(0.01), 1.0, 1000.0)
    assert short.flows_doubt > 1.1
    assert long.flows_doubt < 0.6 * short.flows_doubt


def test_who_knows_the_round_trip_knows_the_flows(monkeypatch):
    monkeypatch.setattr(queue_senses, "USUAL_ROUND_TRIP", RoundTripPrior(0.1, 0.05))
    known = from_counters(signals(0.01), 0.024, 1000.0)
    assert known.flows_doubt < 0.5
    assert known.base_s == 0.1


def test_a_round_trip_lies_between_the_law_and_what_is_believed():
    """10 flows by the law at 1 % and 10 Mbit/s: 98 ms; told 40 of them: 392 ms."""
    seen = signals(0.01)
    guess = from_flow_count(40, 10e6, seen, 0.0, 1000.0)
    assert 0.2 < guess.base_s < 0.392
    assert guess.base_doubt < min(seen.doubt(0.392), USUAL_ROUND_TRIP.doubt)


# --- against networks that are known -------------------------------------------------------


def last_picture(count, round_trip, sender, discipline, knowledge):
    queues = {
        "red": {
            "limit": "100 packets",
            "min_threshold": "15 packets",
            "max_threshold": "45 packets",
            "max_probability": 0.1,
            "weight": 0.002,
        },
        "drop-tail": {"limit": "100 packets"},
    }
    scenario = scenario_from_document(
        {
            "title": "Flows over one queue",
            "duration": "40 s",
            "warm_up": "5 s",
            "links": {
                "bottleneck": {
                    "rate": "10 Mbit/s",
                    "delay": "5 ms",
                    "queue": {"discipline": discipline, **queues[discipline]},
                }
            },
            "flows": {
                "bulk": {
                    "count": count,
                    "path": ["bottleneck"],
                    "rtt": round_trip,
                    "sender": sender,
                    "packet_size": "1000 bytes",
                    "start": "0 s .. 1 s",
                }
            },
        },
        origin="test",
    )
    router = SimulatedRouter(scenario.core_json(), "bottleneck", 1, knowledge)
    senses, _ = Senses.begin().after(router.observe())
    for step in range(1, 401):
        router.wait(0.1 * step)
        senses, _ = senses.after(router.observe())
    return senses.picture()


NETWORKS = [
    (16, "28 ms", "newreno", "red"),
    (64, "28 ms", "newreno", "red"),
    (4, "100 ms", "newreno", "red"),
    (16, "100 ms", "newreno", "drop-tail"),
    (64, "100 ms", "newreno", "red"),
    (16, "180 ms", "newreno", "red"),
    (16, "100 ms", "cubic", "red"),
    (4, "100 ms", "cubic", "drop-tail"),
]


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_the_truth_lies_within_the_doubt(network):
    """Two standard deviations, and not so wide that nothing was said."""
    count, round_trip, sender, discipline = network
    base_s = float(round_trip.split()[0]) / 1e3
    blind = last_picture(count, round_trip, sender, discipline, "counters")
    assert abs(math.log(blind.flows / count)) < 2.0 * blind.flows_doubt
    assert abs(math.log(blind.flows / count)) < math.log(3.0)
    counted = last_picture(count, round_trip, sender, discipline, "flow count")
    assert abs(math.log(counted.base_rtts_s[0] / base_s)) < 2.0 * counted.rtts_doubt
    assert len(counted.base_rtts_s) == count
