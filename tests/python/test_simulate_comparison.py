"""Comparing variants: common seeds, intervals, and differences seed by seed."""

import json

import pytest

from vermilion.scenario import load_scenario
from vermilion.scenario.carry_over import with_discipline
from vermilion.simulate import metric_of
from vermilion.simulate.comparison import METRICS, compare

SHORT = ("duration=8 s", "warm_up=2 s", "settle=2 s", "flows.late.start=4 s .. 4.5 s")


@pytest.fixture(scope="module")
def outcome():
    red = load_scenario("varying-load", SHORT)
    return compare(
        {"red": red, "again": red, "drop-tail": with_discipline(red, "drop-tail")[0]}, range(1, 7)
    )


def test_phases_come_before_the_whole_run(outcome):
    starts = [(window["start_s"], window["end_s"]) for window in outcome.windows("bottleneck")]
    assert starts == [(2.0, 4.0), (6.0, 8.0), (2.0, 8.0)]


def test_a_mean_is_that_of_its_runs(outcome):
    interval = outcome.interval(0, "bottleneck", 2, "queue_packets.mean")
    values = [
        result.link("bottleneck").total["queue_packets"]["mean"] for result in outcome.results[0]
    ]
    assert interval.count == 6
    assert interval.mean == pytest.approx(sum(values) / 6)
    assert interval.low < interval.mean < interval.high


def test_the_same_scenario_under_two_names_does_not_differ(outcome):
    difference = outcome.difference(1, "bottleneck", 2, "queue_packets.mean")
    assert (difference.mean, difference.half_width) == (0.0, 0.0)
    assert not difference.excludes(0.0)


def test_drop_tail_has_the_longer_queue(outcome):
    difference = outcome.difference(2, "bottleneck", 2, "queue_packets.mean")
    assert difference.mean > 10
    assert difference.excludes(0.0)


def test_what_cannot_be_computed_is_absent(outcome):
    assert outcome.interval(2, "bottleneck", 2, "average_queue_packets.mean") is None
    single = compare({"one": load_scenario("varying-load", SHORT)}, [1])
    assert single.interval(0, "bottleneck", 2, "utilization").half_width is None
    metric = single.to_dict()["variants"][0]["links"]["bottleneck"]["total"]["utilization"]
    assert set(metric) == {"mean", "replications"}


def test_a_flow_that_is_alone_is_not_set_against_itself():
    scenario = load_scenario("rfc7928-unresponsive-beside-tcp", ["duration=20 s"])
    several = scenario.with_values({"flows.udp.count": 2})
    tables = {table.title: table for table in compare({"2": several}, [1, 2]).tables()}
    shown = {
        group: [label for label, _ in tables[f"flows {group}"].sections[0].rows]
        for group in ("friendly", "udp")
    }
    assert shown["friendly"] == ["goodput (Mbit/s)"]
    assert shown["udp"] == ["goodput (Mbit/s)", "  of the slowest", "Jain's fairness index"]


def test_different_phases_are_not_compared():
    early = load_scenario("varying-load", SHORT)
    late = early.with_values({"flows.late.start": (5.0, 5.5)})
    outcome = compare({"early": early, "late": late}, [1, 2])
    assert not outcome.phases_agree
    [window] = outcome.windows("bottleneck")
    assert (window["start_s"], window["end_s"]) == (2.0, 8.0)
    assert outcome.difference(1, "bottleneck", 0, "utilization") is not None
    assert outcome.to_dict()["variants"][1]["links"]["bottleneck"]["phases"] == []


def test_further_measures_are_compared_like_any_metric():
    scenario = load_scenario("varying-load", SHORT)
    measures = {"square": lambda window: window["queue_packets"]["mean"] ** 2}
    outcome = compare({"one": scenario}, [1, 2], measures=measures)
    total = outcome.to_dict()["variants"][0]["links"]["bottleneck"]["total"]
    assert total["square"]["mean"] >= total["queue_packets"]["mean"]["mean"] ** 2


def test_it_is_strict_json(outcome):
    document = json.loads(json.dumps(outcome.to_dict(), allow_nan=False))
    assert document["seeds"] == [1, 2, 3, 4, 5, 6]
    first, _, last = document["variants"]
    total = last["links"]["bottleneck"]["total"]
    for metric in METRICS:
        assert metric_of(total, f"{metric}.mean") is not None
    assert set(total["drop_rate"]) == {"mean", "low", "high", "replications", "difference"}
    assert "difference" not in first["links"]["bottleneck"]["total"]["drop_rate"]
