"""Tuning for real: the recommendation for a scenario, with the simulator below it."""

import json
import time

import pytest

import vermilion
from vermilion import ScenarioError, parse_scenario
from vermilion.objectives import objective_from_table
from vermilion.search import Space
from vermilion.tuning import Seeds

QUEUE = "links.bottleneck.queue"

SMALL = """
title = "Sixteen flows for ten seconds"
duration = "13 s"
warm_up = "3 s"
[links.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
[links.bottleneck.queue]
discipline = "red"
limit = "100 packets"
min_threshold = "15 packets"
max_threshold = "45 packets"
max_probability = 0.1
weight = 0.002
[flows.all]
count = 16
path = ["bottleneck"]
rtt = "28 ms"
sender = "newreno"
packet_size = "1000 bytes"
start = "0 s .. 1 s"
[tuning]
parameters = [
    "links.bottleneck.queue.min_threshold", "links.bottleneck.queue.max_threshold",
    "links.bottleneck.queue.max_probability", "links.bottleneck.queue.weight",
]
objective = { name = "queue-deviation", link = "bottleneck", target = "30 packets" }
"""


@pytest.fixture(scope="module")
def scenario():
    return parse_scenario(SMALL, "small")


@pytest.fixture(scope="module")
def recommendation(scenario):
    return vermilion.tune(scenario, budget=120)


def test_tuned_red_holds_the_queue_far_better_than_standard_red(recommendation):
    comparison = recommendation.comparison
    assert recommendation.accepted
    assert comparison.best.mean < comparison.incumbent.mean / 4
    mean, _ = recommendation.metrics["queue_packets.mean"]
    assert mean.mean == pytest.approx(30.0, rel=0.1)
    used, _ = recommendation.metrics["utilization"]
    assert used.mean > 0.99


def test_the_figures_are_those_of_the_setting_run_by_hand(scenario, recommendation):
    tuned = scenario.with_values(recommendation.parameters)
    objective = objective_from_table(
        {"name": "queue-deviation", "link": "bottleneck", "target": 30}, scenario
    )
    for who, expected in (
        (tuned, recommendation.comparison.best),
        (scenario, recommendation.comparison.incumbent),
    ):
        values = [
            objective.evaluate(vermilion.run(who, seed=seed))
            for seed in recommendation.seeds.comparison
        ]
        assert sum(values) / len(values) == pytest.approx(expected.mean)


def test_the_default_constraint_is_the_utilisation_relative_to_the_incumbent(recommendation):
    [verdict] = [each for each in recommendation.comparison.best_verdicts if not each.of_harm]
    assert verdict.constraint == "links.bottleneck.utilization >= 0.95 of reference"
    assert verdict.holds == "met"


def test_the_same_tuning_gives_the_same_recommendation_on_any_number_of_threads(scenario):
    tuned = [vermilion.tune(scenario, budget=15, threads=threads) for threads in (None, 1)]
    first, second = (json.loads(each.to_json()) for each in tuned)
    for record in (first, second):
        # The clock, and points that were simulated ahead of their time and taken back.
        del record["seconds"], record["simulations"], record["search"]["state"]
    assert first == second


@pytest.mark.evidence
def test_the_published_objective_is_won_without_steadying_the_queue(scenario, recommendation):
    """Equation (1) to the letter, without constraints: see docs/tuning.md."""
    table = {"name": "published-queue-variance", "link": "bottleneck", "target": 30}
    objective = objective_from_table(table, scenario)
    gamed = vermilion.tune(scenario, objective=objective, constraints=[], harm=["none"], budget=400)
    assert gamed.accepted
    assert gamed.comparison.best.mean < 5.0
    swings, _ = gamed.metrics["queue_packets.sd"]
    honest_swings, _ = recommendation.metrics["queue_packets.sd"]
    assert swings.mean > 1.5 * honest_swings.mean
    assert gamed.parameters[f"{QUEUE}.weight"] < 0.001
    assert recommendation.parameters[f"{QUEUE}.weight"] > 0.01


@pytest.mark.evidence
def test_the_constraints_refuse_the_published_objective_s_tricks(scenario):
    """With them, what equation (1) praises is a queue that is steadier than now."""
    table = {"name": "published-queue-variance", "link": "bottleneck", "target": 30}
    objective = objective_from_table(table, scenario)
    tuned = vermilion.tune(scenario, objective=objective, budget=400)
    used, swings = (each for each in tuned.comparison.best_verdicts if not each.of_harm)
    assert used.constraint == "links.bottleneck.utilization >= 0.95 of reference"
    assert swings.constraint == "links.bottleneck.queue_packets.sd <= 1 of reference"
    assert tuned.accepted
    assert swings.holds == "met"
    # The setting that wins without constraints is in the search's reach, and is not it.
    assert tuned.parameters[f"{QUEUE}.weight"] > 0.001
    swing, now = tuned.metrics["queue_packets.sd"]
    assert swing.mean < now.mean


def test_a_deadline_is_kept(scenario):
    vermilion.tune(scenario, budget=2)  # imports are not the deadline's business
    start = time.monotonic()
    recommendation = vermilion.tune(scenario, budget=100_000, deadline_s=1.0)
    assert time.monotonic() - start < 2.0
    assert recommendation.end == "deadline"
    assert recommendation.evaluations > 10


def test_the_json_is_strict_and_has_the_pieces(recommendation):
    record = json.loads(
        recommendation.to_json(),
        parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"),
    )
    assert record["accepted"] is True
    assert record["scenario"] == "small"
    assert record["parameters"] == recommendation.parameters
    assert record["incumbent"][f"{QUEUE}.weight"] == 0.002
    difference = record["objective"]["difference"]
    assert difference["low"] < difference["mean"] < difference["high"] < 0
    assert difference["count"] == 10
    assert record["constraints"]["best"][0]["holds"] == "met"
    assert record["seeds"] == {
        "search": [1, 2, 3],
        "re_evaluation": [*range(4, 19)],
        "comparison": [*range(19, 29)],
    }
    assert record["search"]["state"]["search"] == "cma-es"


def test_the_text_says_what_to_do_why_and_how_to_repeat_it(recommendation):
    text = str(recommendation)
    assert text.startswith("small: use the best setting found\nsignificantly better")
    assert f"{QUEUE}.min_threshold" in text
    assert "15 packets" in text
    words = " ".join(text.split())
    assert "seeds 1 .. 3 for the search" in words
    assert "19 .. 28 for the comparison" in words


def test_an_unaccepted_recommendation_chooses_the_incumbent(scenario, recommendation):
    assert recommendation.chosen == recommendation.parameters
    tuned = scenario.with_values(recommendation.parameters)
    again = vermilion.tune(tuned, budget=3, required_improvement=0.9)
    assert not again.accepted
    assert again.chosen == again.incumbent == pytest.approx(recommendation.parameters)


def test_a_constraint_that_cannot_be_met_is_the_reason(scenario):
    refused = vermilion.tune(
        scenario, constraints=["links.bottleneck.queue_packets.mean <= 0.5 packets"], budget=20
    )
    assert not refused.accepted
    assert refused.reason.startswith(
        "refused, because it would break links.bottleneck.queue_packets.mean <= 0.5 packets ("
    )


def test_ctrl_c_during_a_real_search_returns_what_there_is(scenario):
    def interrupt(report):
        if report.stage == "search" and report.best < float("inf"):
            raise KeyboardInterrupt

    recommendation = vermilion.tune(scenario, budget=100_000, progress=interrupt)
    assert recommendation.end == "interrupted"
    assert not recommendation.accepted
    assert recommendation.parameters
    assert "ended by Ctrl-C" in str(recommendation)
    assert "objective" in json.loads(recommendation.to_json())


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"search": "simplex"}, "search"),
        ({"budget": 0}, "budget"),
        ({"constraints": ["utilization > 1"]}, "tuning.constraints.0"),
        ({"parameters": [f"{QUEUE}.wieght"]}, "path"),
        ({"boxes": {f"{QUEUE}.weight": (1.0, 0.5)}}, "tuning.parameters"),
        ({"seeds": Seeds((1,), (), (2, -3))}, "seed"),
    ],
)
def test_a_tuning_that_is_not_accepted_names_the_field(scenario, options, field):
    with pytest.raises(ScenarioError) as refused:
        vermilion.tune(scenario, **{"budget": 2, **options})
    assert refused.value.field == field


def test_an_objective_that_the_discipline_cannot_have_is_refused():
    text = """
    duration = "2 s"
    [links.bottleneck]
    rate = "10 Mbit/s"
    delay = "10 ms"
    queue = { discipline = "drop-tail" }
    [flows.all]
    path = ["bottleneck"]
    rtt = "28 ms"
    sender = "newreno"
    [tuning]
    parameters = ["links.bottleneck.queue.limit"]
    objective = { name = "published-queue-variance", link = "bottleneck", target = "30 packets" }
    space = { "links.bottleneck.queue.limit" = ["10 packets", "100 packets"] }
    """
    with pytest.raises(ScenarioError, match="needs average_queue_packets") as refused:
        vermilion.tune(parse_scenario(text), budget=2)
    assert refused.value.field == "tuning.objective.name"


def test_a_scenario_without_tuning_is_tuned_for_the_least_delay_at_nearly_all_goodput():
    scenario = parse_scenario(SMALL.partition("[tuning]")[0])
    found = vermilion.tune(scenario, budget=10, rivals=False, robustness=False)
    assert found.objective == "p95 delay (goodput at least 98 % of now)"
    assert set(found.incumbent) == set(Space.from_scenario(scenario).names)
    [asked] = [each for each in found.comparison.best_verdicts if not each.of_harm]
    assert asked.constraint == "flows.*.goodput_bit_per_s.total >= 0.98 of reference"
