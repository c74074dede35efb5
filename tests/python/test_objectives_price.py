"""The price that stands beside an objective: what it has, and how phases make one number."""

import pytest

from vermilion import load_scenario, run
from vermilion.objectives.metrics import FLOW_METRICS, METRICS
from vermilion.objectives.price import PRICE, price_intervals, price_of
from vermilion.simulate import Result


def test_every_row_is_a_metric_with_a_heading_of_its_own():
    for row in PRICE:
        assert row.metric in (FLOW_METRICS if row.of_flows else METRICS)
    assert len({row.heading for row in PRICE}) == len(PRICE)
    assert next(row.heading for row in PRICE if row.metric == "sojourn_ms.p95").endswith("(ms)")


def test_phases_count_by_their_durations():
    def window(start, end, drop_rate, jain):
        times = {"start_s": start, "end_s": end}
        return {**times, "drop_rate": drop_rate}, {**times, "flows": 2, "jain_index": jain}

    short, long = window(0.0, 10.0, 0.04, 0.8), window(10.0, 40.0, 0.08, 1.0)
    result = Result(
        {
            "links": {"a": {"total": {}, "phases": [short[0], long[0]], "ledger": {}}},
            "flows": {"g": {"total": {}, "phases": [short[1], long[1]]}},
        }
    )
    # (10 * 0.04 + 30 * 0.08) / 40 = 0.07 and (10 * 0.8 + 30 * 1) / 40 = 0.95
    assert price_of(result, "a") == pytest.approx({"drop_rate": 0.07, "jain_index": 0.95})


def test_what_one_run_has_not_measured_is_left_out():
    one = run(load_scenario("varying-load", ["duration=22 s"]), seed=1)
    assert {"goodput_bit_per_s.total", "starved", "sojourn_ms.p99"} <= set(
        price_of(one, "bottleneck")
    )
    other = Result({**one.data, "flows": {}})
    both = price_intervals([one, other], "bottleneck")
    assert "starved" not in both
    assert both["drop_rate"].count == 2
    assert price_intervals([], "bottleneck") == {}
