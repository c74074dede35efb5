"""What difference anyone would notice: floors in each objective's own unit, and shares."""

from __future__ import annotations

import pytest

from vermilion import load_scenario
from vermilion.objectives import (
    FLOW_METRICS,
    METRICS,
    OBJECTIVES,
    CalledFunction,
    MetricPath,
    Objective,
)
from vermilion.objectives.noticeable import OF_METRICS, of_metric, shortest_round_trip
from vermilion.objectives.registry import objective_from_table, objective_from_text

OF_NOW = {
    "queue-deviation": ({"link": "bottleneck", "target": "30 packets"}, 100.0, 5.0, 1.0),
    "published-queue-variance": ({"link": "bottleneck", "target": 30}, 100.0, 5.0, 1.0),
    "knee": ({"link": "bottleneck"}, 100.0, 5.0, 1.0),
    "delay-bound": ({"link": "bottleneck", "at_most": "20 ms"}, 1e7, 5e4, 0.0),
    "latency-under-load": ({"flows": "early"}, 100.0, 5.0, 1.0),
    "goodput-variation": ({}, 1.0, 0.05, 0.01),
    "mean-sojourn": ({"link": "bottleneck"}, 100.0, 5.0, 1.0),
    "sojourn-percentile": ({"link": "bottleneck"}, 100.0, 5.0, 1.0),
    "utilization": ({"link": "bottleneck"}, 1.0, 0.005, 0.005),
    "drop-rate": ({"link": "bottleneck"}, 0.1, 0.005, 0.001),
    "mark-rate": ({"link": "bottleneck"}, 0.1, 0.005, 0.001),
    "goodput": ({}, 1e7, 5e4, 0.0),
    "jain-index": ({}, 1.0, 0.01, 0.01),
    "slowest-flow": ({}, 1.0, 0.05, 0.01),
    "completion-time": ({"flows": "early"}, 1.0, 0.05, 0.01),
    "power": ({"link": "bottleneck", "base_delay": "28 ms"}, 1e8, 5e6, 0.0),
    "metric": ({"path": "links.bottleneck.sojourn_ms.p50"}, 100.0, 5.0, 1.0),
    "weighted-sum": ({"parts": [{"weight": 1, "name": "jain-index"}]}, 2.0, 0.1, 0.0),
}
"""By name: a table, a large value of now and the least gain there, and that where it is 0."""


def objective(name, *, rtt="28 ms", **more):
    scenario = load_scenario("varying-load", [f'flows.early.rtt="{rtt}"'])
    return objective_from_table({"name": name, **OF_NOW[name][0], **more}, scenario)


def test_every_objective_declares_its_own():
    assert OBJECTIVES.keys() == OF_NOW.keys()
    for kind in OBJECTIVES.values():
        declaring = [each for each in kind.__mro__ if "noticeable" in vars(each)]
        assert declaring[0] is not Objective, kind.name


@pytest.mark.parametrize("name", OF_NOW)
def test_the_least_gain_is_a_part_of_now_and_at_least_the_floor(name):
    _, now, gain, floor = OF_NOW[name]
    chosen = objective(name)
    assert chosen.least_gain(now) == pytest.approx(gain)
    assert chosen.least_gain(-now) == pytest.approx(gain)  # of what is maximised, as it is searched
    assert chosen.least_gain(0.0) == pytest.approx(floor)


def test_another_share_may_be_asked_for_and_the_floor_stays():
    chosen = objective("mean-sojourn")
    assert chosen.least_gain(100.0, 0.2) == pytest.approx(20.0)
    assert chosen.least_gain(100.0, 0.0) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "name", ["knee", "mean-sojourn", "sojourn-percentile", "metric", "latency-under-load"]
)
def test_a_floor_on_delays_is_a_tenth_of_the_shortest_round_trip_where_that_is_less(name):
    # Of a data centre: 100 us round trips, of which a tenth are 10 us.
    assert objective(name).least_gain(0.0) == pytest.approx(1.0)
    one = load_scenario("varying-load", ['flows.early.rtt="8 ms .. 90 ms"', "links.*.delay=1 ms"])
    near = objective_from_table({"name": name, **OF_NOW[name][0]}, one)
    assert near.least_gain(0.0) == pytest.approx(0.8)
    assert near.least_gain(4.0) == pytest.approx(0.8)
    assert near.least_gain(100.0) == pytest.approx(5.0)


def test_a_floor_on_completion_times_is_a_round_trip_where_that_is_less():
    one = load_scenario("varying-load", ['flows.early.rtt="200 us"', "links.*.delay=10 us"])
    times = objective_from_table({"name": "completion-time", "flows": "early"}, one)
    assert times.least_gain(0.0) == pytest.approx(200e-6)


def test_the_shortest_round_trip_is_that_of_any_flow():
    scenario = load_scenario("varying-load", ['flows.late.rtt=["30 ms", "25 ms"]'])
    assert shortest_round_trip(scenario) == pytest.approx(0.025)


def test_what_is_noticed_of_latency_under_load_depends_on_what_it_is():
    assert objective("latency-under-load", what="loss").least_gain(0.0) == pytest.approx(0.001)
    assert objective("latency-under-load", what="jitter").least_gain(0.0) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("path", "now", "gain"),
    [
        ("links.bottleneck.queue_packets.mean", 3.0, 1.0),
        ("links.bottleneck.queue_bytes.p95", 3000.0, 1500.0),
        ("links.bottleneck.utilization", 0.9, 0.005),
        ("links.bottleneck.drops", 3.0, 1.0),
        ("flows.*.goodput_bit_per_s.total", 1e6, 5e3),
        ("flows.*.goodput_bit_per_s.min", 1e6, 5e4),
        ("flows.*.jain_index", 0.9, 0.01),
        ("flows.*.starved", 0.0, 1.0),
        ("flows.early.completion_time_s.p95", 0.1, 0.01),
    ],
)
def test_a_metric_has_what_is_noticed_of_it(path, now, gain):
    scenario = load_scenario("varying-load")
    assert objective_from_text(path, scenario)[0].least_gain(now) == pytest.approx(gain)


def test_objectives_that_are_a_metric_notice_the_same_of_it():
    for name, metric in {
        "mean-sojourn": "sojourn_ms.mean",
        "utilization": "utilization",
        "drop-rate": "drop_rate",
        "goodput": "goodput_bit_per_s.total",
        "jain-index": "jain_index",
        "goodput-variation": "goodput_cov",
        "slowest-flow": "slowest_share",
        "completion-time": "completion_time_s.mean",
    }.items():
        assert objective(name).noticed == of_metric(metric)


def test_the_table_names_only_metrics_that_there_are():
    coming = {"delay_ms", "jitter_ms", "packet_loss_rate"}
    known = {*METRICS, *FLOW_METRICS}
    known |= {metric.partition(".")[0] for metric in known}
    assert set(OF_METRICS) - coming <= known
    assert MetricPath.parse("links.x.sojourn_ms.p95").noticed.floor == 1.0


def test_a_function_has_no_floor():
    assert CalledFunction(lambda _: 1.0).least_gain(0.0) == 0.0
    assert CalledFunction(lambda _: 1.0).least_gain(10.0) == pytest.approx(0.5)


def summed(*parts):
    table = {"name": "weighted-sum", "parts": list(parts)}
    return objective_from_table(table, load_scenario("varying-load"))


WAIT = {"weight": 1, "name": "mean-sojourn", "link": "bottleneck"}
FAIR = {"weight": 3, "name": "jain-index"}


def test_where_parts_of_a_sum_cancel_the_share_is_of_their_weights():
    # By construction 1 - 3 now, or 0 with equal weights: 5 % of 1 + 3 in either case.
    cancelling = summed(WAIT, FAIR)
    for now in (0.0, -2.0, 1e-17):
        assert cancelling.least_gain(now) == pytest.approx(0.2)
    assert cancelling.least_gain(0.0, 0.02) == pytest.approx(0.08)
    assert cancelling.least_gain(10.0) == pytest.approx(0.5)  # of itself where that is more
    inner = {"weight": 2, "name": "weighted-sum", "parts": [WAIT, FAIR]}
    assert summed(inner).least_gain(0.0) == pytest.approx(0.1)


def test_a_sum_whose_parts_do_not_cancel_is_its_own_size():
    both = summed(WAIT, {"weight": 3, "name": "drop-rate", "link": "bottleneck"})
    assert both.least_gain(4.0) == pytest.approx(0.2)
    assert both.least_gain(1.0) == pytest.approx(0.05)
