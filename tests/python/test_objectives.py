"""Objectives: from what a run has measured to the number that is minimised."""

import json
import math

import pytest

from vermilion import load_scenario, run
from vermilion.objectives import (
    OBJECTIVES,
    NotMeasuredError,
    constraints_of,
    feasible_first,
    objective_from_table,
    objective_from_text,
    objective_of,
)
from vermilion.scenario import ScenarioError
from vermilion.simulate import Result


def window(start, end, mean, sd, average=None, **more):
    measured = {"start_s": start, "end_s": end, "queue_packets": {"mean": mean, "sd": sd}, **more}
    if average is not None:
        measured["average_queue_packets"] = {"mean": average[0], "sd": average[1]}
    return measured


def result(total, *phases):
    entry = {"total": total, "phases": list(phases), "ledger": {}}
    return Result({"seed": 1, "links": {"bottleneck": entry}, "flows": {}})


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("varying-load")


def objective(name="queue-deviation", **table):
    known = load_scenario("varying-load")
    table = {"name": name, "link": "bottleneck", "target": 30, **table}
    return objective_from_table(table, known)


def test_the_deviation_of_a_standing_queue_is_its_distance_squared():
    assert objective().evaluate(result(window(0, 1, mean=27.0, sd=0.0))) == 9.0


def test_the_deviation_of_a_swinging_queue_at_the_target_is_its_variance():
    assert objective().evaluate(result(window(0, 1, mean=30.0, sd=4.0))) == 16.0


def test_level_and_swings_add_up():
    assert objective().evaluate(result(window(0, 1, mean=25.0, sd=3.0))) == 34.0


def test_phases_count_by_their_durations_and_the_transients_between_them_do_not():
    total = window(5, 45, mean=90.0, sd=9.0)
    phases = window(5, 15, mean=30.0, sd=1.0), window(15, 45, mean=30.0, sd=3.0)
    assert objective().evaluate(result(total, *phases)) == pytest.approx((1 * 10 + 9 * 30) / 40)


def test_the_whole_run_counts_where_it_is_asked_for_or_where_there_are_no_phases():
    total, phase = window(5, 45, mean=30.0, sd=2.0), window(5, 15, mean=30.0, sd=1.0)
    assert objective(over="total").evaluate(result(total, phase)) == 4.0
    assert objective().evaluate(result(total)) == 4.0


def test_the_published_variance_is_that_of_the_discipline_s_own_average():
    published = objective("published-queue-variance")
    full_but_unnoticed = window(0, 1, mean=95.0, sd=20.0, average=(29.0, 0.5))
    assert published.evaluate(result(full_but_unnoticed)) == 1.25
    assert objective().evaluate(result(full_but_unnoticed)) == 65.0**2 + 400.0


def test_without_an_average_the_published_variance_cannot_be_computed():
    with pytest.raises(NotMeasuredError, match="published-queue-variance needs average_queue"):
        objective("published-queue-variance").evaluate(result(window(0, 1, 30.0, 1.0)))


def test_the_deviation_agrees_with_the_time_series(scenario):
    """The exact moments of a real run against the mean over samples of its series."""
    measured = run(scenario, seed=3, probe_interval_s=0.01)
    series = measured.series("bottleneck")
    total = measured.link("bottleneck").total
    inside = (series["time_s"] >= total["start_s"]) & (series["time_s"] <= total["end_s"])
    for name, key in (
        ("queue-deviation", "queue_packets"),
        ("published-queue-variance", "average_queue_packets"),
    ):
        sampled = ((series[key][inside] - 30.0) ** 2).mean()
        assert objective(name, over="total").evaluate(measured) == pytest.approx(sampled, rel=0.03)


def test_a_scenario_names_its_objective_and_its_constraints(scenario):
    named = objective_of(scenario)
    assert (named.name, named.link, named.target) == ("queue-deviation", "bottleneck", 30.0)
    [constraint] = constraints_of(scenario, named)
    assert constraint.text == "links.bottleneck.utilization >= 0.95"


def test_without_constraints_the_utilisation_may_fall_by_a_twentieth():
    document = load_scenario("varying-load").document
    tuning = {key: value for key, value in document["tuning"].items() if key != "constraints"}
    from vermilion.scenario import scenario_from_document

    bare = scenario_from_document({**document, "tuning": tuning})
    for named in (objective(), objective_from_text("flows.*.jain_index", bare)[0]):
        [constraint] = constraints_of(bare, named)
        assert constraint.text == "links.bottleneck.utilization >= 0.95 of reference"
        assert constraint.of_reference
    assert constraints_of(bare, objective(), []) == ()


def test_an_objective_that_can_be_gamed_brings_its_guard_unless_none_is_wanted(scenario):
    published = objective("published-queue-variance")
    guard = "links.bottleneck.queue_packets.sd <= 1 of reference"
    assert [held.text for held in constraints_of(scenario, published)][1:] == [guard]
    assert [held.text for held in constraints_of(scenario, published, [guard])] == [guard]
    assert constraints_of(scenario, published, []) == ()


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("name", "queue-deviaton", '"queue-deviation"'),
        ("link", "botleneck", '"bottleneck"'),
        ("target", "thirty", '"thirty" is not accepted; expected a number of packets'),
        ("target", "30 ms", '"30 ms" is not accepted'),
        ("target", -1, "-1"),
        ("target", None, "expected a number of packets"),
        ("over", "weeks", '"phases", "total"'),
    ],
)
def test_a_wrong_objective_is_refused_with_its_field(scenario, field, value, expected):
    table = {"name": "queue-deviation", "link": "bottleneck", "target": 30, field: value}
    with pytest.raises(ScenarioError) as refused:
        objective_from_table(table, scenario)
    assert refused.value.field == f"tuning.objective.{field}"
    assert expected in str(refused.value)


def test_a_scenario_without_an_objective_is_told_so():
    document = {**load_scenario("varying-load").document}
    del document["tuning"]
    from vermilion.scenario import scenario_from_document

    with pytest.raises(ScenarioError, match=r"tuning.objective is missing; expected a table"):
        objective_of(scenario_from_document(document))


def test_every_objective_has_a_name_and_a_line():
    for name, kind in OBJECTIVES.items():
        assert kind.name == name
        assert 0 < len(kind.summary) < 80
    assert json.dumps(list(OBJECTIVES)).startswith('["queue-deviation"')


def test_every_feasible_setting_comes_before_every_infeasible_one():
    worst_feasible = feasible_first(1e12, 0.0, scale=100.0)
    best_infeasible = feasible_first(0.0, 1e-9, scale=100.0)
    assert worst_feasible < best_infeasible < feasible_first(0.0, 0.5, scale=100.0)
    assert feasible_first(0.0, math.inf, scale=100.0) == math.inf


def test_feasible_settings_are_ordered_by_the_objective():
    values = [feasible_first(x, 0.0, scale=100.0) for x in (-500.0, -1.0, 0.0, 1.0, 1.1, 1e4, 1e8)]
    assert values == sorted(values)
    assert len(set(values)) == len(values)
    assert all(0.0 < value < 1.0 for value in values)


def test_well_below_the_scale_the_order_is_nearly_proportional():
    base = feasible_first(0.0, 0.0, scale=1000.0)
    one, two = (feasible_first(x, 0.0, scale=1000.0) - base for x in (1.0, 2.0))
    assert two / one == pytest.approx(2.0, rel=0.002)
