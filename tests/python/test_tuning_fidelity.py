"""Whether short simulations may stand in for long ones: agreement, shortening, climbing."""

import json
import math

import numpy as np
import pytest
from scipy.stats import spearmanr

import vermilion
from vermilion.scenario import load_scenario, parse_scenario
from vermilion.tuning.fidelity import judged, rank_agreement
from vermilion.tuning.horizon import CannotShortenError, shortened

LOAD_WINDOWS = [(5.0, 20.0), (25.0, 80.0)]


def test_the_correlation_is_spearmans():
    random = np.random.default_rng(1)
    for _ in range(20):
        one = random.integers(0, 9, 15).astype(float)
        other = one + random.normal(0.0, 4.0, 15).round()
        expected = spearmanr(one, other).statistic
        assert rank_agreement(list(one), list(other)).correlation == pytest.approx(expected)


def test_only_ranks_count_and_the_refused_share_the_last():
    one = [1.0, 2.0, 3.0, math.inf, math.inf]
    other = [0.1, 50.0, 51.0, math.inf, math.inf]
    assert rank_agreement(one, other).correlation == pytest.approx(1.0)
    assert rank_agreement(one[::-1], other[::-1]).correlation == pytest.approx(1.0)


def test_the_interval_covers_the_true_correlation():
    """Of a bivariate normal, whose Spearman correlation is 6 / pi asin(rho / 2)."""
    random = np.random.default_rng(2)
    for rho in (0.5, 0.8, 0.95):
        true = 6.0 / math.pi * math.asin(rho / 2.0)
        covered = 0
        for _ in range(400):
            one = random.normal(size=20)
            other = rho * one + math.sqrt(1 - rho**2) * random.normal(size=20)
            found = rank_agreement(list(one), list(other))
            covered += found.low <= true <= found.high
        assert covered >= 0.91 * 400


def test_a_perfect_agreement_of_few_is_not_certain():
    few, many = (rank_agreement(list(range(n)), list(range(n))) for n in (5, 20))
    assert few.correlation == many.correlation == few.high == 1.0
    assert few.low < 0.7 < many.low < 1.0
    assert not judged(few, 0.25).used
    assert judged(many, 0.25).used


def test_where_nothing_can_be_ranked_there_is_no_agreement():
    assert rank_agreement([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) is None
    assert rank_agreement([1.0] * 9, list(range(9))) is None
    assert not judged(None, 0.25).used
    assert "could not be measured" in str(judged(None, 0.25))


def test_opposite_rankings_are_refused_and_the_number_is_said():
    report = judged(rank_agreement(list(range(20)), list(range(20, 0, -1))), 0.25)
    assert not report.used
    assert report.fraction == 1.0
    assert "rank correlation -1.00" in str(report)


def test_each_phase_shrinks_and_the_settling_times_stay():
    short = json.loads(shortened(load_scenario("varying-load").core_json(), LOAD_WINDOWS, 0.25))
    late = next(group for group in short["flows"] if group["name"] == "late")
    # 15 s and 55 s become 3.75 s and 13.75 s.
    assert late["start_ns"] == [8_750_000_000, 9_750_000_000]
    assert short["duration_ns"] == 27_500_000_000
    assert short["settle_ns"] == short["warm_up_ns"] == 5_000_000_000


@pytest.mark.parametrize(
    ("name", "windows", "expected"),
    [
        ("varying-load", LOAD_WINDOWS, [(5.0, 8.75), (13.75, 27.5)]),
        (
            "varying-round-trip-time",
            [(5.0, 20.0), (25.0, 40.0), (45.0, 120.0)],
            [(5.0, 8.75), (13.75, 17.5), (22.5, 41.25)],
        ),
    ],
)
def test_the_core_measures_the_same_phases_of_the_shortened_scenario(name, windows, expected):
    text = shortened(load_scenario(name).core_json(), windows, 0.25)
    [[result]] = vermilion.run_many([text], [1])
    phases = result.link("bottleneck").phases
    assert [(phase["start_s"], phase["end_s"]) for phase in phases] == expected


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ({"links.bottleneck.rate_schedule": [["0 s", "9 Mbit/s"]]}, "time table"),
        ({"flows.early.traffic": {"kind": "transfer", "size": "1 MB"}}, "end of their own"),
        ({"flows.late.rtt": "500 ms"}, "less than 10 round trips of 500 ms"),
    ],
)
def test_what_would_not_be_the_same_scenario_is_refused(overrides, reason):
    document = json.loads(json.dumps(load_scenario("varying-load").document))
    for path, value in overrides.items():
        room, name, key = path.split(".")
        document[room][name][key] = value
        if key == "rate_schedule":
            del document[room][name]["rate"]
    from vermilion.scenario import scenario_from_document

    text = scenario_from_document(document).core_json()
    with pytest.raises(CannotShortenError, match=reason):
        shortened(text, LOAD_WINDOWS, 0.25)


STEADY = """
duration = "45 s"
warm_up = "5 s"
[links.bottleneck]
rate = "2 Mbit/s"
delay = "10 ms"
queue = { discipline = "red", weight = 0.01 }
[flows.all]
count = 8
path = ["bottleneck"]
rtt = "28 ms"
sender = "newreno"
[tuning]
parameters = ["links.bottleneck.queue.weight", "links.bottleneck.queue.max_probability",
              "links.bottleneck.queue.min_threshold", "links.bottleneck.queue.max_threshold"]
objective = { name = "queue-deviation", link = "bottleneck", target = "20 packets" }
"""


def test_a_tuning_measures_the_agreement_and_searches_with_less_time():
    scenario = parse_scenario(STEADY, "steady")
    short = vermilion.tune(scenario, budget=60, harm=["none"])
    assert short.fidelity.used
    assert short.fidelity.fraction == 0.25
    assert short.fidelity.agreement.count == 20
    assert "searched with 25% of each phase" in str(short)
    assert json.loads(short.to_json())["fidelity"]["agreement"]["low"] >= 0.7
    full = vermilion.tune(scenario, budget=60, fidelity="full")
    assert full.fidelity is None
    # What is reported is of the whole scenario in any case.
    assert short.comparison.incumbent.mean == pytest.approx(full.comparison.incumbent.mean)


@pytest.mark.evidence
def test_an_objective_over_the_transients_is_not_shortened():
    scenario = load_scenario("varying-load").with_values({"tuning.objective.over": "total"})
    recommendation = vermilion.tune(scenario, budget=3)
    assert not recommendation.fidelity.used
    assert "the time between them" in recommendation.fidelity.reason
