"""Answers that were given once and that no operator should be given again, on real simulations."""

import statistics

import pytest

import vermilion
from vermilion import load_scenario, run_many
from vermilion.objectives import flow_windows, objective_of
from vermilion.scenario import scenario_from_document

pytestmark = pytest.mark.evidence

LINK = "links.bottleneck"
TUNED = [
    f"{LINK}.queue.{name}"
    for name in ("min_threshold", "max_threshold", "max_probability", "weight")
]
FRESH = range(70_001, 70_009)


def steady(rate, flows, rtt, sender, thresholds, tuning, seconds=25):
    """One link under RED, whose buffer is about twice the higher threshold."""
    low, high = thresholds
    return scenario_from_document(
        {
            "title": "steady",
            "duration": f"{seconds} s",
            "warm_up": "5 s",
            "links": {
                "bottleneck": {
                    "rate": rate,
                    "delay": "1 ms",
                    "queue": {
                        "discipline": "red",
                        "limit": f"{2 * high + 10} packets",
                        "min_threshold": f"{low} packets",
                        "max_threshold": f"{high} packets",
                        "max_probability": 0.1,
                        "weight": 0.002,
                    },
                }
            },
            "flows": {
                "all": {
                    "count": flows,
                    "path": ["bottleneck"],
                    "rtt": rtt,
                    "sender": sender,
                    "packet_size": "1000 bytes",
                    "start": "0 s .. 1 s",
                }
            },
            "tuning": {"parameters": TUNED, **tuning},
        },
        "steady",
    )


def test_the_steadiest_queue_is_no_wall_that_starves_flows():
    """Drop-tail with a limit of 30 holds 64 NewReno flows at 30 packets and starves 16 of them."""
    wanted = {"name": "queue-deviation", "link": "bottleneck", "target": "30 packets"}
    scenario = steady("10 Mbit/s", 64, "28 ms", "newreno", (15, 45), {"objective": wanted})
    found = vermilion.tune(scenario, budget=150, robustness=False)
    assert found.accepted
    results = run_many([scenario, scenario.with_values(dict(found.chosen))], FRESH)
    deviation = [
        statistics.fmean(objective_of(scenario).measure(result) for result in row)
        for row in results
    ]
    assert deviation[1] < deviation[0] / 10.0
    windows = [[flow_windows(result)[0] for result in row] for row in results]
    starved, jain = (
        [statistics.fmean(window[name] for window in row) for row in windows]
        for name in ("starved", "jain_index")
    )
    assert starved[1] <= starved[0] + 1.0
    assert jain[1] >= jain[0] - 0.05
    [drop_tail] = [each for each in found.rivals if each.label.startswith("drop-tail")]
    assert drop_tail.metrics["starved"].mean > 10.0
    assert any("starved" in text for text in drop_tail.missed)


def test_a_push_that_nobody_would_notice_is_not_recommended():
    """Utilisation from 1 to 1 (+4e-5), for nearly twice the queue."""
    scenario = load_scenario("varying-load", ["duration=40 s"])
    found = vermilion.tune(
        scenario, objective=f"maximise {LINK}.utilization", budget=40, rivals=False
    )
    assert not found.accepted
    assert found.verdict == "no difference"
    assert found.chosen == found.incumbent


@pytest.mark.parametrize("seed", [1, 201])
def test_the_least_delay_at_a_bound_on_use_is_found_and_proven(seed):
    """80 SACK flows at 100 Mbit/s, use at least 97 %: three tunings of four ended in no change."""
    tuning = {
        "objective": {"name": "sojourn-percentile", "link": "bottleneck", "percentile": 95},
        "constraints": [f"{LINK}.utilization >= 0.97"],
    }
    scenario = steady("100 Mbit/s", 80, "20 ms .. 140 ms", "sack", (50, 150), tuning, seconds=12)
    found = vermilion.tune(scenario, budget=100, seed=seed, rivals=False, robustness=False)
    assert found.accepted, found.reason
    [asked] = [each for each in found.comparison.best_verdicts if not each.of_harm]
    assert asked.holds == "met"
